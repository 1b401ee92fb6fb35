//! The progress of a run, as data for the program that shows it.

use std::path::PathBuf;

use serde::Serialize;

use crate::outcome::Outcome;
use crate::report::CheckReport;
use crate::verify::CheckStep;

/// A step of a run. Serialized, it is a record between those of the sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Progress {
    /// The run begins, or continues.
    RunStart {
        /// Id of the run.
        id: String,
        /// Directory of the run.
        directory: PathBuf,
    },
    /// An attempt begins.
    AttemptStart {
        /// Number of the attempt, from 1.
        number: u32,
        /// Number of attempts that are permitted.
        count: u32,
    },
    /// The agent works.
    RoundStart {
        /// Number of the round, from 1.
        number: u32,
    },
    /// The agent has ended, and the checks begin.
    VerificationStart,
    /// A check begins.
    CheckStart {
        /// Name of the check.
        name: String,
        /// True if the check is made before the agent starts.
        before: bool,
    },
    /// A check is complete.
    CheckEnd {
        /// The result.
        check: CheckReport,
        /// True if the check was made before the agent started.
        before: bool,
    },
    /// A part of the task has no effect.
    Warning {
        /// The reason.
        message: String,
    },
    /// The run has ended.
    RunEnd {
        /// The outcome.
        outcome: Outcome,
        /// The exit code of the outcome.
        exit_code: u8,
        /// The reason for the outcome.
        reason: String,
    },
}

impl Progress {
    /// Returns the progress of a check.
    pub(crate) fn of_check(step: CheckStep<'_>, before: bool) -> Self {
        match step {
            CheckStep::Start(name) => Self::CheckStart { name: name.to_owned(), before },
            CheckStep::End(check) => Self::CheckEnd { check: check.clone(), before },
        }
    }
}
