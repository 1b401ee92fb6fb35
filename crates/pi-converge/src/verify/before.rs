//! The result of the command checks before the agent started, kept for processes that resume the
//! run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::evidence::Used;

/// Name of the file, beside the logs of the checks.
const FILE: &str = "before.json";

/// The result of the command checks before the agent started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Before {
    /// Number of tests of each command.
    pub(super) tests: BTreeMap<String, u64>,
    /// The commands that failed.
    pub(super) failed: BTreeSet<String>,
    /// Files that the commands wrote and that look like a part of the checks, such as the output of
    /// a build configuration.
    pub(super) generated: BTreeSet<String>,
    /// Files of the state that the commands changed, and tests that they wrote.
    pub(super) written: BTreeSet<String>,
    /// What the commands used.
    pub(super) used: Used,
}

impl Before {
    /// Reads what an earlier process of the run wrote. Without it, there is nothing to compare with.
    pub(super) fn read(logs: &Path) -> Self {
        let text = std::fs::read(logs.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    pub(super) fn write(&self, logs: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        std::fs::write(logs.join(FILE), text)
    }
}
