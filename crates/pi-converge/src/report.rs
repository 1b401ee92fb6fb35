//! The report of a run: one JSON document with a published schema.

mod github;
mod junit;
mod publication;
mod sarif;
mod summary;

use std::path::PathBuf;

use pi_agent::{Limit, Spent};
use pi_coding_agent::session::Intervention;
use pi_guard::secrets::Secrets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use publication::{Publication, PublicationState};

use crate::contract::ReportPlan;
use crate::outcome::Outcome;

/// The report of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// Version of the format: 1.
    pub version: u32,
    /// Id of the run; empty if it could not start.
    pub id: String,
    /// Name of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
    /// The exit code of the outcome.
    pub exit_code: u8,
    /// The reason for the outcome, in one sentence or two.
    pub reason: String,
    /// The goal, with parameters filled in.
    pub goal: String,
    /// Time of the start, in ISO 8601.
    pub started: String,
    /// Time of the end, in ISO 8601.
    pub finished: String,
    /// The last answer of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The result that matches the output contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The checks after the last change.
    pub checks: Vec<CheckReport>,
    /// The checks before the agent started.
    pub before: Vec<CheckReport>,
    /// True if no check failed before the agent started: the run proves nothing about the change.
    pub proves_nothing: bool,
    /// The attempts.
    pub attempts: Vec<AttemptReport>,
    /// Consumption and limits.
    pub limits: LimitReport,
    /// The actions of the agent, with the decisions about them.
    pub actions: Vec<ActionReport>,
    /// The decisions of guardrails and hooks that did not let something pass as it was.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub interventions: Vec<Intervention>,
    /// The changed files.
    pub files: Vec<FileReport>,
    /// The changes as a unified diff. Long ones are cut; `diffFile` has all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// File with the whole diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_file: Option<PathBuf>,
    /// Reasons why a person should look at the result, although the checks pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<Concern>,
    /// Actions that wait for approval.
    pub pending: Vec<PendingAction>,
    /// Evidence for the outcome `stuck`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Value>,
    /// Directory of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Session file of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<PathBuf>,
    /// Data for reproducing the run.
    pub reproduction: Reproduction,
    /// The pull request, if the task asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publication: Option<Publication>,
    /// Problems that did not change the outcome, such as a report that could not be written.
    pub problems: Vec<String>,
    /// Files that the contract asks for, for the program that writes them.
    #[serde(skip)]
    pub plan: ReportPlan,
}

impl Report {
    /// Returns the report of a run that could not start: it has no id and no directory.
    pub fn not_started(outcome: Outcome, reason: impl Into<String>) -> Self {
        let now = jiff::Timestamp::now().to_string();
        Self {
            version: 1,
            outcome,
            exit_code: outcome.exit_code(),
            reason: reason.into(),
            started: now.clone(),
            finished: now,
            ..Self::default()
        }
    }

    /// Returns the report without these secrets, and without what looks like one.
    pub(crate) fn redacted(self, secrets: &Secrets) -> Self {
        let plan = self.plan.clone();
        let Ok(mut value) = serde_json::to_value(&self) else { return self };
        if !secrets.redact_json(&mut value) {
            return self;
        }
        match serde_json::from_value::<Self>(value) {
            Ok(report) => Self { plan, ..report },
            Err(_) => self,
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CheckReport {
    /// Name of the check.
    pub name: String,
    /// Kind of the check: `command`, `files`, `json`, `review` or `output`.
    pub kind: String,
    /// True if the check passed.
    pub passed: bool,
    /// True if the check was not made, because another one failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// What failed, one sentence each.
    pub failures: Vec<String>,
    /// What the sandbox denied to a command that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Denied>,
    /// Findings with a place, for annotations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// End of the output of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

impl CheckReport {
    /// Returns true if the check was made and failed.
    pub fn failed(&self) -> bool {
        !self.passed && !self.skipped
    }
}

/// Something that the sandbox denied to a check, which may be the reason why it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Denied {
    /// The path, the host, the variable or the operation.
    pub target: String,
    /// The rule behind the denial.
    pub rule: String,
    /// The option of `pi run` that permits it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl std::fmt::Display for Denied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the sandbox denied {}: {}", self.target, self.rule)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; add {remedy}"),
            None => Ok(()),
        }
    }
}

/// A reason why a person should look at a result that passes the checks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Concern {
    /// The file to look at, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The reason.
    pub reason: String,
}

impl Concern {
    /// Creates a reason, with the file that it is about.
    pub fn new(file: Option<String>, reason: impl Into<String>) -> Self {
        Self { file, reason: reason.into() }
    }
}

/// A finding with a place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Finding {
    /// Rule or statement that is violated.
    pub rule: String,
    /// `error`, `warning` or `note`.
    pub level: String,
    /// Description.
    pub message: String,
    /// File, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// One attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AttemptReport {
    /// Number, from 1.
    pub number: u32,
    /// Rounds of verification.
    pub rounds: u32,
    /// Names of the checks that failed at the end.
    pub failed: Vec<String>,
    /// Added and removed lines.
    pub diff_lines: u64,
    /// Consumption of this attempt.
    #[schemars(with = "Value")]
    pub spent: Spent,
    /// Session file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<PathBuf>,
    /// True if the workspace of this attempt is the result.
    pub kept: bool,
}

/// Consumption and limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LimitReport {
    /// The consumption.
    #[schemars(with = "Value")]
    pub spent: Spent,
    /// The limits in force.
    pub limits: Value,
    /// The limit that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub reached: Option<Limit>,
}

/// An action of the agent, with the decision about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ActionReport {
    /// Id of the tool call.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// The command, or the file.
    pub what: String,
    /// `run`, `run-confined`, `approved` or `refused`.
    pub decision: String,
    /// The reasons for a decision other than `run`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// True if the call failed.
    pub failed: bool,
    /// Duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A changed file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FileReport {
    /// Path, relative to the workspace.
    pub path: String,
    /// `added`, `changed` or `removed`.
    pub change: String,
    /// Added lines.
    pub added: u64,
    /// Removed lines.
    pub removed: u64,
    /// The checks read the file, or run it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_by_checks: bool,
}

/// An action that waits for approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PendingAction {
    /// Number for `--approve`, from 1.
    pub number: u32,
    /// Id of the tool call.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// The command, or the file.
    pub what: String,
    /// Arguments of the call.
    pub arguments: Value,
    /// The reasons why approval is needed.
    pub reasons: Vec<String>,
    /// What the action would change in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

/// Data for reproducing a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reproduction {
    /// Version of pi.
    pub version: String,
    /// The model as `provider/id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Thinking level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// SHA-256 of the contract.
    pub contract: String,
    /// SHA-256 of the system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// SHA-256 of the tool declarations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<String>,
    /// Commit of the workspace at the start, if it is a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Operating system and architecture.
    pub platform: String,
}
