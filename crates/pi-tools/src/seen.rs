//! The files that the model has seen, to detect changes by other programs.
//!
//! Content is recorded as its length and a hash. Times are not compared: they are too coarse to
//! prove that a file is unchanged, and a file that was only touched has not changed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pi_base::lock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of recorded files; the one seen longest ago is dropped first.
const CAPACITY: usize = 4096;

/// The policy for changing a file that another program has changed since the model saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChangedFilePolicy {
    /// The file is changed, and the result mentions the other change.
    #[default]
    #[serde(rename = "warn")]
    Note,
    /// The call fails, and the model must read the file again.
    Refuse,
}

/// A fingerprint of the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) size: u64,
    hash: u64,
}

impl Fingerprint {
    /// Returns the fingerprint of an unknown content, which only has a size.
    pub(crate) fn of_size(size: u64) -> Self {
        Self { size, hash: 0 }
    }

    pub(crate) fn of(content: &[u8]) -> Self {
        let mut parts = Fingerprinting::default();
        parts.add(content);
        parts.finish()
    }
}

/// The fingerprint of a content that arrives in parts.
#[derive(Debug, Default)]
pub(crate) struct Fingerprinting {
    size: u64,
    hasher: DefaultHasher,
}

impl Fingerprinting {
    pub(crate) fn add(&mut self, content: &[u8]) {
        self.size += content.len() as u64;
        self.hasher.write(content);
    }

    pub(crate) fn finish(self) -> Fingerprint {
        Fingerprint { size: self.size, hash: self.hasher.finish() }
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
    /// Records that the model knows this content.
    pub(crate) fn record(&self, path: PathBuf, content: Fingerprint) {
        let mut table = lock(&self.0);
        table.clock += 1;
        let now = table.clock;
        table.files.insert(path, (content, now));
        if table.files.len() > CAPACITY {
            let oldest = table.files.iter().min_by_key(|(_, (_, when))| *when);
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                table.files.remove(&oldest);
            }
        }
    }

    /// Returns the content that the model knows.
    pub(crate) fn get(&self, path: &Path) -> Option<Fingerprint> {
        let table = lock(&self.0);
        table.files.get(path).map(|(content, _)| *content)
    }

    /// Records that the model knows the file to be gone.
    pub(crate) fn forget(&self, path: &Path) {
        lock(&self.0).files.remove(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_file_is_dropped_first() {
        let seen = Seen::default();
        for number in 0..=CAPACITY {
            seen.record(PathBuf::from(number.to_string()), Fingerprint::of(b"x"));
            // Recorded again each time, so never the oldest.
            seen.record(PathBuf::from("0"), Fingerprint::of(b"y"));
        }
        assert_eq!(seen.get(Path::new("0")), Some(Fingerprint::of(b"y")));
        assert_eq!(seen.get(Path::new("1")), None);
        assert_eq!(seen.get(Path::new("2")), Some(Fingerprint::of(b"x")));
    }
}
