//! The contents of the workspace, as hashes.
//!
//! Ignored files are left out: a build writes them anew each time. Files that a call declares to
//! write are always included. A large workspace is not scanned; there, only declared files count.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::FileChange;

/// The largest number of files that is scanned after each turn.
const MOST_FILES: usize = 20_000;
/// The size from which a file is identified by its metadata.
const MOST_BYTES: u64 = 1 << 20;

/// The files of a workspace as they were last seen.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    known: HashMap<PathBuf, Known>,
    is_scanned: bool,
}

/// A file that a call declares to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) path: PathBuf,
    pub(super) arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    size: u64,
    modified: Option<SystemTime>,
    hash: String,
}

impl Files {
    /// Reads the files below a directory.
    pub(super) fn read(root: &Path) -> Self {
        let mut files = Self { root: root.to_owned(), known: HashMap::new(), is_scanned: true };
        match files.list() {
            Some(paths) => paths.into_iter().for_each(|path| drop(files.update(path))),
            None => files.is_scanned = false,
        }
        files
    }

    /// Returns the changes since the files were last read. `written` are files that calls declared.
    /// Those that do not exist here are on another machine; there, the arguments are the content.
    pub(super) fn changes(&mut self, written: &[Written]) -> Vec<FileChange> {
        let mut paths = if self.is_scanned { self.list().unwrap_or_default() } else { Vec::new() };
        if self.is_scanned {
            paths.extend(self.known.keys().cloned());
        }
        let (here, elsewhere): (Vec<_>, Vec<_>) = written.iter().partition(|file| {
            let path = self.root.join(&file.path);
            path.exists() || self.known.contains_key(&path)
        });
        paths.extend(here.into_iter().map(|file| self.root.join(&file.path)));
        paths.sort();
        paths.dedup();
        let mut changes: Vec<FileChange> =
            paths.into_iter().filter_map(|path| self.update(path)).collect();
        changes.extend(elsewhere.into_iter().map(|file| FileChange {
            path: file.path.to_string_lossy().into_owned(),
            before: None,
            after: Some(format!("{:x}", Sha256::digest(&file.arguments))),
        }));
        changes
    }

    /// Returns the files of the workspace; `None` if there are too many.
    fn list(&self) -> Option<Vec<PathBuf>> {
        let mut walk = ignore::WalkBuilder::new(&self.root);
        walk.hidden(false).require_git(false).filter_entry(|entry| entry.file_name() != ".git");
        let files = walk
            .build()
            .flatten()
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let files: Vec<PathBuf> =
            files.map(ignore::DirEntry::into_path).take(MOST_FILES + 1).collect();
        if files.len() > MOST_FILES { None } else { Some(files) }
    }

    /// Reads a file again if its metadata changed. Returns the change of its content.
    fn update(&mut self, path: PathBuf) -> Option<FileChange> {
        let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file);
        let now = metadata.map(|metadata| (metadata.len(), metadata.modified().ok()));
        let before = self.known.get(&path);
        if now == before.map(|known| (known.size, known.modified)) {
            return None;
        }
        let before = before.map(|known| known.hash.clone());
        let after = now.map(|(size, modified)| Known { size, modified, hash: hash(&path, size) });
        let hash = after.as_ref().map(|known| known.hash.clone());
        let name = path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().into_owned();
        match after {
            Some(known) => drop(self.known.insert(path, known)),
            None => drop(self.known.remove(&path)),
        }
        (before != hash).then_some(FileChange { path: name, before, after: hash })
    }
}

/// Returns the hash of a file's content; of a large file, something that changes with each write.
fn hash(path: &Path, size: u64) -> String {
    let content = if size <= MOST_BYTES { fs::read(path).ok() } else { None };
    match content {
        Some(content) => format!("{:x}", Sha256::digest(content)),
        None => format!("{size} {:?}", SystemTime::now()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_count_and_not_time_stamps() {
        let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let root = directory.path();
        let write = |name: &str, text: &str| {
            fs::write(root.join(name), text).unwrap_or_else(|error| panic!("{error}"));
        };
        write("a", "one");
        write(".gitignore", "build\n");
        let mut files = Files::read(root);
        let names = |changes: Vec<FileChange>| -> Vec<String> {
            changes.into_iter().map(|change| change.path).collect()
        };
        assert!(files.changes(&[]).is_empty());
        write("a", "three");
        write("b", "new");
        write("build", "output");
        assert_eq!(names(files.changes(&[])), ["a", "b"]);
        let written = |path: &str| [Written { path: path.into(), arguments: path.to_owned() }];
        assert_eq!(names(files.changes(&written("build"))), ["build"]);
        assert_eq!(names(files.changes(&written("elsewhere"))), ["elsewhere"]);
        write("a", "three");
        assert!(files.changes(&[]).is_empty(), "the content is the same");
        write("a", "one");
        let back = files.changes(&[]).pop().map(|change| (change.before, change.after));
        assert!(back.is_some_and(|(before, after)| before != after));
        fs::remove_file(root.join("b")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(names(files.changes(&[])), ["b"]);
    }
}
