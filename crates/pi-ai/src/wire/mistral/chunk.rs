//! A chunk of an answer.
//!
//! Differs from that of `completions` in the content, which is text or a list of parts.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::completions::CallDelta;
use crate::wire::first::First;
use crate::wire::text::Text;

/// An event of the stream.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(default, borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) model: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) choices: Option<First<Choice<'a>>>,
    #[serde(default, borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

/// The only candidate answer.
#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default, borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(default, borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
}

/// The content that a chunk adds to the answer.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    /// A string, or a list of parts.
    #[serde(default, borrow)]
    pub(super) content: Option<&'a RawValue>,
    /// Thinking of a repaired chunk, and of servers that imitate the API.
    #[serde(default, borrow)]
    pub(super) reasoning_content: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
}

/// A piece of content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Thinking(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Thinking { thinking: Box<Content> },
    Text { text: String },
    Bare(String),
    Other(serde::de::IgnoredAny),
}

/// Reads the pieces of content, in order. References and unknown parts are left out.
pub(super) fn pieces(content: &RawValue) -> Vec<Piece> {
    let content = serde_json::from_str(content.get());
    let mut pieces = Vec::new();
    match content.unwrap_or(Content::Other(serde::de::IgnoredAny)) {
        Content::Text(text) => pieces.push(Piece::Text(text)),
        Content::Parts(parts) => {
            for part in parts {
                pieces.extend(match part {
                    Part::Thinking { thinking } => Some(Piece::Thinking(plain(*thinking))),
                    Part::Text { text } | Part::Bare(text) => Some(Piece::Text(text)),
                    Part::Other(_) => None,
                });
            }
        }
        Content::Other(_) => {}
    }
    pieces.retain(|piece| match piece {
        Piece::Text(text) | Piece::Thinking(text) => !text.is_empty(),
    });
    pieces
}

/// Returns the text of a list of thoughts.
fn plain(content: Content) -> String {
    match content {
        Content::Text(text) => text,
        Content::Parts(parts) => parts
            .into_iter()
            .filter_map(|part| match part {
                Part::Text { text } | Part::Bare(text) => Some(text),
                Part::Thinking { .. } | Part::Other(_) => None,
            })
            .collect(),
        Content::Other(_) => String::new(),
    }
}
