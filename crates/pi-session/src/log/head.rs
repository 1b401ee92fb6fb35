//! The head of an entry: the fields of a line that the tree needs.
//!
//! Opening a session must not cost as much as parsing it. Both programs write the head first, so
//! the beginning of a line is enough; a line that begins otherwise is parsed. The rest of the line
//! is checked when the entry is read.

use std::borrow::Cow;

use pi_protocol::json::from_str_lossy;

use super::RawObject;

/// The kind of an entry, named like [`EntryBody`](pi_protocol::EntryBody).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Message(Role),
    ThinkingLevelChange,
    ModelChange,
    Usage,
    Compaction,
    BranchSummary,
    Custom,
    CustomMessage,
    ContextEdit,
    Label,
    SessionInfo,
    /// The header, which is not part of the tree.
    Header,
    Unknown,
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
    Assistant,
    ToolResult,
    /// A role that only coding sessions have.
    Other,
}

/// The head of a line.
#[derive(Debug, PartialEq)]
pub(crate) struct Head<'a> {
    pub(crate) kind: Kind,
    pub(crate) id: Cow<'a, str>,
    pub(crate) parent: Option<Cow<'a, str>>,
    pub(crate) timestamp: Cow<'a, str>,
}

impl<'a> Head<'a> {
    /// Reads the head of a line; the error is the reason why the line is not an entry.
    pub(crate) fn read(line: &'a [u8]) -> Result<Self, String> {
        match glance(line) {
            Some(head) => Ok(head),
            None => Self::parse(line),
        }
    }

    /// Reads the head by scanning the whole line. Values are not parsed, so their depth does not
    /// matter.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        let line = String::from_utf8_lossy(line);
        let object = RawObject::parse(&line);
        Self::of(&object.map_err(|error| format!("not a JSON object: {error}"))?)
    }

    fn of(object: &RawObject<'_>) -> Result<Self, String> {
        let text = |name: &str| object.get(name).and_then(text_in);
        let role = object.get("message").and_then(|message| {
            let message = RawObject::parse(message).ok()?;
            message.get("role").and_then(text_in)
        });
        Ok(Self {
            // An entry without a type has no content, but still links its neighbors.
            kind: Kind::new(&text("type").unwrap_or_default(), role.as_deref()),
            id: Cow::Owned(text("id").ok_or("no id")?),
            parent: text("parentId").map(Cow::Owned),
            timestamp: Cow::Owned(text("timestamp").unwrap_or_default()),
        })
    }
}

/// Returns the text of a JSON string; `None` for other values.
fn text_in(json: &str) -> Option<String> {
    from_str_lossy(json).ok()
}

impl Kind {
    fn new(kind: &str, role: Option<&str>) -> Self {
        match kind {
            "message" => Self::Message(Role::new(role.unwrap_or_default())),
            "thinking_level_change" => Self::ThinkingLevelChange,
            "model_change" => Self::ModelChange,
            "usage" => Self::Usage,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "custom" => Self::Custom,
            "custom_message" => Self::CustomMessage,
            "context_edit" => Self::ContextEdit,
            "label" => Self::Label,
            "session_info" => Self::SessionInfo,
            "session" => Self::Header,
            _ => Self::Unknown,
        }
    }

    /// Returns true for messages of the user and the model, which make a session worth a file.
    pub(crate) fn is_conversation(self) -> bool {
        matches!(self, Self::Message(Role::User | Role::Assistant))
    }
}

impl Role {
    fn new(role: &str) -> Self {
        match role {
            "system" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            _ => Self::Other,
        }
    }
}

/// Reads the head if the line begins exactly as both programs write it; `None` if the line has to
/// be parsed.
fn glance(line: &[u8]) -> Option<Head<'_>> {
    /// Heads are rarely longer than this.
    const USUAL_LENGTH: usize = 256;
    if line.last() != Some(&b'}') {
        return None;
    }
    match line.get(..USUAL_LENGTH) {
        Some(beginning) => glance_at(valid_text(beginning)).or_else(|| glance_at(valid_text(line))),
        None => glance_at(valid_text(line)),
    }
}

/// Reads the head of a line of which `beginning` is the first part.
fn glance_at(beginning: &str) -> Option<Head<'_>> {
    let (kind, mut head, rest) = split_head(beginning)?;
    let role = match kind {
        "message" => Some(quoted(rest.strip_prefix(",\"message\":{\"role\":\"")?)?.0),
        _ => None,
    };
    head.kind = Kind::new(kind, role);
    Some(head)
}

/// Returns the longest beginning that is UTF-8.
fn valid_text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Returns the head and the message of a line that consists of these two and nothing else, if it
/// is written as both programs write it.
pub(crate) fn split_message(line: &[u8]) -> Option<(Head<'_>, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let (kind, head, rest) = split_head(line)?;
    let message = rest.strip_prefix(",\"message\":")?.strip_suffix('}')?;
    (kind == "message").then_some((head, message))
}

/// Returns the type, the head without its kind, and what follows.
fn split_head(line: &str) -> Option<(&str, Head<'_>, &str)> {
    let (kind, rest) = quoted(line.strip_prefix("{\"type\":\"")?)?;
    let (id, rest) = quoted(rest.strip_prefix(",\"id\":\"")?)?;
    let rest = rest.strip_prefix(",\"parentId\":")?;
    let (parent, rest) = match rest.strip_prefix('"') {
        Some(rest) => quoted(rest).map(|(parent, rest)| (Some(parent), rest))?,
        None => (None, rest.strip_prefix("null")?),
    };
    let (timestamp, rest) = quoted(rest.strip_prefix(",\"timestamp\":\"")?)?;
    let head = Head {
        kind: Kind::Unknown,
        id: Cow::Borrowed(id),
        parent: parent.map(Cow::Borrowed),
        timestamp: Cow::Borrowed(timestamp),
    };
    Some((kind, head, rest))
}

/// Returns the text up to the closing quote, and what follows; `None` if there is an escape in it,
/// or a character that JSON does not allow there.
fn quoted(rest: &str) -> Option<(&str, &str)> {
    let ends = |byte: u8| matches!(byte, b'"' | b'\\') || byte.is_ascii_control();
    // These texts are short, so a loop is faster than a call of memchr.
    let end = rest.bytes().position(ends)?;
    (rest.as_bytes()[end] == b'"').then(|| (&rest[..end], &rest[end + 1..]))
}
