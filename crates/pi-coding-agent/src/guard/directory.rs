//! The directory of a sandbox: temporary files of its commands, and private files of the sandbox.
//!
//! A killed process leaves its directory behind, and in the workspace the empty directories that
//! covers need. Each directory is locked while it is in use and lists its covers; the next start
//! removes the directories that are no longer locked, with their covers.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use pi_guard::confine::{is_cover, remove_stale_covers};
use tempfile::TempDir;

const PREFIX: &str = "pi-sandbox-";
const LOCK: &str = "own/lock";
const COVERS: &str = "own/covers.json";

/// The directory of one sandbox.
pub(super) struct SandboxDirectory {
    directory: Option<TempDir>,
    parent: PathBuf,
    lock: File,
}

impl SandboxDirectory {
    /// Creates a directory in `parent`, and removes stale ones.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        let mut directory = tempfile::Builder::new();
        directory.prefix(PREFIX);
        #[cfg(unix)]
        directory.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let directory = directory.tempdir_in(parent)?;
        fs::create_dir(directory.path().join("tmp"))?;
        fs::create_dir(directory.path().join("own"))?;
        // Renamed after it is locked, so that no other process sees it without the lock.
        let new = directory.path().join("own/new");
        let lock = File::create(&new)?;
        lock.try_lock().map_err(io::Error::from)?;
        fs::rename(new, directory.path().join(LOCK))?;
        let created = Self { directory: Some(directory), parent: parent.to_owned(), lock };
        remove_stale(parent, created.path());
        Ok(created)
    }

    /// Returns the path of the directory.
    pub(super) fn path(&self) -> &Path {
        self.directory.as_ref().map_or(&self.parent, TempDir::path)
    }

    /// Returns the directory for temporary files of commands.
    pub(super) fn temporary(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// Returns the directory that commands do not use.
    pub(super) fn private(&self) -> PathBuf {
        self.path().join("own")
    }

    /// Removes the directory after the last command. What is still connected to the session, such as an
    /// MCP server, can keep this value alive until the process ends.
    pub(super) fn remove(&self) {
        let has_covers = recorded_covers(self.path()).iter().any(|cover| is_cover(cover));
        let rest = if has_covers { self.temporary() } else { self.path().to_owned() };
        // The next start removes what is left.
        let _ = fs::remove_dir_all(rest);
    }

    /// Records the covers that may be left behind in the workspace.
    pub(super) fn record_covers(&self, covers: &[PathBuf]) -> io::Result<()> {
        fs::write(self.path().join(COVERS), serde_json::to_vec(covers)?)
    }
}

impl Drop for SandboxDirectory {
    fn drop(&mut self) {
        let Some(directory) = self.directory.take() else { return };
        // Another session still needs the covers, and removes them later.
        if recorded_covers(directory.path()).iter().any(|cover| is_cover(cover)) {
            let kept = directory.keep();
            let _ = fs::remove_dir_all(kept.join("tmp"));
        } else {
            drop(directory);
        }
        let _ = self.lock.unlock();
        remove_stale(&self.parent, Path::new(""));
    }
}

/// Removes the directories in `parent` that are not locked. A directory that cannot be removed is
/// left to the next process.
fn remove_stale(parent: &Path, own: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && path != own
            && is_private(&path)
        {
            let _ = remove(&path);
        }
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    let lock = OpenOptions::new().write(true).open(directory.join(LOCK))?;
    lock.try_lock().map_err(io::Error::from)?;
    let covers = recorded_covers(directory);
    remove_stale_covers(&covers);
    if covers.iter().any(|cover| is_cover(cover)) { Ok(()) } else { fs::remove_dir_all(directory) }
}

fn recorded_covers(directory: &Path) -> Vec<PathBuf> {
    let text = fs::read(directory.join(COVERS)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Returns true for a directory that only this user could have filled.
#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    /// Creates the directory of a killed process: everything but a held lock.
    fn stale_directory(parent: &Path, name: &str, covers: &[PathBuf]) -> PathBuf {
        let path = parent.join(format!("{PREFIX}{name}"));
        fs::create_dir_all(path.join("own")).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        fs::write(path.join(LOCK), "").unwrap();
        fs::write(path.join(COVERS), serde_json::to_vec(covers).unwrap()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    #[test]
    fn a_new_directory_removes_stale_ones_and_their_covers() {
        let parent = tempfile::tempdir().unwrap();
        let workspace = parent.path().join("ws");
        for name in [".git", ".pi/mine", ".agents", "empty"] {
            fs::create_dir_all(workspace.join(name)).unwrap();
        }
        let covers = [".git", ".pi", ".gone", "empty"].map(|name| workspace.join(name));
        let left = stale_directory(parent.path(), "a", &covers[..3]);
        let other = stale_directory(parent.path(), "b", &[]);
        fs::create_dir(parent.path().join("pi-sandbox-unknown")).unwrap();
        let first = SandboxDirectory::new(parent.path()).unwrap();
        assert_eq!(fs::metadata(first.path()).unwrap().mode() & 0o777, 0o700);
        assert!(!left.exists() && !other.exists());
        assert!(parent.path().join("pi-sandbox-unknown").exists());
        assert!(!workspace.join(".git").exists());
        // Not recorded, or not empty.
        assert!(workspace.join(".agents").exists() && workspace.join(".pi/mine").exists());
        // Only names that covers have are removed, even if a record lists others.
        stale_directory(parent.path(), "c", &covers[3..]);
        let second = SandboxDirectory::new(parent.path()).unwrap();
        assert!(workspace.join("empty").exists());
        // Directories in use are left alone.
        assert!(first.temporary().is_dir() && second.private().is_dir());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists() && second.private().is_dir());
    }

    #[test]
    fn a_cover_is_removed_with_the_last_directory() {
        let parent = tempfile::tempdir().unwrap();
        let cover = parent.path().join(".pi");
        let first = SandboxDirectory::new(parent.path()).unwrap();
        let second = SandboxDirectory::new(parent.path()).unwrap();
        first.record_covers(std::slice::from_ref(&cover)).unwrap();
        fs::create_dir(&cover).unwrap();
        let record = first.path().join(COVERS);
        // No other directory records the cover.
        drop(first);
        assert!(!record.exists() && !cover.exists());
        drop(second);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
