//! Checks that the runtime makes after the agent has ended.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::limits::Time;

/// A check: an object with one of the keys `command`, `files`, `json` and `review`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[non_exhaustive]
#[allow(missing_docs)] // The types have the explanations.
pub enum Check {
    Command(CommandCheck),
    Files(FileCheck),
    Json(JsonCheck),
    Review(ReviewCheck),
}

/// A command that has to succeed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CommandCheck {
    /// The command, for the shell, in the workspace.
    pub command: String,
    /// Name of the check; the command by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The expected result.
    #[serde(default)]
    pub expect: Expect,
    /// Time limit; 30 minutes by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Time>,
    /// Names of environment variables that the command gets although they look like secrets. The
    /// agent does not get them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
}

/// The expected result of a command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Expect {
    /// Exit code; 0 by default.
    pub exit: i32,
    /// Regular expression that occurs in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_matches: Option<String>,
    /// Regular expression that does not occur in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_lacks: Option<String>,
    /// JUnit file that the command writes. It must be new, have at least one test and no failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub junit: Option<PathBuf>,
    /// Accepts fewer tests than before the run, or none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fewer_tests: bool,
}

/// The files that the run may and must change. Patterns are globs relative to the workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FileCheck {
    /// The rules.
    pub files: FileRules,
    /// Name of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The rules of a [`FileCheck`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct FileRules {
    /// Each pattern matches at least one changed file.
    pub required: Vec<String>,
    /// No changed file matches one of the patterns.
    pub forbidden: Vec<String>,
    /// If not empty, every changed file matches one of the patterns.
    pub allowed: Vec<String>,
    /// Files that the agent must not change, such as tests. Checks use the original content.
    pub protected: Vec<String>,
    /// Each pattern matches at least one file at the end.
    pub exist: Vec<String>,
    /// Maximum number of added and removed lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_diff_lines: Option<u64>,
    /// Maximum number of changed files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u64>,
}

/// Assertions on the structured result, or on a JSON file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JsonCheck {
    /// The assertions.
    pub json: Vec<JsonTest>,
    /// A file of the workspace instead of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Name of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An assertion on one value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JsonTest {
    /// JSON pointer of the value.
    pub pointer: String,
    /// The exact value; `null` is a value, too.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// Regular expression for a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// The value exists, or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// Minimum of a number, or of the length of a list or string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Maximum of a number, or of the length of a list or string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// Reads a value that is there, also if it is null.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A review of the diff by another model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReviewCheck {
    /// The review.
    pub review: Review,
    /// Name of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The review of a [`ReviewCheck`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Review {
    /// Model of the reviewer; that of the agent by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the reviewer judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric: Option<String>,
    /// Statements that must hold, each judged on its own.
    pub must: Vec<String>,
}

impl Check {
    /// Returns the name for reports.
    pub fn name(&self) -> String {
        let (name, default) = match self {
            Self::Command(check) => (&check.name, check.command.as_str()),
            Self::Files(check) => (&check.name, "files"),
            Self::Json(check) => (&check.name, "json"),
            Self::Review(check) => (&check.name, "review"),
        };
        name.clone().unwrap_or_else(|| default.to_owned())
    }
}
