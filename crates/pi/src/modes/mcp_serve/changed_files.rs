//! The files that a run changed, from the checkpoints of its session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pi_config::checkpoints::checkpoint_directory;
use pi_tools::checkpoint::{Checkpoints, Limits};
use serde_json::{Value, json};

/// The most files of a report.
const FILES: usize = 1_000;

/// The checkpoints of a session, as they were before a run.
pub(super) struct Before {
    store: PathBuf,
    root: PathBuf,
    /// Number of the latest checkpoint.
    latest: Option<usize>,
}

impl Before {
    /// Notes the checkpoints that a session has.
    pub(super) fn of(agent: &Path, session: &str, root: &Path) -> Self {
        let (store, root) = (checkpoint_directory(agent, session), root.to_owned());
        let mut before = Self { store, root, latest: None };
        before.latest = before.open().and_then(|checkpoints| checkpoints.current());
        before
    }

    /// Returns the files that runs have changed since. Files that no checkpoint covers are missing.
    pub(super) fn changes(&self) -> Vec<Value> {
        let Some(checkpoints) = self.open() else { return Vec::new() };
        let mut files: BTreeMap<String, &str> = BTreeMap::new();
        for checkpoint in checkpoints.list() {
            let is_new = self.latest.is_none_or(|latest| checkpoint.number > latest);
            // The first checkpoint, and those of changes by others, are found.
            if !is_new || checkpoint.found || checkpoint.number == 0 {
                continue;
            }
            let changes = checkpoints.diff(checkpoint.number - 1, checkpoint.number);
            for change in changes.unwrap_or_default() {
                let kind = match (change.before.is_some(), change.after.is_some()) {
                    (false, _) => "created",
                    (true, false) => "removed",
                    (true, true) => "changed",
                };
                files.insert(change.path, kind);
            }
        }
        let files = files.into_iter().take(FILES);
        files.map(|(path, kind)| json!({ "path": path, "change": kind })).collect()
    }

    fn open(&self) -> Option<Checkpoints> {
        // Opening creates a store, which sessions without changes do not need.
        let exists = self.store.is_dir();
        exists.then(|| Checkpoints::open(&self.store, &self.root, Limits::default()).ok()).flatten()
    }
}
