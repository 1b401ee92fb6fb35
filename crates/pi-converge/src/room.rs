//! Clean rooms: fresh directories in which checks run, made of the state at the start and the
//! changes of a run.
//!
//! Nothing else that the agent left is in a room: no ignored file, no build output, no process.
//! Ignored files of the user are there as long as they are as they were at the start. A check
//! cannot reach the directory of the user, so nothing that it writes has to be undone.

mod git;
mod index;
mod repository;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_coding_agent::{AgentOptions, Room, RoomKind};
use pi_fs::FileError;

use repository::StartRepository;

use crate::workspace::{Content, IgnoredFiles, RunWorkspace, WorkspaceError, remove_all};

/// The path that stands for the state of the repository.
pub(crate) const REPOSITORY: &str = ".git";

/// Creates the rooms of a run.
#[derive(Debug)]
pub(crate) struct Rooms {
    /// Contains the rooms; no command of the agent can write it.
    directory: PathBuf,
    ignored: Arc<IgnoredFiles>,
    repository: StartRepository,
    next: u32,
}

/// A room. Dropping it removes its directory.
#[derive(Debug)]
pub(crate) struct CleanRoom {
    room: Room,
}

impl Rooms {
    /// Prepares the rooms in which the changes of a workspace are checked, and removes those that a
    /// killed process left. `run` is the directory of the run.
    pub(crate) fn of(workspace: &RunWorkspace, run: &Path) -> Result<Self, FileError> {
        let (directory, ignored) = (workspace.rooms(), workspace.ignored());
        remove_all(directory).map_err(FileError::at("remove", directory))?;
        std::fs::create_dir_all(directory).map_err(FileError::at("create", directory))?;
        let directory = directory.canonicalize().map_err(FileError::at("find", directory))?;
        let repository = workspace.origin().join(".git");
        let stored = run.join("repository");
        let repository = StartRepository::record(&repository, stored)
            .map_err(FileError::at("store", &repository))?;
        Ok(Self { directory, ignored, repository, next: 1 })
    }

    /// Returns true if the repository of the workspace is not in the state of the start.
    pub(crate) fn has_other_repository(&self, workspace: &RunWorkspace) -> io::Result<bool> {
        self.repository.differs_from(&workspace.root().join(".git"))
    }

    /// Returns true if a path was an ignored file of the user at the start, outside of caches.
    pub(crate) fn is_ignored_at_start(&self, path: &str) -> bool {
        self.ignored.is_file_of_start(path)
    }

    /// Returns the ignored files that are not as they were at the start: no room has them so.
    pub(crate) fn changed_ignored(&self) -> Vec<String> {
        self.ignored.changed()
    }

    /// Creates a room.
    pub(crate) fn create(
        &mut self,
        workspace: &RunWorkspace,
        content: Content<'_>,
        options: &AgentOptions,
    ) -> Result<CleanRoom, WorkspaceError> {
        let directory = self.directory.join(self.next.to_string());
        self.next += 1;
        std::fs::create_dir(&directory).map_err(WorkspaceError::io("create", &directory))?;
        let at = workspace.root().to_owned();
        let mut clean = CleanRoom { room: Room::new(&at, &directory) };
        workspace.export(content, &directory)?;
        self.ignored.copy_to(&directory)?;
        let is_mounted = Room::kind(options) == RoomKind::Mounted;
        let is_start = match content {
            Content::Start => true,
            Content::Changed(_, reverted) => reverted.contains(REPOSITORY),
        };
        let repository = &self.repository;
        clean.room.shared = git::copy_metadata(&at, repository, is_start, &directory, is_mounted)
            .map_err(WorkspaceError::io("copy", at.join(".git")))?;
        Ok(clean)
    }
}

impl Drop for Rooms {
    fn drop(&mut self) {
        // Directories that are not empty have the workspaces of attempts.
        let _ = std::fs::remove_dir(&self.directory);
        let _ = self.directory.parent().map(std::fs::remove_dir);
    }
}

impl CleanRoom {
    /// Returns the directory of the room, outside of the sandbox.
    pub(crate) fn directory(&self) -> &Path {
        &self.room.directory
    }

    /// Returns the room for a shell, with files that commands cannot write.
    pub(crate) fn with_read_only(&self, read_only: Vec<PathBuf>) -> Room {
        let mut room = self.room.clone();
        room.read_only = read_only;
        room
    }
}

impl Drop for CleanRoom {
    fn drop(&mut self) {
        // A directory that stays is removed by the next process of the run.
        let _ = remove_all(&self.room.directory);
    }
}
