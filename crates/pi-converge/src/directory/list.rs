//! The list of runs.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{CONTRACT, REPORT, STATE, id, read};

/// A run, as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunInfo {
    /// Id of the run.
    pub id: String,
    /// Directory of the run.
    pub path: PathBuf,
    /// Name of the outcome; `None` for a run that is in progress or was killed.
    pub outcome: Option<String>,
    /// Name of the task, or its goal.
    pub task: String,
    /// Time of the start, in ISO 8601.
    pub started: String,
    /// Directory in which the run was started.
    pub cwd: String,
}

/// Returns all runs, oldest first. Files that cannot be read leave their fields empty.
pub fn list_runs(runs: &Path) -> Vec<RunInfo> {
    id::ids(runs).into_iter().map(|id| info(&runs.join(&id), id)).collect()
}

fn info(path: &Path, id: String) -> RunInfo {
    let file = |name: &str| read::<Value>(&path.join(name)).ok().flatten().unwrap_or_default();
    let (contract, state) = (file(CONTRACT), file(STATE));
    let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    let outcome = text(&state, "outcome").or_else(|| text(&file(REPORT), "outcome"));
    RunInfo {
        id,
        path: path.to_owned(),
        outcome,
        task: text(&contract, "name").or_else(|| text(&contract, "goal")).unwrap_or_default(),
        started: text(&state, "started").unwrap_or_default(),
        cwd: text(&state, "cwd").unwrap_or_default(),
    }
}
