//! The files of a room before its commands run, compared with those afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::Path;

use pi_tools::checkpoint::covered;

use super::baseline::is_cache;
use super::inputs::{is_source, is_test};

/// The identities of the files of a room, without ignored ones.
#[derive(Debug)]
pub(super) struct RoomFiles(BTreeMap<String, Option<Identity>>);

/// Inode, size and time of the last change.
type Identity = (u64, u64, i64, i64);

impl RoomFiles {
    /// Lists the files of a room.
    pub(super) fn of(room: &Path) -> Self {
        Self(covered(room).map(|path| (path.clone(), identity(&room.join(path)))).collect())
    }

    /// Returns the files that commands changed, and new tests that they wrote. Caches do not count.
    pub(super) fn written(&self, room: &Path) -> BTreeSet<String> {
        let mut written = BTreeSet::new();
        for (path, before) in &self.0 {
            if before.is_some() && identity(&room.join(path)) != *before {
                written.insert(path.clone());
            }
        }
        let is_new_test = |path: &String| {
            is_test(path) && is_source(path) && !is_cache(path) && !self.0.contains_key(path)
        };
        written.extend(covered(room).filter(is_new_test));
        written
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let found = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    let (inode, seconds, nanoseconds) = change(&found);
    Some((inode, found.len(), seconds, nanoseconds))
}

#[cfg(unix)]
fn change(found: &Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (found.ino(), found.mtime(), found.mtime_nsec())
}

#[cfg(not(unix))]
fn change(_: &Metadata) -> (u64, i64, i64) {
    (0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_and_new_tests_are_found() {
        let room = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = room.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("calc.py", "");
        put("tests/test_a.py", "");
        put("tests/test_b.py", "");
        let files = RoomFiles::of(room.path());
        assert_eq!(files.written(room.path()), BTreeSet::new());
        put("tests/test_b.py", "pass");
        put("tests/conftest.py", "");
        put("tests/__pycache__/test_a.pyc", "");
        put("result.txt", "");
        std::fs::remove_file(room.path().join("tests/test_a.py")).unwrap();
        let written = ["tests/conftest.py", "tests/test_a.py", "tests/test_b.py"];
        assert_eq!(files.written(room.path()), written.map(str::to_owned).into());
    }
}
