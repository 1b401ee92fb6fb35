//! The session of a user whose run is undone or redone.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pi_coding_agent::Project;
use pi_config::checkpoints::{checkpoint_directory, checkpoints_off};
use pi_session::{SessionInfo, directory_from_text};
use pi_tools::checkpoint::{CheckpointError, Checkpoints, Limits};

use super::{Direction, Restored, UndoError, difference, restore, run_of};
use crate::export;
use crate::sessions::{FindError, SessionStore};

/// A session with checkpoints.
#[derive(Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// The session.
    pub session: SessionInfo,
    /// Working directory of the session.
    pub root: PathBuf,
    /// Checkpoints of the session.
    pub checkpoints: Checkpoints,
}

/// A run to undo or redo.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// Time of the run, in milliseconds since the epoch.
    pub time: Option<i64>,
    /// Prompt of the run.
    pub label: String,
    between: (usize, usize),
}

impl Candidate {
    /// Opens the checkpoints of a session that the user named.
    pub fn of_session(store: &mut SessionStore, reference: &str) -> Result<Self, UndoError> {
        let of_run = |session: &SessionInfo| session.id.starts_with(reference);
        let path = match store.find(reference) {
            Err(FindError::NotFound(name)) => {
                let found = store.of_runs().into_iter().find(of_run);
                found.ok_or(FindError::NotFound(name))?.path
            }
            found => found?,
        };
        export::open(&path)?;
        let session = SessionInfo::read(&path)?;
        let agent = &store.project.environment().agent_directory;
        if !checkpoint_directory(agent, &session.id).is_dir() {
            return Err(UndoError::NoCheckpoints(session.id));
        }
        Self::open(session, agent)
    }

    /// Opens the checkpoints of the session of this directory with the latest run to undo, or with
    /// the latest undo to revert. If there is none, that of the latest session with checkpoints.
    pub fn latest(
        project: &Project,
        mut sessions: Vec<SessionInfo>,
        direction: Direction,
    ) -> Result<Self, UndoError> {
        let agent = &project.environment().agent_directory;
        sessions.retain(|session| checkpoint_directory(agent, &session.id).is_dir());
        if sessions.is_empty() {
            let off = checkpoints_off(project.environment(), project.settings());
            return Err(off.map_or(UndoError::NoSession, UndoError::Off));
        }
        let changed = |session: &SessionInfo| {
            Checkpoints::changed(&checkpoint_directory(agent, &session.id)).map_or(0, milliseconds)
        };
        let mut sessions: Vec<(i64, SessionInfo)> =
            sessions.into_iter().map(|session| (changed(&session), session)).collect();
        sessions.sort_by_key(|(changed, _)| std::cmp::Reverse(*changed));
        match direction {
            Direction::Undo => Self::latest_run(sessions, agent),
            Direction::Redo => Self::latest_undo(sessions, agent),
        }
    }

    /// Opens as few checkpoints as possible: no run is later than the last change of its checkpoints.
    fn latest_run(sessions: Vec<(i64, SessionInfo)>, agent: &Path) -> Result<Self, UndoError> {
        let mut best: Option<(i64, Self)> = None;
        let mut first = None;
        for (changed, session) in sessions {
            if best.as_ref().is_some_and(|(time, _)| *time >= changed) {
                break;
            }
            let candidate = Self::open(session, agent)?;
            match candidate.run(Direction::Undo) {
                Ok(run) => {
                    let time = run.time.unwrap_or(changed);
                    if best.as_ref().is_none_or(|(latest, _)| time > *latest) {
                        best = Some((time, candidate));
                    }
                }
                Err(_) => first = first.or(Some(candidate)),
            }
        }
        let found = best.map(|(_, candidate)| candidate).or(first);
        found.ok_or_else(|| CheckpointError::NothingToUndo.into())
    }

    /// The checkpoints that changed last are those of the latest undo, if it can be reverted.
    fn latest_undo(sessions: Vec<(i64, SessionInfo)>, agent: &Path) -> Result<Self, UndoError> {
        for (_, session) in sessions {
            let candidate = Self::open(session, agent)?;
            if candidate.run(Direction::Redo).is_ok() {
                return Ok(candidate);
            }
        }
        Err(CheckpointError::NothingToRedo.into())
    }

    fn open(session: SessionInfo, agent: &Path) -> Result<Self, UndoError> {
        let root = directory_from_text(&session.cwd);
        if !root.is_dir() {
            return Err(UndoError::DirectoryGone(root));
        }
        let store = checkpoint_directory(agent, &session.id);
        let checkpoints = Checkpoints::open(&store, &root, Limits::default())?;
        Ok(Self { session, root, checkpoints })
    }

    /// Returns the run to undo or redo.
    pub fn run(&self, direction: Direction) -> Result<Run, CheckpointError> {
        let (from, to) = run_of(&self.checkpoints, direction)?;
        let number = from.max(to);
        let list = self.checkpoints.list();
        let checkpoint = list.into_iter().find(|checkpoint| checkpoint.number == number);
        let checkpoint = checkpoint.ok_or(CheckpointError::Unknown(number))?;
        Ok(Run { time: checkpoint.time, label: checkpoint.label, between: (from, to) })
    }

    /// Undoes or redoes a run.
    pub fn restore(
        &mut self,
        run: &Run,
        direction: Direction,
    ) -> Result<Restored, CheckpointError> {
        restore(&mut self.checkpoints, direction, run.between)
    }

    /// Returns the changes that undo would make, as a unified diff with a heading per file.
    pub fn difference(&self) -> Result<String, CheckpointError> {
        let (from, to) = run_of(&self.checkpoints, Direction::Undo)?;
        let changes = self.checkpoints.diff(from, to)?;
        let paths = changes.into_iter().map(|change| change.path).collect();
        difference(&self.checkpoints, &self.root, from, to, &paths)
    }
}

/// Converts a time to milliseconds since the epoch.
fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
