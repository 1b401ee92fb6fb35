//! The table of results: peer, format, conversation, outcome.

use serde::Deserialize;

/// A conversation, as the example reports it.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    format: String,
    conversation: String,
    outcome: String,
    why: String,
}

/// The results of all conversations.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<[String; 4]>,
    failures: usize,
}

const FAILED: &str = "FAILED";
const SKIPPED: &str = "skipped";

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

    /// Adds a peer without conversations that passed.
    pub(super) fn pass(&mut self, peer: &str) {
        self.whole_peer(peer, "ok", "");
    }

    /// Adds a peer that was skipped, with the reason.
    pub(super) fn skip(&mut self, peer: &str, why: &str) {
        self.whole_peer(peer, SKIPPED, why);
    }

    /// Adds a peer that failed, with the reason.
    pub(super) fn fail(&mut self, peer: &str, why: &str) {
        self.whole_peer(peer, FAILED, why);
    }

    /// Returns the number of failed conversations.
    pub(super) fn failures(&self) -> usize {
        self.failures
    }

    /// Returns whether anything was tested.
    pub(super) fn ran(&self) -> bool {
        self.rows.iter().any(|[.., outcome]| !outcome.starts_with(SKIPPED))
    }

    fn whole_peer(&mut self, peer: &str, outcome: &str, why: &str) {
        let (outcome, why) = (outcome.to_owned(), why.to_owned());
        self.add(peer, Row { format: "-".to_owned(), conversation: "-".to_owned(), outcome, why });
    }

    /// Prints the table with aligned columns.
    #[allow(clippy::print_stdout)] // The result of the task.
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
