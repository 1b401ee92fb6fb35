//! The fields of a streamed chunk that the decoder reads, borrowed from the event.
//!
//! Every field is optional: Google leaves out default values, and proxies leave out more. Other
//! fields (grounding, citations, safety ratings) are skipped without allocation.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::first::First;
use crate::wire::text::Text;

/// A chunk of the answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) candidates: Option<First<Candidate<'a>>>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<PromptFeedback<'a>>,
    #[serde(borrow)]
    pub(super) usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) model_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) response_id: Option<Text<'a>>,
    pub(super) error: Option<Value>,
}

/// A candidate answer. Requests ask for one only.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) finish_message: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Vec<Part<'a>>>,
}

/// A part: text, thought, call, or a kind for which the message has no block.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    pub(super) thought: Option<bool>,
    #[serde(borrow)]
    pub(super) thought_signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionCall<'a>>,
    pub(super) executable_code: Option<IgnoredAny>,
    pub(super) code_execution_result: Option<IgnoredAny>,
    pub(super) inline_data: Option<IgnoredAny>,
    pub(super) file_data: Option<IgnoredAny>,
    /// Calls of Google's own tools, and their results.
    pub(super) tool_call: Option<IgnoredAny>,
    pub(super) tool_response: Option<IgnoredAny>,
}

/// A call, complete or with partial arguments.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) partial_args: Option<Vec<PartialArg<'a>>>,
    pub(super) will_continue: Option<bool>,
}

/// A part of one argument (Vertex AI).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg<'a> {
    #[serde(borrow, default)]
    pub(super) json_path: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) string_value: Option<Text<'a>>,
    pub(super) number_value: Option<Value>,
    pub(super) bool_value: Option<bool>,
    pub(super) will_continue: Option<bool>,
}

/// The reason why a prompt was blocked.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) block_reason_message: Option<Text<'a>>,
}

impl Part<'_> {
    /// Returns true if the message has no block for this kind of part.
    pub(super) fn is_foreign(&self) -> bool {
        self.executable_code.is_some()
            || self.code_execution_result.is_some()
            || self.inline_data.is_some()
            || self.file_data.is_some()
            || self.tool_call.is_some()
            || self.tool_response.is_some()
    }
}
