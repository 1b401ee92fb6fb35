//! The files with long output of one session.
//!
//! They are removed with the session. A killed program leaves them behind: a lock file shows that
//! they are in use, and the next session that saves output removes those whose lock is free.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_base::lock;

const PREFIX: &str = "pi-bash-";
const LOCK: &str = ".lock";
pub(crate) const LOG: &str = ".log";

/// The files of one session. Clones share them; the end of the session or the last clone removes
/// them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SavedOutput(Arc<Mutex<Option<Files>>>);

#[derive(Debug)]
struct Files {
    directory: PathBuf,
    /// The beginning of the names of all files.
    prefix: String,
    _lock: File,
    lock_path: PathBuf,
    saved: Vec<PathBuf>,
}

impl SavedOutput {
    /// Creates a file for output, which only the user can read. Its name ends with `suffix`.
    pub(crate) fn create(&self, directory: &Path, suffix: &str) -> io::Result<(File, PathBuf)> {
        let mut files = lock(&self.0);
        let files = match &mut *files {
            Some(files) if files.directory == directory => files,
            none => none.insert(Files::new(directory)?),
        };
        let mut new = tempfile::Builder::new();
        let new = new.prefix(&files.prefix).suffix(suffix).tempfile_in(directory)?.keep()?;
        files.saved.push(new.1.clone());
        Ok(new)
    }

    /// Removes all files.
    pub(crate) fn remove(&self) {
        let files = lock(&self.0).take();
        drop(files);
    }
}

impl Files {
    fn new(directory: &Path) -> io::Result<Self> {
        let mut lock = tempfile::Builder::new();
        let lock = lock.prefix(PREFIX).suffix(".new").tempfile_in(directory)?;
        lock.as_file().try_lock().map_err(io::Error::from)?;
        // Named after it is locked, so that no other process sees it without the lock.
        let lock_path = lock.path().with_extension("lock");
        let file = lock.persist_noclobber(&lock_path).map_err(io::Error::from)?;
        let prefix = format!("{}-", lock_path.file_stem().unwrap_or_default().display());
        let directory = directory.to_owned();
        remove_stale(&directory, &lock_path);
        Ok(Self { directory, prefix, _lock: file, lock_path, saved: Vec::new() })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in self.saved.iter().chain([&self.lock_path]) {
            // The user may have removed it.
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes the files of sessions whose program was killed.
fn remove_stale(directory: &Path, own: &Path) {
    let names = || {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    };
    for lock in names().filter(|name| name.starts_with(PREFIX) && name.ends_with(LOCK)) {
        let path = directory.join(&lock);
        if path == own || !has_same_owner(&path, own) {
            continue;
        }
        let Ok(file) = OpenOptions::new().write(true).open(&path) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        let prefix = format!("{}-", lock.trim_end_matches(LOCK));
        for name in names().filter(|name| name.starts_with(&prefix)) {
            let _ = fs::remove_file(directory.join(name));
        }
        let _ = fs::remove_file(path);
    }
}

/// Returns true for a file of the owner of another one. The directory is shared by all users.
fn has_same_owner(path: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let owner = |path: &Path| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        match (owner(path), owner(other)) {
            (Some(a), Some(b)) => a.uid() == b.uid(),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = other;
        path.is_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn files_are_removed_with_the_session_or_by_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let session = SavedOutput::default();
        let other = SavedOutput::default();
        let (_, path) = session.create(directory, LOG).unwrap();
        let clone = session.clone();
        clone.create(directory, LOG).unwrap();
        drop(clone);
        let (_, others) = other.create(directory, LOG).unwrap();
        assert!(path.exists() && others.exists());
        assert_eq!(names(directory), 5);
        // The session ends while something still holds its settings.
        session.remove();
        assert!(!path.exists() && others.exists());
        assert_eq!(names(directory), 2);
        let (_, path) = session.create(directory, LOG).unwrap();
        drop(session);
        assert!(!path.exists() && others.exists());

        // A session that was killed, a file of another program, and a session that still runs.
        fs::write(directory.join("pi-bash-gone.lock"), "").unwrap();
        fs::write(directory.join("pi-bash-gone-1.log"), "x").unwrap();
        fs::write(directory.join("pi-bash-other.log"), "x").unwrap();
        let next = SavedOutput::default();
        next.create(directory, LOG).unwrap();
        assert!(!directory.join("pi-bash-gone-1.log").exists());
        assert!(directory.join("pi-bash-other.log").exists() && others.exists());
        drop((other, next));
        assert_eq!(names(directory), 1);
    }
}
