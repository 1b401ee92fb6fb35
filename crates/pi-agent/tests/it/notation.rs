//! A notation for the events of a run on one line, as in the specification.
//!
//! `AS` agent start, `AE(n)` agent end with n messages; `TS` and `TE(r)` a turn with r results;
//! `MS(x)` and `ME(x)` a message, `M(x)` both at once, where x is the text of a user message, `a`
//! for the assistant (with the stop reason if it failed), `s{+added -removed}` for a system message,
//! `t:id` for a result, `c` for a custom message; `XS(id)`, `XU(id)`, `XE(id,ok|err)` a tool
//! execution; `MU*n` updates.

use std::sync::{Arc, Mutex};

use pi_agent::{Agent, AgentEvent, AgentMessage};
use pi_protocol::{Message, MessageContent, StopReason, UserBlock};

/// The events of an agent so far.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn of(agent: &Agent) -> Self {
        let log = Self::default();
        let entries = log.clone();
        agent.subscribe(move |event, _| entries.record(event)).forever();
        log
    }

    /// Records an event, and checks that its name is its serialized type.
    pub(crate) fn record(&self, event: &AgentEvent) {
        assert_eq!(serde_json::to_value(event).unwrap()["type"], event.name());
        self.0.lock().unwrap().push(show(event));
    }

    /// Records an entry that is not an event.
    pub(crate) fn note(&self, entry: &str) {
        self.0.lock().unwrap().push(entry.to_owned());
    }

    /// Returns the run without message updates.
    pub(crate) fn line(&self) -> String {
        let entries = self.0.lock().unwrap();
        short(entries.iter().filter(|entry| *entry != "MU").cloned())
    }

    /// Returns the run with the number of message updates.
    pub(crate) fn line_with_updates(&self) -> String {
        short(self.0.lock().unwrap().iter().cloned())
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) fn show(event: &AgentEvent) -> String {
    match event {
        AgentEvent::AgentStart => "AS".to_owned(),
        AgentEvent::AgentEnd { messages, .. } => format!("AE({})", messages.len()),
        AgentEvent::TurnStart => "TS".to_owned(),
        AgentEvent::TurnEnd { tool_results, .. } => format!("TE({})", tool_results.len()),
        AgentEvent::MessageStart { message } => format!("MS({})", name(message, false)),
        AgentEvent::MessageUpdate { .. } => "MU".to_owned(),
        AgentEvent::MessageEnd { message } => format!("ME({})", name(message, true)),
        AgentEvent::ToolExecutionStart { tool_call_id, .. } => format!("XS({tool_call_id})"),
        AgentEvent::ToolExecutionUpdate { tool_call_id, .. } => format!("XU({tool_call_id})"),
        AgentEvent::ToolExecutionEnd { tool_call_id, is_error, .. } => {
            format!("XE({tool_call_id},{})", if *is_error { "err" } else { "ok" })
        }
        other => panic!("no notation for {}", other.name()),
    }
}

fn name(message: &AgentMessage, ended: bool) -> String {
    match message {
        AgentMessage::Llm(Message::User(user)) => match &user.content {
            MessageContent::Text(text) => text.clone(),
            MessageContent::Blocks(blocks) => match blocks.first() {
                Some(UserBlock::Text(text)) => text.text.clone(),
                _ => "u".to_owned(),
            },
        },
        AgentMessage::Llm(Message::Assistant(message)) => match &message.stop_reason {
            StopReason::Error if ended => "a:error".to_owned(),
            StopReason::Aborted if ended => "a:aborted".to_owned(),
            _ => "a".to_owned(),
        },
        AgentMessage::Llm(Message::System(system)) => {
            let added = system.tools_added.iter().map(|tool| format!("+{}", tool.name));
            let removed = system.tools_removed.iter().map(|tool| format!("-{}", tool.name));
            let changes: Vec<String> = added.chain(removed).collect();
            format!("s{{{}}}", changes.join(" "))
        }
        AgentMessage::Llm(Message::ToolResult(result)) => format!("t:{}", result.tool_call_id),
        AgentMessage::Custom(_) => "c".to_owned(),
    }
}

/// Joins `MS(x) ME(x)` of complete messages and consecutive updates.
fn short(entries: impl Iterator<Item = String>) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut updates = 0;
    for entry in entries {
        if entry == "MU" {
            updates += 1;
            continue;
        }
        if updates > 0 {
            out.push(format!("MU*{updates}"));
            updates = 0;
        }
        let name = entry.strip_prefix("ME(");
        let pair = name.map(|name| format!("MS({name}"));
        if let Some(name) = name
            && !name.starts_with('a')
            && out.last() == pair.as_ref()
        {
            out.pop();
            out.push(format!("M({name}"));
        } else {
            out.push(entry);
        }
    }
    out.join(" ")
}
