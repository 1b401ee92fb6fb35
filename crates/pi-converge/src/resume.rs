//! Continuing a run: after an approval, an interruption, or the death of its process.
//!
//! The directory of the run has everything: the contract, the step, the session and the journal. No
//! action that may have been executed is executed again.

use std::path::PathBuf;

use crate::contract::Contract;
use crate::directory::{
    CONTRACT, DirectoryError, Journal, PENDING, REPORT, Recorded, RunDirectory, RunState,
};
use crate::outcome::Outcome;
use crate::publish::repository_of;
use crate::report::{PendingAction, Report};
use crate::run::{
    Decisions, DeferringApprover, InvalidDecision, RunOptions, Running, publish, publisher,
};
use crate::workspace::{AdoptError, WorkspaceError};

/// Reasons why a run cannot be resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The directory of the run cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A decision does not fit the pending actions.
    #[error(transparent)]
    Decision(#[from] InvalidDecision),
    /// The directory in which the run worked does not exist here.
    #[error("the workspace {} does not exist", .0.display())]
    NoWorkspace(PathBuf),
    /// The workspace is neither as the run left it nor as it was at the start.
    #[error("the workspace is neither as the run left it nor as it was at the start: {}", shown(.0))]
    Differs(Vec<String>),
    /// The workspace cannot be compared or prepared.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

fn shown(paths: &[String]) -> String {
    const SHOWN: usize = 20;
    let more = paths.len().saturating_sub(SHOWN);
    let mut text = paths.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// Continues a run at the point where it ended. The report of a run that is complete is returned as
/// it is; a publication that is missing or has failed is made up for.
pub async fn resume(
    reference: &str,
    decisions: &Decisions,
    mut options: RunOptions,
) -> Result<Report, ResumeError> {
    let directory = RunDirectory::open(&options.runs_directory(), reference)?;
    let mut state = RunState::read(&directory)?;
    let mut contract: Contract =
        directory.read(CONTRACT)?.ok_or_else(|| DirectoryError::Damaged {
            path: directory.path().join(CONTRACT),
            reason: "the file does not exist".to_owned(),
        })?;
    contract.publish = contract.publish.overlaid(&options.publish);
    if let Some(elsewhere) = options.workspace.as_ref().filter(|cwd| **cwd != state.cwd) {
        let commit = state.repository.take().and_then(|repository| repository.commit);
        state.repository = repository_of(elsewhere, &contract.workspace);
        if let Some(repository) = &mut state.repository {
            repository.commit = commit.or(repository.commit.take());
        }
    }
    let pending: Vec<PendingAction> = directory.read(PENDING)?.unwrap_or_default();
    let approver = DeferringApprover::new(&pending, decisions)?;
    let is_over = state.outcome.is_some_and(|outcome| !outcome.is_resumable());
    if is_over && let Some(report) = directory.read::<Report>(REPORT)? {
        let publisher = publisher(contract.publish, &options, &state, &directory);
        return Ok(publish(publisher, &directory, report).await);
    }
    if state.outcome == Some(Outcome::NeedsApproval)
        && decisions.is_empty()
        && let Some(report) = directory.read::<Report>(REPORT)?
    {
        return Ok(report);
    }
    let cwd = options.workspace.take().unwrap_or_else(|| state.cwd.clone());
    if !cwd.is_dir() {
        return Err(ResumeError::NoWorkspace(cwd));
    }
    state.cwd.clone_from(&cwd);
    options.agent.resources = state.resources.clone();
    options.agent.project = options.agent.project.in_directory(&cwd);
    let recorded = Recorded::read(directory.path())?;
    let journal = Journal::open(&directory)?;
    state.outcome = None;
    let running =
        Running::resumed(contract, options, directory, state, journal, approver, recorded);
    running.adopt_workspace().map_err(|error| match error {
        AdoptError::Differs(paths) => ResumeError::Differs(paths),
        AdoptError::Workspace(error) => ResumeError::Workspace(error),
    })?;
    Ok(Box::pin(running.execute()).await)
}
