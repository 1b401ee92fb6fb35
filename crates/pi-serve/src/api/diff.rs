//! `/api/v1/sessions/{id}/diff`: the file changes of the last run, or of the whole session, from its
//! checkpoints.

use std::path::Path;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use pi_config::checkpoints::checkpoint_directory;
use pi_guard::secrets::Secrets;
use pi_session::directory_from_text;
use pi_tools::checkpoint::{Change, CheckpointError, Checkpoints, Limits};
use pi_web::http::StatusCode;
use serde::Serialize;

use super::sessions::{joined, now};
use super::{Answer, ApiError, Call, json};
use crate::view::{DiffFile, diff_files};

/// The largest file whose lines are shown.
const LARGEST: usize = 1 << 20;

/// Most files whose lines are shown.
const FILES: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Run,
    Session,
}

/// The files that changed in a scope.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Changes {
    files: Vec<DiffFile>,
    /// Prompt of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// More files changed than are shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_more: bool,
    as_of: String,
}

/// Answers with the changes of a scope.
pub(crate) async fn get(call: Call) -> Answer {
    let scope = match call.query("scope").as_deref() {
        Some("run") | None => Scope::Run,
        Some("session") => Scope::Session,
        Some(_) => {
            let message = "\"scope\" must be \"run\" or \"session\"";
            return Err(ApiError::bad_request("invalid_query", message));
        }
    };
    let id = call.param(0)?;
    let agent = &call.state.host.environment().agent_directory;
    let store = checkpoint_directory(agent, id);
    let (root, secrets) = match call.state.live(id) {
        Some((_, session)) => (session.workspace().cwd().to_owned(), session.secrets()),
        None => {
            let info = call.state.host.find(id).await?;
            (directory_from_text(&info.cwd), call.state.options.secrets.clone())
        }
    };
    let as_of = now();
    let reading = tokio::task::spawn_blocking(move || read(&store, &root, scope, &secrets, as_of));
    let changes = joined(reading.await)?
        .map_err(|error| ApiError::new(StatusCode::CONFLICT, "checkpoints", error.to_string()));
    json(StatusCode::OK, &changes?)
}

fn read(
    store: &Path,
    root: &Path,
    scope: Scope,
    secrets: &Secrets,
    as_of: String,
) -> Result<Changes, CheckpointError> {
    let mut changes = Changes { files: Vec::new(), label: None, has_more: false, as_of };
    if !store.is_dir() || !root.is_dir() {
        return Ok(changes);
    }
    let checkpoints = Checkpoints::open(store, root, Limits::default())?;
    let list = checkpoints.list();
    let between = match scope {
        Scope::Run => checkpoints.undoable().map(|(after, before)| (before, after)),
        Scope::Session => list.first().map(|first| first.number).zip(checkpoints.current()),
    };
    let Some((before, after)) = between else { return Ok(changes) };
    if scope == Scope::Run {
        let run = list.iter().find(|one| one.number == after);
        changes.label = run.map(|run| secrets.redact(&run.label).into_owned());
    }
    let found = checkpoints.diff(before, after)?;
    changes.has_more = found.len() > FILES;
    let mut text = String::new();
    for change in found.iter().take(FILES) {
        let [old, new] = [before, after].map(|at| checkpoints.content(at, &change.path));
        text.push_str(&unified(change, old?, new?));
    }
    changes.files = diff_files(&secrets.redact(&text));
    Ok(changes)
}

/// Returns the unified diff of a file. One that is large or no text has no lines.
fn unified(change: &Change, old: Option<Vec<u8>>, new: Option<Vec<u8>>) -> String {
    let path: String = change.path.chars().filter(|char| !char.is_control()).collect();
    let name = |exists: bool, side: &str| match exists {
        true => format!("{side}/{path}"),
        false => "/dev/null".to_owned(),
    };
    let (a, b) = (name(change.before.is_some(), "a"), name(change.after.is_some(), "b"));
    let mut text = format!("diff --git a/{path} b/{path}\n--- {a}\n+++ {b}\n");
    let is_short = |bytes: &Option<Vec<u8>>| bytes.as_ref().is_none_or(|one| one.len() <= LARGEST);
    if !is_short(&old) || !is_short(&new) {
        return text;
    }
    let decoded = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap_or_default());
    let (Ok(old), Ok(new)) = (decoded(old), decoded(new)) else { return text };
    let input = InternedInput::new(old.as_str(), new.as_str());
    let mut difference = Diff::compute(Algorithm::Histogram, &input);
    difference.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    let lines = difference.unified_diff(&printer, UnifiedDiffConfig::default(), &input);
    text.push_str(&lines.to_string());
    text
}
