//! What the model has seen of files, to notice when somebody else changed them since.
//!
//! Content is remembered as its length and a hash. Times are not compared: they are too coarse to
//! show that nothing happened, and a file that was only touched has not changed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Files that are remembered; the one seen longest ago is forgotten first.
const MOST: usize = 4096;

/// What happens to a file that changed since the model saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChangedFilePolicy {
    /// It is changed again, and the result says so.
    #[default]
    Note,
    /// It is left alone, and the model has to read it first.
    Refuse,
}

/// The content of a file, as far as it is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) size: u64,
    hash: u64,
}

impl Fingerprint {
    pub(crate) fn of(content: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(content);
        Self { size: content.len() as u64, hash: hasher.finish() }
    }
}

/// The last seen content of files, by their real paths.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    files: HashMap<PathBuf, (Fingerprint, u64)>,
    clock: u64,
}

impl Seen {
    /// The model knows this content.
    pub(crate) fn record(&self, path: PathBuf, content: Fingerprint) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.clock += 1;
        let now = table.clock;
        table.files.insert(path, (content, now));
        if table.files.len() > MOST {
            let oldest = table.files.iter().min_by_key(|(_, (_, when))| *when);
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                table.files.remove(&oldest);
            }
        }
    }

    /// What the model knows of a file.
    pub(crate) fn get(&self, path: &Path) -> Option<Fingerprint> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.files.get(path).map(|(content, _)| *content)
    }

    /// The model knows that there is no such file.
    pub(crate) fn forget(&self, path: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).files.remove(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let seen = Seen::default();
        for number in 0..=MOST {
            seen.record(PathBuf::from(number.to_string()), Fingerprint::of(b"x"));
            // Looked at again and again, so never the oldest.
            seen.record(PathBuf::from("0"), Fingerprint::of(b"y"));
        }
        assert_eq!(seen.get(Path::new("0")), Some(Fingerprint::of(b"y")));
        assert_eq!(seen.get(Path::new("1")), None);
        assert_eq!(seen.get(Path::new("2")), Some(Fingerprint::of(b"x")));
    }
}
