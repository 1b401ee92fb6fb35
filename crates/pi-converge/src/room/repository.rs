//! The repository at the start of a run: its branches, its index and its configuration.
//!
//! A room gets this state, because a command can take a file out of the index, add an exclusion or
//! move a branch without any change of a file that the run would report.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::git::{COPIED, SETTINGS, copy};
use super::index;

/// The stored state.
#[derive(Debug, Clone)]
pub(crate) struct StartRepository {
    directory: PathBuf,
}

impl StartRepository {
    /// Stores the state of a repository in a directory, unless an interrupted run has stored it.
    pub(crate) fn record(repository: &Path, directory: PathBuf) -> io::Result<Self> {
        if !directory.is_dir() && repository.is_dir() {
            let new = directory.with_extension("new");
            crate::workspace::remove_all(&new)?;
            fs::create_dir_all(&new)?;
            for name in COPIED.iter().chain(SETTINGS) {
                copy(&repository.join(name), &new.join(name))?;
            }
            fs::rename(&new, &directory)?;
        }
        Ok(Self { directory })
    }

    /// Returns the directory with the stored files.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns true if branches, HEAD or the entries of the index are not those of the start.
    pub(crate) fn differs_from(&self, repository: &Path) -> io::Result<bool> {
        if !self.directory.is_dir() || !repository.is_dir() {
            return Ok(false);
        }
        Ok(state(&self.directory)? != state(repository)?)
    }
}

/// Returns the content of all files with the state, without what a mere look at the repository
/// changes.
fn state(repository: &Path) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut pending: Vec<PathBuf> = COPIED.iter().map(PathBuf::from).collect();
    while let Some(path) = pending.pop() {
        let full = repository.join(&path);
        let Ok(metadata) = fs::symlink_metadata(&full) else { continue };
        if metadata.is_dir() {
            for entry in fs::read_dir(&full)? {
                pending.push(path.join(entry?.file_name()));
            }
        } else if metadata.is_file() {
            let content = fs::read(&full)?;
            let is_index = path == Path::new("index");
            files.insert(path, if is_index { index::entries(content) } else { content });
        }
    }
    Ok(files)
}
