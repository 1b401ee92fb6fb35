//! The session files below a directory, with what the file system says about them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{DirEntry, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::record::Stat;
use crate::SessionError;

/// The `.jsonl` files in `root` and in the directories directly below it, by their path from
/// there. A directory that does not exist has none; one that cannot be read is a problem.
pub(super) fn walk(root: &Path, problems: &mut Vec<SessionError>) -> HashMap<OsString, Stat> {
    let mut files = HashMap::new();
    let mut directories = Vec::new();
    for (name, metadata) in entries(root, problems) {
        if metadata.is_dir() {
            directories.push(name);
        } else {
            take(name, &metadata, &mut files);
        }
    }
    for directory in directories {
        for (name, metadata) in entries(&root.join(&directory), problems) {
            take(directory.join(name), &metadata, &mut files);
        }
    }
    files
}

fn take(path: PathBuf, metadata: &Metadata, files: &mut HashMap<OsString, Stat>) {
    if metadata.is_file() && path.extension().is_some_and(|extension| extension == "jsonl") {
        files.insert(path.into_os_string(), Stat::new(metadata));
    }
}

fn entries(directory: &Path, problems: &mut Vec<SessionError>) -> Vec<(PathBuf, Metadata)> {
    match std::fs::read_dir(directory) {
        // What vanishes meanwhile, or is a link to nowhere, is not there.
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

/// What is known about an entry, or about what it links to.
fn metadata(entry: &DirEntry) -> Option<Metadata> {
    let metadata = entry.metadata().ok()?;
    if metadata.is_symlink() { std::fs::metadata(entry.path()).ok() } else { Some(metadata) }
}
