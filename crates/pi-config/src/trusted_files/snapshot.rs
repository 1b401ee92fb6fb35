//! The content of a file at one moment, behind the links that lead to it.

use std::fs;
use std::path::{Path, PathBuf};

/// Largest file whose content is kept. Of a larger one, size and times stand for the content.
const MOST_KEPT: u64 = 1 << 20;

/// A file at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    path: PathBuf,
    /// The path without links; `None` if there is no such file.
    real: Option<PathBuf>,
    content: Content,
}

#[derive(Debug, PartialEq, Eq)]
enum Content {
    Missing,
    Bytes(Vec<u8>),
    /// Identity, size and time of the last change, which only the system sets.
    Large([u64; 5]),
}

impl Snapshot {
    /// Reads a file.
    pub(super) fn take(path: &Path) -> Self {
        let real = fs::canonicalize(path).ok();
        let content = real.as_deref().and_then(read).unwrap_or(Content::Missing);
        Self { path: path.to_owned(), real, content }
    }

    /// Returns true if the path leads to the same file with the same content.
    pub(super) fn is_current(&self) -> bool {
        *self == Self::take(&self.path)
    }

    /// Returns the path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn read(path: &Path) -> Option<Content> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    if found.len() <= MOST_KEPT {
        return fs::read(path).ok().map(Content::Bytes);
    }
    Some(Content::Large(identity(&found)))
}

#[cfg(unix)]
fn identity(found: &fs::Metadata) -> [u64; 5] {
    use std::os::unix::fs::MetadataExt as _;
    let (seconds, rest) = (found.ctime().unsigned_abs(), found.ctime_nsec().unsigned_abs());
    [found.dev(), found.ino(), found.len(), seconds, rest]
}

#[cfg(not(unix))]
fn identity(found: &fs::Metadata) -> [u64; 5] {
    let time = found.modified().ok().and_then(|time| time.elapsed().ok());
    [0, 0, found.len(), time.map_or(0, |time| time.as_secs()), 0]
}
