//! Changes of an installation that are made completely or not at all.
//!
//! New directories and files are prepared in a staging directory. Then the journal is written: from
//! that moment on the change counts as made. If the process ends while it moves the directories,
//! the next operation completes the moves. Before that moment the old state is untouched.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use pi_fs::if_exists;
use serde::{Deserialize, Serialize};

use crate::PackageError;

const JOURNAL: &str = ".pi-journal.json";
const STAGING: &str = ".pi-staging-";

/// The moves of a change. All paths are relative to the root.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Journal {
    staging: PathBuf,
    /// Places that are removed.
    removed: Vec<PathBuf>,
    /// Pairs of a path in the staging directory and its final place.
    moved: Vec<(PathBuf, PathBuf)>,
}

/// A change that is being prepared. Dropping it removes what was prepared.
#[derive(Debug)]
pub(crate) struct Staging {
    root: PathBuf,
    directory: tempfile::TempDir,
    journal: Journal,
}

impl Staging {
    /// Begins a change in `root`.
    pub(crate) fn new(root: &Path) -> Result<Self, PackageError> {
        let directory = tempfile::Builder::new().prefix(STAGING).tempdir_in(root);
        let directory = directory.map_err(PackageError::file(root))?;
        let name = directory.path().file_name().map(PathBuf::from).unwrap_or_default();
        let journal = Journal { staging: name, ..Journal::default() };
        Ok(Self { root: root.to_owned(), directory, journal })
    }

    /// Returns a path in the staging directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Adds the removal of a place.
    pub(crate) fn remove(&mut self, place: &str) {
        self.journal.removed.push(PathBuf::from(place));
    }

    /// Adds the move of a prepared file or directory to its place.
    pub(crate) fn place(&mut self, name: &str, place: &str) {
        let from = self.journal.staging.join(name);
        self.journal.moved.push((from, PathBuf::from(place)));
    }

    /// Prepares a file and adds its move.
    pub(crate) fn write(
        &mut self,
        name: &str,
        place: &str,
        text: &str,
    ) -> Result<(), PackageError> {
        let path = self.path(name);
        write_synced(&path, text.as_bytes()).map_err(PackageError::file(&path))?;
        self.place(name, place);
        Ok(())
    }

    /// Makes the change.
    pub(crate) fn commit(self) -> Result<(), PackageError> {
        let text = serde_json::to_vec_pretty(&self.journal).map_err(io::Error::from);
        let prepared = self.path("journal");
        let written = text.and_then(|text| write_synced(&prepared, &text));
        written.map_err(PackageError::file(&prepared))?;
        let path = self.root.join(JOURNAL);
        fs::rename(&prepared, &path).map_err(PackageError::file(&path))?;
        // The journal owns the staging directory from now on.
        let _ = self.directory.keep();
        recover(&self.root)
    }
}

/// Returns true if a change was interrupted.
pub(crate) fn is_interrupted(root: &Path) -> bool {
    root.join(JOURNAL).exists()
}

/// Completes a change that was interrupted, and removes what others left behind. The caller holds
/// the lock of the root.
pub(crate) fn recover(root: &Path) -> Result<(), PackageError> {
    let path = root.join(JOURNAL);
    if let Some(bytes) = if_exists(fs::read(&path)).map_err(PackageError::file(&path))? {
        let damaged = |problem: String| PackageError::Damaged { path: path.clone(), problem };
        let journal: Journal =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if !journal.is_inside() {
            return Err(damaged("it names paths outside of the installation".to_owned()));
        }
        journal.apply(root)?;
        fs::remove_file(&path).map_err(PackageError::file(&path))?;
    }
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(STAGING) {
            // A directory that cannot be removed does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

impl Journal {
    fn is_inside(&self) -> bool {
        let is_inside = |path: &PathBuf| {
            let mut parts = path.components();
            parts.clone().next().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        let moved = self.moved.iter().flat_map(|(from, to)| [from, to]);
        moved.chain(&self.removed).chain([&self.staging]).all(is_inside)
    }

    /// Makes the moves that were not made yet.
    fn apply(&self, root: &Path) -> Result<(), PackageError> {
        let staging = root.join(&self.staging);
        let mut aside = 0;
        let mut put_aside = |path: &Path| -> Result<(), PackageError> {
            if path.symlink_metadata().is_err() {
                return Ok(());
            }
            fs::create_dir_all(&staging).map_err(PackageError::file(&staging))?;
            loop {
                let old = staging.join(format!("old-{aside}"));
                aside += 1;
                // An interrupted run may have used the name.
                if old.symlink_metadata().is_err() {
                    return fs::rename(path, &old).map_err(PackageError::file(path));
                }
            }
        };
        for place in &self.removed {
            put_aside(&root.join(place))?;
        }
        for (from, to) in &self.moved {
            let (from, to) = (root.join(from), root.join(to));
            if from.symlink_metadata().is_err() {
                continue;
            }
            put_aside(&to)?;
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(PackageError::file(parent))?;
            }
            fs::rename(&from, &to).map_err(PackageError::file(&to))?;
        }
        Ok(())
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staged(root: &Path) -> Staging {
        let mut staging = Staging::new(root).unwrap();
        fs::create_dir(staging.path("0")).unwrap();
        fs::write(staging.path("0").join("x"), "new").unwrap();
        staging.place("0", "node_modules/a");
        staging.write("lock", "package-lock.json", "new").unwrap();
        staging.remove("node_modules/gone");
        staging
    }

    fn old_state(root: &Path) {
        for (path, text) in [("node_modules/a/x", "old"), ("node_modules/gone/x", "old")] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        fs::write(root.join("package-lock.json"), "old").unwrap();
    }

    fn state(root: &Path) -> (String, String, bool, Vec<String>) {
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let mut hidden: Vec<String> = fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with('.'))
            .collect();
        hidden.sort();
        let gone = root.join("node_modules/gone").exists();
        (read("node_modules/a/x"), read("package-lock.json"), gone, hidden)
    }

    #[test]
    fn a_change_that_was_not_committed_leaves_the_old_state() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        old_state(root);
        let staging = staged(root);
        // The process ends: nothing is dropped.
        std::mem::forget(staging);
        assert!(!is_interrupted(root));
        recover(root).unwrap();
        assert_eq!(state(root), ("old".to_owned(), "old".to_owned(), true, vec![]));
        drop(staged(root));
        assert_eq!(state(root), ("old".to_owned(), "old".to_owned(), true, vec![]));
    }

    #[test]
    fn an_interrupted_change_is_completed_from_every_step() {
        // The steps of `apply`, in its order; the process ends after each of them.
        for steps in 0..=4 {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path();
            old_state(root);
            let staging = staged(root);
            let path = root.join(&staging.journal.staging);
            let text = serde_json::to_vec(&staging.journal).unwrap();
            fs::write(root.join(JOURNAL), text).unwrap();
            std::mem::forget(staging);
            let moves = [
                (root.join("node_modules/gone"), path.join("old-0")),
                (root.join("node_modules/a"), path.join("old-1")),
                (path.join("0"), root.join("node_modules/a")),
                (root.join("package-lock.json"), path.join("old-2")),
            ];
            for (from, to) in &moves[..steps] {
                fs::rename(from, to).unwrap();
            }
            assert!(is_interrupted(root));
            recover(root).unwrap();
            let expected = ("new".to_owned(), "new".to_owned(), false, vec![]);
            assert_eq!(state(root), expected, "after {steps} steps");
        }
    }

    #[test]
    fn a_journal_stays_inside() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(directory.path().join("victim"), "x").unwrap();
        for path in ["../victim", "/etc", "", "a/../../victim"] {
            let journal = Journal {
                staging: PathBuf::from("s"),
                removed: vec![PathBuf::from(path)],
                moved: Vec::new(),
            };
            fs::write(root.join(JOURNAL), serde_json::to_vec(&journal).unwrap()).unwrap();
            assert!(matches!(recover(&root), Err(PackageError::Damaged { .. })), "{path}");
        }
        assert!(directory.path().join("victim").exists());
    }
}
