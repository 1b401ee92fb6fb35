//! What listing and searching want to know about a line, without building its entry.
//!
//! Searchable is what people wrote or were told: the text of users and models, commands that the
//! user ran, summaries, messages of extensions that are shown, and names of the session. Not
//! searchable is what nobody remembers by its words and what would drown the rest: output of tools
//! and commands, thinking, tool calls, prompts.

use pi_protocol::json::from_str_lossy;
use serde_json::Value;

use crate::log::RawObject;
use crate::time;

/// No date is further from the epoch, in milliseconds; JavaScript's limit.
const LAST_TIME: f64 = 8.64e15;

/// What a searchable text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// A message of the user.
    User,
    /// The text of an answer.
    Assistant,
    /// A command that the user ran.
    Command,
    /// The summary of a compaction or of a branch.
    Summary,
    /// A message of an extension that people are shown.
    Extension,
    /// A name that the session has or had.
    Name,
}

/// A line, as far as listing and searching are concerned.
#[derive(Debug, Default)]
pub(crate) struct Glimpse {
    /// Absent in files of version 1.
    pub(crate) id: Option<String>,
    /// Milliseconds since the epoch.
    pub(crate) time: Option<i64>,
    /// It is a message of the user or of the model.
    pub(crate) speaks: bool,
    /// It is a message of whatever role.
    pub(crate) is_message: bool,
    /// It names the session, or takes its name away.
    pub(crate) is_name: bool,
    /// What can be searched.
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
        // Most of a file is tool output, which is not looked at.
        if message.starts_with("{\"role\":\"toolResult\"") {
            return;
        }
        let Ok(object) = RawObject::parse(message) else { return };
        let time = object.value::<f64>("timestamp").filter(|time| time.abs() <= LAST_TIME);
        self.time = time.map(|time| time as i64);
        let role = object.value::<String>("role");
        self.speaks = matches!(role.as_deref(), Some("user" | "assistant"));
        self.text = match role.as_deref() {
            Some("user") => Some((TextKind::User, content(&object))),
            Some("assistant") => Some((TextKind::Assistant, content(&object))),
            Some("bashExecution") => text_in(&object, "command").map(|c| (TextKind::Command, c)),
            // `hookMessage` is what `custom` was called in version 2.
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

/// The text of a message: its content if that is text, or else its text blocks.
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
