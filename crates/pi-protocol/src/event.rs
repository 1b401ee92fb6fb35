//! The events of an assistant stream.

use serde::{Deserialize, Serialize};

use crate::StopReason;

/// An event of an answer that streams.
///
/// An event carries what is new. The accumulated message is available by reference from
/// [`AssistantStream::message`](crate::AssistantStream::message). `content_index` is the index of
/// the block in [`AssistantMessage::content`](crate::AssistantMessage).
///
/// The grammar: `Start`, then blocks, each `*Start`, any number of `*Delta`, `*End`; blocks may
/// interleave. Exactly one terminal event, `Done` or `Error`, ends the stream. `Error` may come
/// at any point, also first and also while blocks are open. The joined deltas of a text or thinking
/// block are its text, unless the provider corrected itself at the end of the block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(missing_docs)] // `content_index` and `delta` are explained above, once.
#[non_exhaustive]
pub enum AssistantEvent {
    /// The provider has begun to answer.
    Start,
    /// A text block begins.
    TextStart { content_index: usize },
    /// Text was appended to a text block.
    TextDelta { content_index: usize, delta: String },
    /// A text block is complete.
    TextEnd { content_index: usize },
    /// A thinking block begins.
    ThinkingStart { content_index: usize },
    /// Text was appended to a thinking block.
    ThinkingDelta { content_index: usize, delta: String },
    /// A thinking block is complete.
    ThinkingEnd { content_index: usize },
    /// A tool call begins; its id and name are known, though a provider may still correct them.
    #[serde(rename = "toolcall_start")]
    ToolCallStart { content_index: usize },
    /// Text was appended to the arguments of a call.
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta { content_index: usize, delta: String },
    /// The arguments of a call are complete and parsed.
    #[serde(rename = "toolcall_end")]
    ToolCallEnd { content_index: usize },
    /// The answer is complete.
    Done {
        /// `Stop`, `Length`, `ToolUse` or `Deferred`.
        reason: StopReason,
    },
    /// The request failed or was aborted; the message has the content so far and the cause.
    Error {
        /// `Error` or `Aborted`.
        reason: StopReason,
    },
}

impl AssistantEvent {
    /// Returns true if this event ends the stream.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Error { .. })
    }
}
