//! What the model is told about arguments that do not fit.

use serde_json::Value;

use super::json;

/// The path of the arguments themselves.
pub(super) const ROOT: &str = "root";

/// Arguments that must not reach the tool. `Display` is the text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// The argument text was not a JSON object.
    #[error("Invalid arguments for tool \"{tool}\": {reason}")]
    Unreadable {
        /// The tool that was called.
        tool: String,
        /// What was wrong with the text.
        reason: String,
    },
    /// The arguments do not fit the schema.
    #[error(
        "Validation failed for tool \"{tool}\":\n{}\n\nReceived arguments:\n{received}",
        list(problems)
    )]
    Invalid {
        /// The tool that was called.
        tool: String,
        /// What does not fit, in the order of the checks.
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

/// One place where arguments do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Property names and indices from the root, joined by dots; `root` for the root.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

fn list(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("  - {}: {}", problem.path, problem.message))
        .collect();
    lines.join("\n")
}
