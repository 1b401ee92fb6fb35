//! The session files below a directory, with their metadata.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{DirEntry, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::record::Stat;
use crate::SessionError;

/// Returns the `.jsonl` files in `root` and in the directories directly below it, by their path
/// below `root`. A directory that does not exist is empty; one that cannot be read is a problem.
pub(super) fn walk(root: &Path, problems: &mut Vec<SessionError>) -> HashMap<OsString, Stat> {
    let mut files = HashMap::new();
    let mut directories = Vec::new();
    for (name, metadata) in entries(root, problems) {
        if metadata.is_dir() {
            directories.push(name);
        } else {
            add_session_file(name, &metadata, &mut files);
        }
    }
    for directory in directories {
        for (name, metadata) in entries(&root.join(&directory), problems) {
            add_session_file(directory.join(name), &metadata, &mut files);
        }
    }
    files
}

fn add_session_file(path: PathBuf, metadata: &Metadata, files: &mut HashMap<OsString, Stat>) {
    if metadata.is_file() && path.extension().is_some_and(|extension| extension == "jsonl") {
        files.insert(path.into_os_string(), Stat::new(metadata));
    }
}

fn entries(directory: &Path, problems: &mut Vec<SessionError>) -> Vec<(PathBuf, Metadata)> {
    match std::fs::read_dir(directory) {
        // Files that were deleted in the meantime and dangling links are skipped.
        Ok(entries) => entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some((PathBuf::from(entry.file_name()), metadata(&entry)?))
            })
            .collect(),
        Err(error) => {
            if error.kind() != ErrorKind::NotFound {
                problems.push(SessionError::io("list", directory)(error));
            }
            Vec::new()
        }
    }
}

/// Returns the metadata of an entry, or of the target of a link.
fn metadata(entry: &DirEntry) -> Option<Metadata> {
    let metadata = entry.metadata().ok()?;
    if metadata.is_symlink() { std::fs::metadata(entry.path()).ok() } else { Some(metadata) }
}
