//! The table of what happened: peer, format, conversation, outcome.

use serde::Deserialize;

/// One conversation, as the example reports it.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    format: String,
    conversation: String,
    outcome: String,
    why: String,
}

/// All conversations.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<[String; 4]>,
    failures: usize,
}

const FAILED: &str = "FAILED";

impl Table {
    /// Adds a conversation with a peer.
    pub(super) fn add(&mut self, peer: &str, row: Row) {
        self.failures += usize::from(row.outcome == FAILED);
        let outcome = format!("{} {}", row.outcome, row.why);
        self.rows.push([
            peer.to_owned(),
            row.format,
            row.conversation,
            outcome.trim_end().to_owned(),
        ]);
    }

    /// A peer that has no conversations, and that all went well with.
    pub(super) fn pass(&mut self, peer: &str) {
        self.whole_peer(peer, "ok", "");
    }

    /// A peer that could not be talked to, for a good reason.
    pub(super) fn skip(&mut self, peer: &str, why: &str) {
        self.whole_peer(peer, "skipped", why);
    }

    /// A peer that could not be talked to, or not to the end.
    pub(super) fn fail(&mut self, peer: &str, why: &str) {
        self.whole_peer(peer, FAILED, why);
    }

    /// How many conversations went wrong.
    pub(super) fn failures(&self) -> usize {
        self.failures
    }

    fn whole_peer(&mut self, peer: &str, outcome: &str, why: &str) {
        let (outcome, why) = (outcome.to_owned(), why.to_owned());
        self.add(peer, Row { format: "-".to_owned(), conversation: "-".to_owned(), outcome, why });
    }

    /// Prints it, the columns aligned.
    #[allow(clippy::print_stdout)] // what the task is for
    pub(super) fn print(&self) {
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths = [width(0), width(1), width(2)];
        for [peer, format, conversation, outcome] in &self.rows {
            let [a, b, c] = widths;
            println!("{peer:a$}  {format:b$}  {conversation:c$}  {outcome}");
        }
    }
}
