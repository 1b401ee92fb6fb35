//! A room: a fresh directory that commands find in place of another one, so that nothing of that
//! one reaches them and nothing that they write reaches it.

use std::fs;
use std::path::{Path, PathBuf};

use pi_guard::confine::{ConfinementLevel, Machine, Mount, Tracing};

use super::AgentOptions;
use crate::guard::GuardPlan;

/// A fresh directory in place of another one.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Room {
    /// The directory whose place it takes.
    pub at: PathBuf,
    /// The fresh directory.
    pub directory: PathBuf,
    /// Files of the room that commands cannot write, relative to it. Only mounts enforce that.
    pub read_only: Vec<PathBuf>,
    /// A directory that commands can read, and the empty directory of the room in which they find
    /// it, relative to the room.
    pub shared: Option<(PathBuf, PathBuf)>,
}

/// The strength of the separation between a room and the directory whose place it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoomKind {
    /// Commands find the room at the path of the other directory, which does not exist for them.
    Mounted,
    /// Commands run in the room under its own path and cannot read the other directory.
    Separate,
    /// Commands run in the room under its own path and can read and write the other directory.
    Open,
}

impl Room {
    /// Creates a room in place of a directory.
    pub fn new(at: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), directory: directory.into(), ..Self::default() }
    }

    /// Returns the separation that this machine and the settings offer.
    pub fn kind(options: &AgentOptions) -> RoomKind {
        let plan = GuardPlan::new(options.project.settings(), options.environment());
        match Machine::of_this_process().level() {
            ConfinementLevel::Bubblewrap if plan.is_sandboxed() => RoomKind::Mounted,
            ConfinementLevel::None => RoomKind::Open,
            _ if plan.is_sandboxed() => RoomKind::Separate,
            _ => RoomKind::Open,
        }
    }

    /// Returns the options of commands that run in the room.
    pub(super) fn options(&self, options: &AgentOptions, kind: RoomKind) -> AgentOptions {
        let mut options = options.clone();
        let directory = if kind == RoomKind::Mounted { &self.at } else { &self.directory };
        options.project = options.project.in_directory(directory);
        options
    }

    /// Returns a trace of what commands use in the room.
    pub(super) fn tracing(&self, kind: RoomKind) -> Tracing {
        let seen_at = if kind == RoomKind::Mounted { &self.at } else { &self.directory };
        Tracing::new(seen_at, &self.directory)
    }

    /// Changes a plan, so that commands run in the room.
    pub(super) fn apply(&self, kind: RoomKind, plan: &mut GuardPlan) {
        plan.is_disposable = true;
        match kind {
            RoomKind::Open => {}
            RoomKind::Separate => plan.hidden.extend(self.unreadable()),
            RoomKind::Mounted => {
                plan.mounts.push(Mount::writable(&self.directory, &self.at));
                if let Some((source, place)) = &self.shared {
                    plan.mounts.push(Mount::read_only(source, self.at.join(place)));
                }
                let mount = |path: &PathBuf| {
                    Mount::read_only(self.directory.join(path), self.at.join(path))
                };
                plan.mounts.extend(self.read_only.iter().map(mount));
            }
        }
    }

    /// Returns the paths of the other directory, except for the shared directory.
    fn unreadable(&self) -> Vec<PathBuf> {
        let mut unreadable = Vec::new();
        let mut directories = vec![self.at.clone()];
        let shared = self.shared.as_ref().map(|(source, _)| source.as_path());
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let path = entry.path();
                match shared {
                    Some(shared) if shared == path => {}
                    Some(shared) if is_above(&path, shared) => directories.push(path),
                    _ => unreadable.push(path),
                }
            }
        }
        unreadable
    }
}

fn is_above(path: &Path, other: &Path) -> bool {
    other != path && other.starts_with(path)
}
