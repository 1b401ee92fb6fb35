//! Unattended runs: a contract in, one checked outcome out.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Terminals, arguments and environment variables: the program hands in what a run needs and prints
//! what it reports. Models are only reached through sessions of `pi-coding-agent`.
//!
//! # Where to start reading
//!
//! `contract` is the data that goes in, `run` the work, `outcome` and `report` are what comes out.

pub mod agents;
mod contract;
mod directory;
mod examine;
mod globs;
mod interrupt;
mod outcome;
mod playback;
mod publish;
mod record;
mod replay;
mod report;
mod resume;
mod room;
mod run;
mod schemas;
mod stuck;
mod tape;
mod task;
mod verify;
mod workspace;

pub use contract::*;
pub use directory::{DirectoryError, RunDirectory, RunInfo, find_run, list_runs};
pub use examine::{AgentFacts, Examination, Examined, Verdict, agent_facts, examine};
pub use interrupt::Interrupt;
pub use outcome::Outcome;
pub use playback::*;
pub use record::*;
pub use replay::*;
pub use report::*;
pub use resume::{ResumeError, resume};
pub use run::{Decisions, Ended, InvalidDecision, Progress, RunOptions, run};
pub use schemas::{report_schema, task_schema};
pub use stuck::{StuckEvidence, StuckSignal};
pub use tape::Tape;
pub use task::*;
pub use workspace::{
    BroughtBack, ChangedFile, Changes, RunWorkspace, SavedPatch, WorkspaceError, WorkspacePlaces,
};
