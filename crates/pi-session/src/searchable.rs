//! The parts of a line that listing and searching need, without building its entry.
//!
//! Searchable are the texts that users write or read: messages of users and models, commands that
//! the user ran, summaries, messages of extensions that are shown, and names of the session. The
//! output of tools and commands, thinking, tool calls and prompts are not searchable: users do not
//! remember them by their words, and they would bury the other matches.

use pi_protocol::json::from_str_lossy;
use serde_json::Value;

use crate::log::RawObject;
use crate::time;

/// The largest distance of a date from the epoch in JavaScript, in milliseconds.
const LAST_TIME: f64 = 8.64e15;

/// The kind of a searchable text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextKind {
    /// A message of the user.
    User,
    /// The text of an answer.
    Assistant,
    /// A command that the user ran.
    Command,
    /// The summary of a compaction or of a branch.
    Summary,
    /// A message of an extension that is displayed.
    Extension,
    /// A name that the session has or had.
    Name,
}

impl TextKind {
    /// Returns the kind as a lower-case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Command => "command",
            Self::Summary => "summary",
            Self::Extension => "extension",
            Self::Name => "name",
        }
    }
}

/// A line, as far as listing and searching are concerned.
#[derive(Debug, Default)]
pub(crate) struct Glimpse {
    /// The id of the entry; absent in files of version 1.
    pub(crate) id: Option<String>,
    /// Milliseconds since the epoch.
    pub(crate) time: Option<i64>,
    /// The line is a message of the user or of the model.
    pub(crate) is_conversation: bool,
    /// The line is a message of any role.
    pub(crate) is_message: bool,
    /// The line is a system message.
    pub(crate) is_system: bool,
    /// The line sets or removes the name of the session.
    pub(crate) is_name: bool,
    /// The searchable text.
    pub(crate) text: Option<(TextKind, String)>,
}

impl Glimpse {
    /// Reads a line; `None` if it is not a JSON object.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line);
        RawObject::parse(&text).ok().map(|object| Self::of(&object))
    }

    fn of(object: &RawObject<'_>) -> Self {
        let entry_time = || time::parse_ms(&object.value::<String>("timestamp")?);
        let mut seen = Self { id: object.value("id"), ..Self::default() };
        match object.value::<String>("type").as_deref() {
            Some("message") => {
                seen.is_message = true;
                seen.take_message(object.get("message").unwrap_or_default());
            }
            Some("compaction" | "branch_summary") => {
                seen.text = text_in(object, "summary").map(|text| (TextKind::Summary, text));
            }
            Some("custom_message") => seen.text = shown(object),
            Some("session_info") => {
                seen.is_name = true;
                let name = text_in(object, "name").map(|name| name.trim().to_owned());
                seen.text = name.map(|name| (TextKind::Name, name));
            }
            _ => {}
        }
        seen.text = seen.text.filter(|(_, text)| !text.is_empty());
        seen.time = seen.time.or_else(entry_time);
        seen
    }

    fn take_message(&mut self, message: &str) {
        // Most of a file is tool output, which need not be parsed.
        if message.starts_with("{\"role\":\"toolResult\"") {
            return;
        }
        let Ok(object) = RawObject::parse(message) else { return };
        let time = object.value::<f64>("timestamp").filter(|time| time.abs() <= LAST_TIME);
        self.time = time.map(|time| time as i64);
        let role = object.value::<String>("role");
        self.is_conversation = matches!(role.as_deref(), Some("user" | "assistant"));
        self.is_system = role.as_deref() == Some("system");
        self.text = match role.as_deref() {
            Some("user") => Some((TextKind::User, content(&object))),
            Some("assistant") => Some((TextKind::Assistant, content(&object))),
            Some("bashExecution") => text_in(&object, "command").map(|c| (TextKind::Command, c)),
            // The role `custom` was called `hookMessage` in version 2.
            Some("custom" | "hookMessage") => shown(&object),
            _ => None,
        };
    }
}

fn shown(object: &RawObject<'_>) -> Option<(TextKind, String)> {
    let is_shown = object.value("display").unwrap_or(false);
    is_shown.then(|| (TextKind::Extension, content(object)))
}

fn text_in(object: &RawObject<'_>, name: &str) -> Option<String> {
    from_str_lossy(object.get(name)?).ok()
}

/// Returns the text of a message: its content if that is text, or else its text blocks.
fn content(object: &RawObject<'_>) -> String {
    let content = object.get("content").and_then(|content| from_str_lossy(content).ok());
    match content {
        Some(Value::String(text)) => text,
        Some(Value::Array(blocks)) => {
            let is_text = |block: &&Value| block.get("type").is_some_and(|kind| kind == "text");
            let texts =
                blocks.iter().filter(is_text).filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}
