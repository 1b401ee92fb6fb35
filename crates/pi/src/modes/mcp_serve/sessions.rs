//! Sessions and reports as resources: those of the directories that callers can work in.

use std::path::Path;

use pi_base::text;
use pi_converge::{RunInfo, list_runs};
use pi_host::export;
use pi_session::{EffectsResolver, MarkdownOptions, SessionInfo};
use serde_json::{Value, json};

use super::plan::Plan;
use crate::secrets::{self, redacted};

/// The most sessions, and reports, of a list.
const LISTED: usize = 100;

/// The longest report that is read, in bytes.
const REPORT: u64 = 16 << 20;

/// Returns sessions as resources.
pub(super) fn list(sessions: Vec<SessionInfo>) -> Vec<Value> {
    let sessions = sessions.into_iter().take(LISTED);
    let described = sessions.map(|session| {
        let title = session.name.as_deref().unwrap_or(&session.first_message);
        json!({
            "uri": session_uri(&session.id),
            "name": session.id,
            "title": text::line(&redacted(title), 80),
            "description": format!("Session in {}", session.cwd),
            "mimeType": "text/markdown",
        })
    });
    described.collect()
}

/// Returns a session as Markdown, without secrets.
pub(super) fn markdown(session: &SessionInfo) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot read the session: {error}");
    let opened =
        export::open(&session.path).and_then(|session| export::redacted(session, secrets::own()));
    let opened = opened.map_err(|error| failed(&error))?;
    let effects = EffectsResolver::new(pi_tools::toolset::effects_of);
    let mut out = Vec::new();
    let options = MarkdownOptions::default().effects(effects);
    opened.export_markdown(&options, &mut out).map_err(|error| failed(&error))?;
    String::from_utf8(out).map_err(|error| failed(&error))
}

/// Returns the URI of a session.
pub(super) fn session_uri(id: &str) -> String {
    format!("pi://sessions/{id}")
}

/// Returns the URI of a report.
pub(super) fn report_uri(id: &str) -> String {
    format!("pi://runs/{id}/report")
}

/// Lists the reports of `pi run` that callers can see, the newest first.
pub(super) fn list_reports(plan: &Plan) -> Vec<Value> {
    let runs = runs(plan).into_iter().rev().filter(|run| run.outcome.is_some()).take(LISTED);
    let described = runs.map(|run| {
        json!({
            "uri": report_uri(&run.id),
            "name": run.id,
            "title": text::line(&redacted(&run.task), 80),
            "description": format!("Report of a run in {}", run.cwd),
            "mimeType": "application/json",
        })
    });
    described.collect()
}

/// Returns the report of a `pi run`.
pub(super) fn report(plan: &Plan, id: &str) -> Option<Result<String, String>> {
    let run = runs(plan).into_iter().find(|run| run.id == id && run.outcome.is_some())?;
    Some(read(&run.path.join("report.json")))
}

fn read(path: &Path) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot read the report: {error}");
    let size = std::fs::metadata(path).map_err(|error| failed(&error))?.len();
    if size > REPORT {
        return Err(failed(&format_args!("it is longer than {REPORT} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    Ok(redacted(&text).into_owned())
}

fn runs(plan: &Plan) -> Vec<RunInfo> {
    let mut runs = list_runs(&plan.environment.agent_directory.join("runs"));
    runs.retain(|run| plan.directories.allows(Path::new(&run.cwd)));
    runs
}
