//! Completion of arguments.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Extra;

/// Parameters of `completion/complete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompleteParams {
    /// Owner of the argument.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument, and its value so far.
    pub argument: CompletionArgument,
    /// Arguments that have a value: `{"arguments": {NAME: VALUE}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
}

/// Owner of an argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum CompletionReference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// Name of the prompt.
        name: String,
    },
    /// A template of resources.
    #[serde(rename = "ref/resource")]
    Resource {
        /// Template of the address.
        uri: String,
    },
}

/// An argument, and its value so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionArgument {
    /// Name of the argument.
    pub name: String,
    /// Value of the argument so far.
    pub value: String,
}

/// Result of `completion/complete`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompleteResult {
    /// The values.
    pub completion: Completion,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Values of an argument.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Completion {
    /// The values, at most 100.
    pub values: Vec<String>,
    /// The number of all values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// There are more values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}
