//! Tool declarations: what a model is told of a tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Extra;

/// A tool as the model sees it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The JSON Schema of its arguments: an object schema.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub parameters: Value,
    /// How strictly the provider should hold the model to the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained_sampling: Option<ConstrainedSampling>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How strictly the provider should hold the model to a tool's schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConstrainedSampling {
    /// By the JSON Schema.
    JsonSchema {
        /// Whether it may fall back to unconstrained sampling.
        strict: StrictMode,
    },
    /// By a grammar over the tool's only argument, a string.
    Grammar {
        /// The grammar in each notation it is available in.
        variants: GrammarVariants,
    },
    /// Not at all (`false`).
    #[serde(untagged)]
    Off(bool),
}

/// Whether strict sampling may fall back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StrictMode {
    /// Strict where the schema and the provider allow it.
    Prefer,
    /// Strict, or the request fails.
    Require,
}

/// A grammar in each notation it is available in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrammarVariants {
    /// OpenAI's Lark dialect; preferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openai_lark: Option<String>,
    /// A regular expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openai_regex: Option<String>,
}

impl Tool {
    /// A tool with the JSON Schema of its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self { name: name.into(), description: description.into(), parameters, ..Self::default() }
    }
}
