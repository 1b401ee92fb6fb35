//! The observer of an agent's changes: reports of the guard become a record.
//!
//! Calls whose changes are not reported are compared by checkpoints before and after them. An edit
//! of another program in the meantime is taken for theirs then.

use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_coding_agent::guard::{AgentChange, ChangeObserver};
use pi_fs::FileError;
use pi_tools::checkpoint::{Change, Checkpoints, Choice, FileState};

use super::WorkspaceError;
use super::written::Written;

/// The changes of the agent in a workspace. Clones share the record.
#[derive(Debug, Clone)]
pub(super) struct ChangedByAgent {
    state: Arc<Mutex<State>>,
    checkpoints: Arc<Mutex<Checkpoints>>,
}

#[derive(Debug)]
struct State {
    written: Written,
    /// The checkpoint before the calls that run and may write unreported paths.
    before: Option<usize>,
    /// The first error: without a complete record, nothing is undone.
    failure: Option<String>,
}

impl ChangedByAgent {
    pub(super) fn open(
        root: &Path,
        record: &Path,
        checkpoints: &Arc<Mutex<Checkpoints>>,
    ) -> Result<Self, FileError> {
        let state = State { written: Written::open(root, record)?, before: None, failure: None };
        Ok(Self { state: Arc::new(Mutex::new(state)), checkpoints: Arc::clone(checkpoints) })
    }

    /// Returns the observer for the guard.
    pub(super) fn observer(&self) -> ChangeObserver {
        let changed = self.clone();
        ChangeObserver::new(move |change| {
            if let Err(error) = changed.observe(change) {
                lock(&changed.state).failure.get_or_insert(error.to_string());
            }
        })
    }

    /// Records a report. The two locks are never held together.
    fn observe(&self, change: AgentChange<'_>) -> Result<(), WorkspaceError> {
        match change {
            AgentChange::Begun { is_unknown } => {
                let is_needed = is_unknown && lock(&self.state).before.is_none();
                let before =
                    is_needed.then(|| lock(&self.checkpoints).take("before a call")).transpose()?;
                let mut state = lock(&self.state);
                state.before = state.before.or(before);
                state.written.begun();
            }
            AgentChange::Paths { paths, is_move } => {
                lock(&self.state).written.writes(paths, is_move)?;
            }
            AgentChange::Ended => {
                let before = lock(&self.state).before.take();
                let changes = before.map(|before| self.changes_since(before)).transpose()?;
                let mut state = lock(&self.state);
                for change in changes.into_iter().flatten() {
                    state.written.note(change.path, false)?;
                }
                state.written.ended()?;
            }
            _ => {}
        }
        Ok(())
    }

    fn changes_since(&self, before: usize) -> Result<Vec<Change>, WorkspaceError> {
        let mut checkpoints = lock(&self.checkpoints);
        let after = checkpoints.take("after a call")?;
        let mut changes = checkpoints.diff(before, after)?;
        changes.extend(checkpoints.hidden_diff(before, after)?);
        Ok(changes)
    }

    /// Decides about a path that differs from the start of the run.
    pub(super) fn choose(&self, change: &Change) -> Choice {
        let is_directory =
            |state: &Option<FileState>| matches!(state, Some(FileState::Directory { .. }));
        let state = lock(&self.state);
        // Without a complete record it is not known who wrote a path.
        if state.failure.is_some() {
            return Choice::Conflict;
        }
        let is_directory = is_directory(&change.before) || is_directory(&change.after);
        state.written.choose(&change.path, is_directory)
    }

    /// Returns true if the agent wrote a path in any attempt.
    pub(super) fn has_ever(&self, path: &str) -> bool {
        lock(&self.state).written.has_ever(path)
    }

    /// Notes that the changes were undone.
    pub(super) fn undone(&self) -> Result<(), WorkspaceError> {
        lock(&self.state).written.undone()?;
        Ok(())
    }
}
