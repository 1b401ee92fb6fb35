//! The note by which a model learns that files changed without it.
//!
//! The context still has the results of the calls that wrote the files. Without the note, the model
//! would answer from them. The note is an entry of the session log, so forks and resumed sessions
//! have it, too.

use std::fmt::Write as _;
use std::path::Path;

use pi_base::text::line;
use pi_coding_agent::session::{AgentSession, Delivery};
use pi_protocol::{CustomEntryMessage, MessageContent};
use pi_session::{ExtensionMessage, OpenOptions, Session, SessionError};

use super::{Direction, Restored};

/// Type of the entries that report restored files.
pub const NOTE_TYPE: &str = "undo";

/// Number of files that a note names.
const MAX_FILES: usize = 50;

impl Restored {
    /// Returns the text that tells a model about the changes; `None` if no file changed. `label` is
    /// the prompt of the run.
    pub fn note(&self, direction: Direction, label: &str) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        let done = match direction {
            Direction::Undo => "The user took back the file changes that followed the prompt",
            Direction::Redo => "The user repeated the file changes that followed the prompt",
        };
        let mut text = format!("{done} \"{}\":\n", line(label, 80));
        let files = self.files.iter().map(|file| format!("{} {}", file.verb, exact(&file.path)));
        list(&mut text, files);
        if !self.conflicts.is_empty() {
            text.push_str("Left as they are, because they changed since:\n");
            list(&mut text, self.conflicts.iter().map(|one| exact(&one.path)));
        }
        text.push_str("Read these files again before you rely on their content.");
        Some(text)
    }
}

/// Returns the note for a conversation that moved back without its files.
pub(super) fn kept(paths: &[String]) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let mut text = "The user moved the conversation back. File changes of the messages that were \
                    left are still in place:\n"
        .to_owned();
    list(&mut text, paths.iter().map(|path| exact(path)));
    text.push_str("Read these files before you rely on their content.");
    Some(text)
}

fn exact(path: &str) -> String {
    line(path, usize::MAX)
}

fn list(text: &mut String, items: impl ExactSizeIterator<Item = String>) {
    let more = items.len().saturating_sub(MAX_FILES);
    for item in items.take(MAX_FILES) {
        let _ = writeln!(text, "- {item}");
    }
    if more > 0 {
        let _ = writeln!(text, "- and {more} more");
    }
}

/// Appends a note to the log of a session that is not open.
pub fn append_note(log: &Path, note: &str) -> Result<(), SessionError> {
    let mut session = Session::open(log, &OpenOptions::append())?;
    session.append_custom_message(CustomEntryMessage {
        custom_type: NOTE_TYPE.to_owned(),
        content: MessageContent::Text(note.to_owned()),
        display: true,
        details: None,
    })?;
    Ok(())
}

/// Appends a note to an open session. It starts no run.
pub(super) async fn tell(session: &AgentSession, note: String) -> Result<(), SessionError> {
    let message = ExtensionMessage {
        custom_type: NOTE_TYPE.to_owned(),
        content: MessageContent::Text(note),
        display: true,
        ..ExtensionMessage::default()
    };
    session.add_message(message, Delivery::TurnEnd).await
}
