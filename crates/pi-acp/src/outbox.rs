//! Reports on their way to the client. Nothing waits for a client that reads slowly: progress is
//! merged for it.

use pi_coding_agent::{Merge, MergeQueue};
use pi_jsonrpc::Connection;
use serde_json::json;
use tokio::sync::oneshot;

use crate::update::{ToolCall, Update};
use crate::wire::Version;

/// Something that waits for the client.
pub(crate) enum Outgoing {
    Report {
        session: String,
        update: Box<Update>,
    },
    /// Dropped when everything before it was passed on.
    Mark(#[expect(dead_code)] oneshot::Sender<()>),
}

/// Passes reports on until the connection ends.
pub(crate) async fn drain(outbox: MergeQueue<Outgoing>, connection: Connection, version: Version) {
    loop {
        let next = tokio::select! {
            biased;
            next = outbox.next() => next,
            _ = connection.ended() => return,
        };
        let Outgoing::Report { session, update } = next else { continue };
        for update in version.updates(*update) {
            let params = json!({ "sessionId": session, "update": update });
            if connection.notify("session/update", Some(params)).await.is_err() {
                return;
            }
        }
    }
}

impl Merge for Outgoing {
    fn is_progress(&self) -> bool {
        let Self::Report { update, .. } = self else { return false };
        match &**update {
            Update::Text { .. } | Update::Thought { .. } => true,
            // Nothing but its content changes.
            Update::ToolCallChange(ToolCall {
                id: _,
                content: _,
                name: None,
                title: None,
                kind: None,
                status: None,
                locations: None,
                raw_input: None,
                raw_output: None,
            }) => true,
            _ => false,
        }
    }

    fn merge(&mut self, later: Self) -> Option<Self> {
        match (self, later) {
            (Self::Report { session, update }, Self::Report { session: of, update: later })
                if *session == of =>
            {
                let rest = append(update, *later)?;
                Some(Self::Report { session: of, update: Box::new(rest) })
            }
            (_, later) => Some(later),
        }
    }
}

/// Appends progress to progress about the same thing, or returns it.
fn append(earlier: &mut Update, later: Update) -> Option<Update> {
    match (earlier, later) {
        (Update::Text { id, text }, Update::Text { id: other, text: more })
        | (Update::Thought { id, text }, Update::Thought { id: other, text: more })
            if *id == other =>
        {
            text.push_str(&more);
            None
        }
        (Update::ToolCallChange(call), Update::ToolCallChange(newer)) if call.id == newer.id => {
            *call = newer;
            None
        }
        (_, later) => Some(later),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::ToolContent;

    fn report(session: &str, update: Update) -> Outgoing {
        Outgoing::Report { session: session.to_owned(), update: Box::new(update) }
    }

    fn text(session: &str, id: &str, text: &str) -> Outgoing {
        report(session, Update::Text { id: id.to_owned(), text: text.to_owned() })
    }

    fn progress(id: &str, terminal: &str) -> Outgoing {
        let content = Some(vec![ToolContent::Terminal(terminal.to_owned())]);
        let call = ToolCall { id: id.to_owned(), content, ..ToolCall::default() };
        report("s", Update::ToolCallChange(call))
    }

    #[test]
    fn only_progress_about_the_same_thing_is_merged() {
        let mut first = text("s", "a", "x");
        assert!(first.merge(text("s", "a", "y")).is_none());
        assert!(first.merge(text("s", "b", "y")).is_some());
        assert!(first.merge(text("other", "a", "y")).is_some());
        assert!(first.merge(progress("a", "t")).is_some());
        let Outgoing::Report { update, .. } = first else { panic!("a mark") };
        assert_eq!(*update, Update::Text { id: "a".to_owned(), text: "xy".to_owned() });
        let mut call = progress("c", "1");
        assert!(call.merge(progress("c", "2")).is_none() && call.is_progress());
        assert!(call.merge(progress("d", "2")).is_some());
        let Outgoing::Report { update, .. } = call else { panic!("a mark") };
        let Update::ToolCallChange(call) = *update else { panic!("{update:?}") };
        assert_eq!(call.content, Some(vec![ToolContent::Terminal("2".to_owned())]));
        let ended = ToolCall { raw_output: Some(json!({})), ..call };
        assert!(!report("s", Update::ToolCallChange(ended)).is_progress());
    }
}
