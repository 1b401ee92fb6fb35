//! The state of a run: written before each step, read when the run is resumed.

use std::path::PathBuf;

use pi_agent::Spent;
use pi_coding_agent::ResourceFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DirectoryError, RunDirectory, STATE};
use crate::outcome::Outcome;
use crate::publish::Repository;
use crate::report::{AttemptReport, CheckReport};

/// Version of the format.
const VERSION: u32 = 1;

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunState {
    pub(crate) version: u32,
    /// Time of the start, in ISO 8601.
    pub(crate) started: String,
    /// Directory in which the run was started.
    pub(crate) cwd: PathBuf,
    /// Number of the attempt, from 1.
    pub(crate) attempt: u32,
    /// Number of the round in this attempt, from 1; 0 before the first.
    #[serde(default)]
    pub(crate) round: u32,
    #[serde(default)]
    pub(crate) step: Step,
    /// Consumption when the state was written.
    #[serde(default)]
    pub(crate) spent: Spent,
    /// Consumption at the start of this attempt.
    #[serde(default)]
    pub(crate) spent_before: Spent,
    /// The attempts before this one.
    #[serde(default)]
    pub(crate) attempts: Vec<AttemptReport>,
    /// The checks before the agent started.
    #[serde(default)]
    pub(crate) before: Vec<CheckReport>,
    /// State of the detection of repetitions.
    #[serde(default)]
    pub(crate) stuck: Value,
    /// State of the workspace when the run ended, as the number of its checkpoint.
    #[serde(default)]
    pub(crate) workspace: Option<usize>,
    /// Prompts, skills and extensions of the command line.
    #[serde(default)]
    pub(crate) resources: ResourceFlags,
    /// The git repository of the workspace at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) repository: Option<Repository>,
    /// The outcome, if the run has ended.
    #[serde(default)]
    pub(crate) outcome: Option<Outcome>,
}

/// The step of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(crate) enum Step {
    /// The attempt begins.
    #[default]
    Start,
    /// The agent works on a prompt.
    Agent {
        /// The prompt.
        prompt: String,
        /// Last entry of the session log before the prompt.
        after: Option<String>,
    },
    /// The agent has ended, and the runtime verifies.
    Verify,
}

impl RunState {
    pub(crate) fn new(started: String, cwd: PathBuf) -> Self {
        Self {
            version: VERSION,
            started,
            cwd,
            attempt: 1,
            round: 0,
            step: Step::Start,
            spent: Spent::default(),
            spent_before: Spent::default(),
            attempts: Vec::new(),
            before: Vec::new(),
            stuck: Value::Null,
            workspace: None,
            resources: ResourceFlags::default(),
            repository: None,
            outcome: None,
        }
    }

    /// Reads the state of a run. Fields that older versions do not have get their defaults.
    pub(crate) fn read(directory: &RunDirectory) -> Result<Self, DirectoryError> {
        let path = directory.path().join(STATE);
        let damaged = |reason: String| DirectoryError::Damaged { path: path.clone(), reason };
        let value: Value =
            directory.read(STATE)?.ok_or_else(|| damaged("the file does not exist".to_owned()))?;
        let found = value.get("version").and_then(Value::as_u64);
        let found = found.ok_or_else(|| damaged("it has no version".to_owned()))?;
        if found > u64::from(VERSION) {
            return Err(DirectoryError::Newer { path, found, known: VERSION });
        }
        let state: Self =
            serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        Ok(Self { version: VERSION, ..state })
    }
}
