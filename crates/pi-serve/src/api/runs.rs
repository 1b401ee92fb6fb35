//! `/api/v1/runs`: the runs of `pi run`, from their directories.

use std::path::{Path, PathBuf};

use pi_converge::{RunInfo, list_runs};
use pi_web::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::sessions::{joined, now};
use super::{Answer, ApiError, Call, json};
use crate::state::ServeState;

/// Runs of a page of the list, unless the client asks for another number.
const PAGE: u64 = 50;

/// Most runs of a page.
const LARGEST_PAGE: u64 = 500;

/// The largest file of a run that is sent.
const LARGEST_FILE: u64 = 16 << 20;

/// A run in the list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    /// Id of the run.
    pub id: String,
    /// Name of the task, or its goal.
    pub task: String,
    /// Name of the outcome; absent while the run is in progress, or if it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// A process executes the run.
    pub running: bool,
    /// Time of the start, in ISO 8601.
    pub started: String,
    /// Directory in which it was started.
    pub cwd: String,
}

/// A page of the list of runs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunList {
    /// The runs, newest first.
    pub runs: Vec<RunSummary>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The time at which this was true.
    pub as_of: String,
}

/// A run with the files of its directory.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunDetails {
    /// The run as the list shows it.
    #[serde(flatten)]
    pub run: RunSummary,
    /// The time at which this was true.
    pub as_of: String,
    /// The contract of the run.
    pub contract: Value,
    /// The state: attempt, round, step, consumption.
    pub state: Value,
    /// Actions that wait for approval.
    pub pending: Value,
    /// The report, if the run has ended: outcome, checks, limits, actions, files, diff.
    pub report: Value,
}

fn directory(state: &ServeState) -> PathBuf {
    state.host.environment().agent_directory.join("runs")
}

/// Answers with a page of the list of runs.
pub(crate) async fn list(call: Call) -> Answer {
    let limit = call.number("limit")?.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let cursor = call.query("cursor");
    let as_of = now();
    let runs = directory(&call.state);
    let listing = tokio::task::spawn_blocking(move || {
        let mut all = list_runs(&runs).into_iter().rev();
        // Ids begin with the time, so the list is ordered by id.
        let mut rest = all.by_ref().filter(|run| cursor.as_ref().is_none_or(|at| run.id < *at));
        let page: Vec<RunSummary> = rest.by_ref().take(limit).map(summary).collect();
        (page, rest.next().is_some())
    });
    let (runs, has_more) = joined(listing.await)?;
    let next = runs.last().filter(|_| has_more).map(|last| last.id.clone());
    json(StatusCode::OK, &RunList { runs, next, as_of })
}

fn summary(run: RunInfo) -> RunSummary {
    let running = run.outcome.is_none() && is_locked(&run.path);
    let RunInfo { id, outcome, task, started, cwd, .. } = run;
    RunSummary { id, task, outcome, running, started, cwd }
}

/// Returns true if a process executes the run of a directory.
fn is_locked(run: &Path) -> bool {
    let Ok(file) = std::fs::File::open(run.join("lock")) else { return false };
    // A lock that others can have, too, is refused only while a process has its own.
    matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
}

/// Answers with a run and its files.
pub(crate) async fn get(call: Call) -> Answer {
    let id = call.param(0)?.to_owned();
    let runs = directory(&call.state);
    let as_of = now();
    let secrets = call.state.options.secrets.clone();
    let reading = tokio::task::spawn_blocking(move || {
        // Only what the list has: the id is never a path.
        let run = list_runs(&runs).into_iter().find(|run| run.id == id)?;
        let path = run.path.clone();
        let file = |name: &str| {
            let mut value = read(&path.join(name)).unwrap_or_default();
            secrets.redact_json(&mut value);
            value
        };
        Some(RunDetails {
            contract: file("contract.json"),
            state: file("state.json"),
            pending: file("pending.json"),
            report: file("report.json"),
            run: summary(run),
            as_of,
        })
    });
    let no_run = || ApiError::new(StatusCode::NOT_FOUND, "no_run", "there is no such run");
    json(StatusCode::OK, &joined(reading.await)?.ok_or_else(no_run)?)
}

/// Reads a file of a run; `None` if it does not exist yet or is too large.
fn read(path: &Path) -> Option<Value> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > LARGEST_FILE {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
