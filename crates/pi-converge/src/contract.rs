//! The contract of a run: what a task file says, with the defaults filled in.
//!
//! The types are the format: the task file is deserialized into them, the published schema is
//! derived from them, and a run directory stores them. Nothing is checked against the file system
//! here.

mod check;
mod limits;
mod policy;
mod publish;

use std::collections::BTreeMap;
use std::path::PathBuf;

use pi_config::guardrails::Guardrail;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use check::{
    Check, CommandCheck, Expect, FileCheck, FileRules, JsonCheck, JsonTest, Review, ReviewCheck,
};
pub use limits::{ContractLimits, StuckLimits, Time};
pub use policy::{ApprovalMode, PolicyPlan};
pub use publish::PublishPlan;

/// The contract of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Contract {
    /// Version of the format: 1.
    #[serde(default = "version")]
    pub version: u32,
    /// Name of the task, for reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description of the task, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the agent has to achieve. `{{ name }}` stands for a parameter.
    pub goal: String,
    /// Files and parameters of the task.
    #[serde(default)]
    pub inputs: Inputs,
    /// Where the agent works.
    #[serde(default)]
    pub workspace: WorkspacePlan,
    /// Agent spec: a file, relative to the task file, or the name of an installed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Model, as `--model` accepts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models that continue if the model cannot answer.
    #[serde(default)]
    pub fallbacks: Vec<String>,
    /// Thinking level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// Tools that the agent has, instead of the default ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that the agent does not have.
    #[serde(default)]
    pub exclude_tools: Vec<String>,
    /// Safety profile, rules, approvals, sandbox and network.
    #[serde(default)]
    pub policy: PolicyPlan,
    /// Limits of the whole run, sub-agents, reviewers and retries included.
    #[serde(default)]
    pub limits: ContractLimits,
    /// Repetitions at which the run ends early.
    #[serde(default)]
    pub stuck: StuckLimits,
    /// Contract of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputPlan>,
    /// Checks that the runtime makes after the agent has ended.
    #[serde(default)]
    pub verify: Vec<Check>,
    /// Makes the command checks before the agent starts, too: a check that passes then proves
    /// nothing. True by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_before: Option<bool>,
    /// Names of environment variables that all command checks get although they look like secrets.
    /// The agent does not get them.
    #[serde(default)]
    pub check_env: Vec<String>,
    /// Patterns of files that decide the checks and that the run may change all the same. Unlike
    /// `allowed`, the list restricts nothing.
    #[serde(default)]
    pub may_change: Vec<String>,
    /// Accepts a result at which a person should look: the outcome is `converged` instead of
    /// `needs-review`.
    #[serde(default)]
    pub accept_review: bool,
    /// Guardrails, in the format of the setting `guardrails`.
    #[serde(default)]
    pub guardrails: Vec<Guardrail>,
    /// Rounds and attempts.
    #[serde(default)]
    pub attempts: Attempts,
    /// Treatment of the workspace if the run does not converge.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Files to write at the end.
    #[serde(default)]
    pub reports: ReportPlan,
    /// The pull request of a run whose checks passed.
    #[serde(default, skip_serializing_if = "PublishPlan::is_empty")]
    pub publish: PublishPlan,
    /// Records every response and tool result for `pi replay`.
    #[serde(default)]
    pub record: bool,
}

fn version() -> u32 {
    1
}

/// Files and parameters of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Inputs {
    /// Files whose content is part of the prompt.
    pub files: Vec<PathBuf>,
    /// Texts that are part of the prompt, by name. The content of `files` is added to them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub texts: BTreeMap<String, String>,
    /// Parameters by name.
    pub parameters: BTreeMap<String, Parameter>,
}

impl Contract {
    /// Returns the patterns of files that the contract asks for by name: they belong to the result
    /// also if git ignores them.
    pub(crate) fn results(&self) -> Vec<String> {
        let mut results = Vec::new();
        for check in &self.verify {
            match check {
                Check::Files(check) => {
                    results.extend(check.files.exist.iter().chain(&check.files.required).cloned());
                }
                Check::Json(check) => {
                    let file = check.file.as_ref().and_then(|file| file.to_str());
                    results.extend(file.map(str::to_owned));
                }
                Check::Command(_) | Check::Review(_) => {}
            }
        }
        results
    }

    /// Returns the first prompt: the texts of the inputs, then the goal.
    pub fn prompt(&self) -> String {
        let mut prompt = String::new();
        for (name, text) in &self.inputs.texts {
            let text = text.strip_suffix('\n').unwrap_or(text);
            prompt.push_str(&format!("<file name=\"{name}\">\n{text}\n</file>\n"));
        }
        prompt.push_str(&self.goal);
        prompt
    }
}

/// A parameter of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Parameter {
    /// Type of the value.
    #[serde(rename = "type")]
    pub kind: ParameterKind,
    /// Description for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Value if none is given. A parameter without one is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The permitted values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Value>,
    /// The value of this run; `--param NAME=VALUE` sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// Type of a parameter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // The names say it.
pub enum ParameterKind {
    #[default]
    String,
    Number,
    Boolean,
    Date,
    /// A file; the template inserts its content.
    File,
}

/// The place where the agent works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct WorkspacePlan {
    /// The kind of workspace.
    pub mode: WorkspaceMode,
    /// Directory, relative to the working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Commit of a worktree; `HEAD` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// The kind of workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkspaceMode {
    /// The directory itself.
    #[default]
    InPlace,
    /// A new git worktree for each attempt.
    Worktree,
    /// A copy of the directory for each attempt.
    Copy,
}

/// The contract of the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct OutputPlan {
    /// JSON Schema of the result: the schema itself, or the path of a file with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Number of times that an invalid result is returned to the model; 3 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repairs: Option<u32>,
    /// File that receives the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// Rounds and attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Attempts {
    /// Number of attempts; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Number of times that failed checks are returned to the agent in one attempt; 4 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Start of each attempt after the first.
    pub strategy: AttemptStrategy,
}

impl Attempts {
    /// Returns the number of attempts, at least one.
    pub fn count(&self) -> u32 {
        self.count.unwrap_or(1).max(1)
    }

    /// Returns the number of rounds after the first in each attempt.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(4)
    }
}

/// The start of each attempt after the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptStrategy {
    /// A new session in the workspace as the last attempt left it.
    Continue,
    /// A new session in a workspace as it was at the start.
    #[default]
    Restart,
    /// As `restart`; all attempts are made, and the best one is kept: by checks, then by the size
    /// of the diff, then by cost.
    Best,
}

/// Treatment of the workspace if the run does not converge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The changes stay.
    #[default]
    Keep,
    /// The changes are undone.
    Rollback,
    /// The changes are saved as a patch in the run directory, then undone.
    Patch,
}

/// Files to write at the end of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ReportPlan {
    /// The report as JSON. It is also in the run directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<PathBuf>,
    /// The checks as JUnit XML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub junit: Option<PathBuf>,
    /// Findings of reviews as SARIF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sarif: Option<PathBuf>,
    /// The summary as Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<PathBuf>,
    /// GitHub annotations, step summary and outputs; by default if `GITHUB_ACTIONS` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub github: Option<bool>,
}
