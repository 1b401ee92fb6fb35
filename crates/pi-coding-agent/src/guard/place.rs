//! The directory of a sandbox: temporary files of its commands, and what only this program uses.
//!
//! Whoever is killed leaves it behind, and in the workspace the empty directories that covers
//! need. So each is locked for as long as it is used and says what may be left; who comes later
//! and finds one that nobody holds takes all of that away.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use pi_guard::confine::remove_stale_covers;
use tempfile::TempDir;

const PREFIX: &str = "pi-sandbox-";
const LOCK: &str = "own/lock";
const COVERS: &str = "own/covers.json";

/// A directory that is this session's.
pub(super) struct Place {
    directory: Option<TempDir>,
    above: PathBuf,
    lock: File,
}

impl Place {
    /// Makes one below `above`, and takes away those that nobody uses any more.
    pub(super) fn new(above: &Path) -> io::Result<Self> {
        let mut directory = tempfile::Builder::new();
        directory.prefix(PREFIX);
        #[cfg(unix)]
        directory.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let directory = directory.tempdir_in(above)?;
        fs::create_dir(directory.path().join("tmp"))?;
        fs::create_dir(directory.path().join("own"))?;
        // Locked before it can be found.
        let new = directory.path().join("own/new");
        let lock = File::create(&new)?;
        lock.try_lock().map_err(io::Error::from)?;
        fs::rename(new, directory.path().join(LOCK))?;
        let place = Self { directory: Some(directory), above: above.to_owned(), lock };
        sweep(above, place.path());
        Ok(place)
    }

    /// The whole of it.
    pub(super) fn path(&self) -> &Path {
        self.directory.as_ref().map_or(&self.above, TempDir::path)
    }

    /// For commands.
    pub(super) fn temporary(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// For this program.
    pub(super) fn own(&self) -> PathBuf {
        self.path().join("own")
    }

    /// Notes what may be left behind.
    pub(super) fn note(&self, covers: &[PathBuf]) -> io::Result<()> {
        fs::write(self.path().join(COVERS), serde_json::to_vec(covers)?)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(directory) = self.directory.take() else { return };
        // Another session still needs what this one made: it will take it away.
        if noted(directory.path()).iter().any(|cover| cover.is_dir()) {
            let kept = directory.keep();
            let _ = fs::remove_dir_all(kept.join("tmp"));
        } else {
            drop(directory);
        }
        let _ = self.lock.unlock();
        sweep(&self.above, Path::new(""));
    }
}

/// Takes away what nobody holds. What cannot be taken away stays for the next.
fn sweep(above: &Path, own: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && path != own && is_ours(&path)
        {
            let _ = take_away(&path);
        }
    }
}

fn take_away(directory: &Path) -> io::Result<()> {
    let lock = OpenOptions::new().write(true).open(directory.join(LOCK))?;
    lock.try_lock().map_err(io::Error::from)?;
    let covers = noted(directory);
    remove_stale_covers(&covers);
    let in_use =
        |cover: &PathBuf| fs::read_dir(cover).is_ok_and(|mut inside| inside.next().is_none());
    if covers.iter().any(in_use) { Ok(()) } else { fs::remove_dir_all(directory) }
}

fn noted(directory: &Path) -> Vec<PathBuf> {
    let text = fs::read(directory.join(COVERS)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Whether it is a directory that only this user could have filled.
#[cfg(unix)]
fn is_ours(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_ours(_: &Path) -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    /// What somebody who was killed leaves: everything but the lock.
    fn killed(above: &Path, name: &str, covers: &[PathBuf]) -> PathBuf {
        let path = above.join(format!("{PREFIX}{name}"));
        fs::create_dir_all(path.join("own")).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        fs::write(path.join(LOCK), "").unwrap();
        fs::write(path.join(COVERS), serde_json::to_vec(covers).unwrap()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    #[test]
    fn what_the_killed_leave_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("ws");
        for name in [".git", ".pi/mine", ".agents", "empty"] {
            fs::create_dir_all(workspace.join(name)).unwrap();
        }
        let covers = [".git", ".pi", ".gone", "empty"].map(|name| workspace.join(name));
        let left = killed(folder.path(), "a", &covers[..3]);
        let other = killed(folder.path(), "b", &[]);
        fs::create_dir(folder.path().join("pi-sandbox-unknown")).unwrap();
        let place = Place::new(folder.path()).unwrap();
        assert_eq!(fs::metadata(place.path()).unwrap().mode() & 0o777, 0o700);
        assert!(!left.exists() && !other.exists());
        assert!(folder.path().join("pi-sandbox-unknown").exists());
        assert!(!workspace.join(".git").exists());
        // Not noted, or with something in it.
        assert!(workspace.join(".agents").exists() && workspace.join(".pi/mine").exists());
        // Only what covers stand for, whatever a note says.
        killed(folder.path(), "c", &covers[3..]);
        let second = Place::new(folder.path()).unwrap();
        assert!(workspace.join("empty").exists());
        // Who lives is left alone.
        assert!(place.temporary().is_dir() && second.own().is_dir());
        let path = place.path().to_owned();
        drop(place);
        assert!(!path.exists() && second.own().is_dir());
    }

    #[test]
    fn what_another_still_needs_goes_with_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let cover = folder.path().join(".pi");
        let (first, second) =
            (Place::new(folder.path()).unwrap(), Place::new(folder.path()).unwrap());
        first.note(std::slice::from_ref(&cover)).unwrap();
        fs::create_dir(&cover).unwrap();
        let record = first.path().join(COVERS);
        // Its own drop finds nobody who uses it.
        drop(first);
        assert!(!record.exists() && !cover.exists());
        drop(second);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
