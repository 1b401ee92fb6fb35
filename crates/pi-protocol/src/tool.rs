//! Tool declarations, as they are sent to a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Extra;

/// The declaration of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name by which the model calls the tool.
    pub name: String,
    /// Description for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema of the arguments, which is an object schema.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub parameters: Value,
    /// Constraint on the sampling of the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained_sampling: Option<ConstrainedSampling>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Constraint on the sampling of a tool's arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConstrainedSampling {
    /// Arguments follow the JSON Schema.
    JsonSchema {
        /// Fallback to unconstrained sampling.
        strict: StrictMode,
    },
    /// The tool's only argument, a string, follows a grammar.
    Grammar {
        /// The grammar in each available notation.
        variants: GrammarVariants,
    },
    /// No constraint (`false`).
    #[serde(untagged)]
    Off(bool),
}

/// Fallback of strict sampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StrictMode {
    /// Sampling is strict if the schema and the provider allow it.
    Prefer,
    /// Sampling is strict, or the request fails.
    Require,
}

/// A grammar in each available notation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrammarVariants {
    /// The grammar in OpenAI's Lark dialect, which is preferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openai_lark: Option<String>,
    /// The grammar as a regular expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openai_regex: Option<String>,
}

impl Tool {
    /// Creates a declaration with the JSON Schema of the arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self { name: name.into(), description: description.into(), parameters, ..Self::default() }
    }
}
