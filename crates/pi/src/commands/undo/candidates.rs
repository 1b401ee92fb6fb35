//! The session whose run is undone or redone.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pi_coding_agent::config::SettingsStore;
use pi_coding_agent::{checkpoint_directory, checkpoints_off};
use pi_session::{SessionInfo, directory_from_text};
use pi_tools::checkpoint::{CheckpointError, Checkpoints, Limits};

use crate::commands::failure::Failure;
use crate::commands::sessions::{Store, title};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Undo,
    Redo,
}

/// A session with checkpoints.
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) title: String,
    /// Working directory of the session.
    pub(super) root: PathBuf,
    pub(super) checkpoints: Checkpoints,
}

/// A run to undo or redo.
pub(super) struct Run {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Milliseconds since the epoch.
    pub(super) time: Option<i64>,
    pub(super) label: String,
}

impl Candidate {
    /// Opens the checkpoints of a session that the user named.
    pub(super) fn of_session(store: &mut Store, reference: &str) -> Result<Self, Failure> {
        let path = store.find(reference)?;
        crate::commands::export::open(&path)?;
        let session = SessionInfo::read(&path)?;
        let agent = &store.environment.agent_directory;
        if !checkpoint_directory(agent, &session.id).is_dir() {
            return Err(Failure::failed(format!("the session {} has no checkpoints", session.id)));
        }
        Self::open(&session, agent)
    }

    /// Opens the checkpoints of the session of this directory with the latest run to undo, or with
    /// the latest undo to revert. If there is none, that of the latest session with checkpoints.
    pub(super) fn latest(store: &mut Store, direction: Direction) -> Result<Self, Failure> {
        let mut sessions = store.list(false);
        let agent = &store.environment.agent_directory;
        sessions.retain(|session| checkpoint_directory(agent, &session.id).is_dir());
        if sessions.is_empty() {
            let settings = SettingsStore::load(&store.environment, false);
            return Err(match checkpoints_off(&store.environment, settings.settings()) {
                Some(reason) => Failure::failed(format!("there is nothing to undo: {reason}")),
                None => Failure::failed("no session of this directory has checkpoints")
                    .hint("choose a session with --session"),
            });
        }
        let changed = |session: &SessionInfo| {
            Checkpoints::changed(&checkpoint_directory(agent, &session.id)).map_or(0, milliseconds)
        };
        let mut sessions: Vec<(i64, SessionInfo)> =
            sessions.into_iter().map(|session| (changed(&session), session)).collect();
        sessions.sort_by_key(|(changed, _)| std::cmp::Reverse(*changed));
        match direction {
            Direction::Undo => Self::latest_run(&sessions, agent),
            Direction::Redo => Self::latest_undo(&sessions, agent),
        }
    }

    /// Opens as few checkpoints as possible: no run is later than the last change of its checkpoints.
    fn latest_run(sessions: &[(i64, SessionInfo)], agent: &Path) -> Result<Self, Failure> {
        let mut best: Option<(i64, Self)> = None;
        let mut first = None;
        for (changed, session) in sessions {
            if best.as_ref().is_some_and(|(time, _)| time >= changed) {
                break;
            }
            let candidate = Self::open(session, agent)?;
            match candidate.run(Direction::Undo) {
                Ok(run) => {
                    let time = run.time.unwrap_or(*changed);
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
    fn latest_undo(sessions: &[(i64, SessionInfo)], agent: &Path) -> Result<Self, Failure> {
        for (_, session) in sessions {
            let candidate = Self::open(session, agent)?;
            if candidate.run(Direction::Redo).is_ok() {
                return Ok(candidate);
            }
        }
        Err(CheckpointError::NothingToRedo.into())
    }

    fn open(session: &SessionInfo, agent: &Path) -> Result<Self, Failure> {
        let root = directory_from_text(&session.cwd);
        if !root.is_dir() {
            return Err(Failure::failed(format!("{} does not exist any more", root.display())));
        }
        let store = checkpoint_directory(agent, &session.id);
        let checkpoints = Checkpoints::open(&store, &root, Limits::default())?;
        Ok(Self { id: session.id.clone(), title: title(session, 60), root, checkpoints })
    }

    /// Returns the run to undo or redo.
    pub(super) fn run(&self, direction: Direction) -> Result<Run, CheckpointError> {
        let (from, to) = match direction {
            Direction::Undo => self.checkpoints.undoable().ok_or(CheckpointError::NothingToUndo)?,
            Direction::Redo => self.checkpoints.redoable().ok_or(CheckpointError::NothingToRedo)?,
        };
        let number = from.max(to);
        let list = self.checkpoints.list();
        let checkpoint = list.into_iter().find(|checkpoint| checkpoint.number == number);
        let checkpoint = checkpoint.ok_or(CheckpointError::Unknown(number))?;
        Ok(Run { from, to, time: checkpoint.time, label: checkpoint.label })
    }
}

/// Converts a time to milliseconds since the epoch.
fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
