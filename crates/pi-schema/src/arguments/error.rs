//! Errors about arguments, as the model reads them.

use serde_json::Value;

use crate::json;

/// The path of the arguments themselves.
pub(super) const ROOT: &str = "root";

/// Arguments that must not reach the tool. `Display` is the text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The argument text is not a JSON object.
    #[error("Invalid arguments for tool \"{tool}\": {reason}")]
    Unreadable {
        /// Name of the tool that was called.
        tool: String,
        /// The parse error.
        reason: String,
    },
    /// The arguments do not match the schema.
    #[error(
        "Validation failed for tool \"{tool}\":\n{}\n\nReceived arguments:\n{received}",
        list(problems)
    )]
    Invalid {
        /// Name of the tool that was called.
        tool: String,
        /// The mismatches, in the order of the checks.
        problems: Vec<Problem>,
        /// The arguments as they arrived, before coercion, as indented JSON.
        received: String,
    },
}

impl ArgumentError {
    pub(super) fn invalid(tool: &str, problems: Vec<Problem>, received: &Value) -> Self {
        Self::Invalid { tool: tool.to_owned(), problems, received: json::pretty(received) }
    }
}

/// A mismatch between arguments and schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Property names and indices from the root, joined by dots; `root` for the root itself.
    pub path: String,
    /// Description of the mismatch.
    pub message: String,
}

fn list(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("  - {}: {}", problem.path, problem.message))
        .collect();
    lines.join("\n")
}
