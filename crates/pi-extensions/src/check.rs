//! `pi extension check`: names what would not work here, before the extension runs.
//!
//! `analyze` reads the files of an extension; the realm of a thread is asked what
//! modules, globals and members of the API exist. No code of the extension runs.

mod analyze;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_coding_agent::extension::QuestionKind;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::Access;
use crate::host::JsThread;
use crate::host_process::ProcessOptions;
use crate::limits::Limits;
use crate::resolve::{self, Request, Resolved};
use crate::thread::ThreadOptions;
use analyze::{Analysis, Place};

/// Something that would not work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// Line and column, counted from 1.
    pub line: usize,
    /// Column, counted from 1.
    pub column: usize,
    /// True if the extension cannot be loaded; else it fails when it reaches this place.
    pub is_fatal: bool,
    /// What would not work.
    pub message: String,
}

/// An extension that cannot be checked.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct CheckError(String);

/// What the realm has.
#[derive(Debug, Default, Deserialize)]
struct Realm {
    /// For each module, its exports; false for those that fail when they are called.
    modules: BTreeMap<String, BTreeMap<String, bool>>,
    globals: BTreeSet<String>,
    api: BTreeSet<String>,
    context: BTreeSet<String>,
    ui: BTreeSet<String>,
}

/// Events that earlier versions had, and what replaces them.
const GONE: &[(&str, &str)] = &[
    ("session_switch", "session_start, with the reason `new` or `resume`"),
    ("session_fork", "session_start, with the reason `fork`"),
    ("session_branch", "session_tree"),
    ("session_directory", "the setting sessionDir"),
    ("user_message", "input or message_start"),
];

/// Events that are no questions.
const EVENTS: &[&str] = &[
    "session_start",
    "session_info_changed",
    "session_compact",
    "session_compact_failed",
    "session_tree",
    "session_shutdown",
    "mcp_servers_change",
    "after_provider_response",
    "provider_stream_event",
    "agent_start",
    "agent_end",
    "agent_settled",
    "turn_start",
    "message_start",
    "message_update",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "model_select",
    "thinking_level_select",
    "ui_prompt_start",
    "ui_prompt_end",
];

fn is_event(name: &str) -> bool {
    EVENTS.contains(&name) || QuestionKind::ALL.iter().any(|kind| kind.name() == name)
}

/// Checks the file of an extension and the files that it imports. Called within a tokio runtime.
pub async fn check(path: &Path) -> Result<Vec<Finding>, CheckError> {
    let mut findings = Vec::new();
    let mut analyses: Vec<(PathBuf, Analysis)> = Vec::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(file) = waiting.pop() {
        if analyses.iter().any(|(known, _)| *known == file) || !is_code(&file, path) {
            continue;
        }
        let text = std::fs::read_to_string(&file)
            .map_err(|error| CheckError(format!("cannot read {}: {error}", file.display())))?;
        match analyze::analyze(&file, &text) {
            Ok(analysis) => {
                waiting.extend(follow(&file, &analysis, &mut findings));
                analyses.push((file, analysis));
            }
            Err(problem) => findings.push(Finding {
                path: file,
                line: problem.line,
                column: problem.column,
                is_fatal: true,
                message: problem.message,
            }),
        }
    }
    let realm = describe(&analyses).await?;
    for (file, analysis) in &analyses {
        judge(file, analysis, &realm, &mut findings);
    }
    findings.sort();
    findings.dedup();
    Ok(findings)
}

fn is_code(path: &Path, extension: &Path) -> bool {
    // Packages that the extension uses are not the author's to mend.
    let own = extension.parent().and_then(|directory| path.strip_prefix(directory).ok());
    let is_package =
        own.unwrap_or(path).components().any(|part| part.as_os_str() == "node_modules");
    !is_package && path.extension().is_none_or(|extension| extension != "json")
}

/// Returns the files that a file imports, and reports imports that lead nowhere.
fn follow(file: &Path, analysis: &Analysis, findings: &mut Vec<Finding>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for import in &analysis.imports {
        match resolve::resolve(&Access::default(), file, &import.specifier, Request::Import) {
            Ok(Resolved::File(path)) => files.push(path),
            Ok(Resolved::Absent(name)) => {
                let message = format!("the module {name} is not available: its functions fail");
                findings.push(finding(file, import.place, false, message));
            }
            Ok(_) => {}
            Err(_) => {
                let message = format!("cannot find module '{}'", import.specifier);
                findings.push(finding(file, import.place, true, message));
            }
        }
    }
    files
}

/// Asks a realm what it has.
async fn describe(analyses: &[(PathBuf, Analysis)]) -> Result<Realm, CheckError> {
    let failed = |error: String| CheckError(format!("the extension host does not start: {error}"));
    let thread = JsThread::start(ThreadOptions {
        limits: Limits::default(),
        access: Access::default(),
        process: ProcessOptions::new("/"),
        cache: None,
        areas: &[],
        reporter: Arc::new(|_| {}),
    });
    let thread = thread.map_err(|error| failed(error.to_string()))?;
    let mut modules = BTreeSet::new();
    for (file, analysis) in analyses {
        for import in &analysis.imports {
            if let Ok(Resolved::Host(name)) =
                resolve::resolve(&Access::default(), file, &import.specifier, Request::Import)
            {
                modules.insert(name.to_owned());
            }
        }
    }
    let globals: BTreeSet<&String> = analyses
        .iter()
        .flat_map(|(_, analysis)| analysis.globals.iter().map(|(name, _)| name))
        .collect();
    let asked = json!({ "modules": modules, "globals": globals });
    let realm = thread.call(0, "describe", vec![asked.into()]).await;
    let realm = realm.map_err(|error| failed(error.stack))?;
    serde_json::from_value(realm).map_err(|error| failed(error.to_string()))
}

/// Compares what a file uses with what there is.
fn judge(file: &Path, analysis: &Analysis, realm: &Realm, findings: &mut Vec<Finding>) {
    let mut report =
        |place: Place, message: String| findings.push(finding(file, place, false, message));
    for import in &analysis.imports {
        let resolved =
            resolve::resolve(&Access::default(), file, &import.specifier, Request::Import);
        let Ok(Resolved::Host(module)) = resolved else { continue };
        let Some(exports) = realm.modules.get(module) else { continue };
        for (name, place) in &import.names {
            match exports.get(name) {
                Some(true) => {}
                Some(false) => {
                    report(*place, format!("{name} of {module} fails when it is called"));
                }
                None => report(*place, format!("{module} has no {name}: it is undefined")),
            }
        }
    }
    for (name, place) in &analysis.globals {
        if !realm.globals.contains(name) {
            report(*place, format!("{name} is not defined"));
        }
    }
    for (name, place) in &analysis.events {
        if let Some((_, instead)) = GONE.iter().find(|(gone, _)| gone == name) {
            report(*place, format!("the event {name} is gone and never fires; use {instead}"));
        } else if !is_event(name) {
            report(*place, format!("there is no event {name}: the handler is never called"));
        }
    }
    let objects = [("pi", &realm.api), ("ctx", &realm.context), ("ctx.ui", &realm.ui)];
    for (object, member, place) in &analysis.members {
        let known = objects.iter().find(|(name, _)| name == object).map(|(_, known)| *known);
        if let Some(known) = known
            && !known.is_empty()
            && !known.contains(member)
        {
            report(*place, format!("{object} has no {member}"));
        }
    }
}

fn finding(path: &Path, place: Place, is_fatal: bool, message: String) -> Finding {
    Finding { path: path.to_owned(), line: place.line, column: place.column, is_fatal, message }
}
