//! The progress of a run, as data for the program that shows it.

use crate::report::CheckReport;

/// A step of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// An attempt begins.
    Attempt {
        /// Number of the attempt, from 1.
        number: u32,
        /// Number of attempts that are permitted.
        count: u32,
    },
    /// A check is complete that was made before the agent started.
    Before(CheckReport),
    /// The agent works.
    Round {
        /// Number of the round, from 1.
        number: u32,
    },
    /// The checks begin.
    Verifying,
    /// A check is complete.
    Checked(CheckReport),
}
