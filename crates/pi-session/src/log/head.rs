//! The head of an entry: what the tree needs to know about a line, and nothing more.
//!
//! Opening a session must not cost what parsing it costs. Both programs write the head first, so
//! a glance at the beginning of a line is enough; a line that does not look like that is parsed.
//! A glance does not prove that the rest of the line is sound: whoever reads the entry finds out.

use std::borrow::Cow;

use pi_protocol::json::from_str_lossy;

use super::RawObject;

/// What an entry is, as far as the tree cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A message, with its role.
    Message(Role),
    /// A change of the thinking level.
    ThinkingLevelChange,
    /// A change of the model.
    ModelChange,
    /// Tokens spent on something else.
    Usage,
    /// A compaction.
    Compaction,
    /// The summary of a branch.
    BranchSummary,
    /// State of an extension.
    Custom,
    /// A message of an extension.
    CustomMessage,
    /// An edit of the context.
    ContextEdit,
    /// A bookmark.
    Label,
    /// A fact about the session.
    SessionInfo,
    /// The header, which is not part of the tree.
    Header,
    /// Something this program does not know.
    Unknown,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Instructions.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    ToolResult,
    /// A role that models do not know.
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
    /// Reads the head of a line; the error says why it is not an entry.
    pub(crate) fn read(line: &'a [u8]) -> Result<Self, String> {
        match glance(line) {
            Some(head) => Ok(head),
            None => Self::parse(line),
        }
    }

    /// Reads the head by going through the whole line. Values are not looked into, so it does not
    /// matter how deep they are.
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
            // Without a type it says nothing, and still connects what is around it.
            kind: Kind::new(&text("type").unwrap_or_default(), role.as_deref()),
            id: Cow::Owned(text("id").ok_or("it has no id")?),
            parent: text("parentId").map(Cow::Owned),
            timestamp: Cow::Owned(text("timestamp").unwrap_or_default()),
        })
    }
}

/// The text that a JSON value is, if it is one.
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

    /// A user or assistant message: the session is worth keeping.
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
