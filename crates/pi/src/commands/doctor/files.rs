//! Checks of the agent directory, the sessions and the crash reports.

use std::path::Path;

use pi_coding_agent::Project;
use pi_host::sessions::shared_directory;
use pi_session::{ListOptions, SessionIndex};

use super::Finding;

/// Checks that the agent directory can be written.
pub(super) fn agent_directory(project: &Project) -> Vec<Finding> {
    let environment = project.environment();
    const ABOUT: &str = "agent directory";
    let directory = &environment.agent_directory;
    let shown = directory.display();
    if !directory.exists() {
        let parent = directory.ancestors().find(|parent| parent.exists());
        return match parent.map(|parent| (parent, can_write(parent))) {
            Some((_, Ok(()))) => {
                vec![Finding::good(ABOUT, format!("{shown} will be created when needed"))]
            }
            Some((parent, Err(error))) => vec![Finding::error(
                ABOUT,
                format!("{shown} cannot be created in {}: {error}", parent.display()),
                FIX_DIRECTORY,
            )],
            None => {
                vec![Finding::error(ABOUT, format!("{shown} cannot be created"), FIX_DIRECTORY)]
            }
        };
    }
    match can_write(directory) {
        Ok(()) => vec![Finding::good(ABOUT, shown.to_string())],
        Err(error) => {
            vec![Finding::error(
                ABOUT,
                format!("{shown} cannot be written: {error}"),
                FIX_DIRECTORY,
            )]
        }
    }
}

const FIX_DIRECTORY: &str =
    "Make it a directory that you can write, or set PI_CODING_AGENT_DIR to one.";

/// Creates a temporary file, since permissions alone do not tell whether writing works.
fn can_write(directory: &Path) -> std::io::Result<()> {
    tempfile::tempfile_in(directory).map(drop)
}

/// Checks that sessions can be written and read.
pub(super) fn sessions(project: &Project) -> Vec<Finding> {
    let environment = project.environment();
    const ABOUT: &str = "sessions";
    const FIX: &str =
        "Make it a directory that you can write, or choose another with --session-dir.";
    let shared = shared_directory(project, None);
    let directory = shared.clone().unwrap_or_else(|| environment.agent_directory.join("sessions"));
    let shown = directory.display();
    if !directory.exists() {
        let parent = directory.ancestors().find(|parent| parent.exists());
        return vec![match parent.map_or(Ok(()), can_write) {
            // Problems of the agent directory have been reported already.
            Err(error) if shared.is_some() => {
                Finding::error(ABOUT, format!("{shown} cannot be created: {error}"), FIX)
            }
            _ => Finding::good(ABOUT, format!("none yet in {shown}")),
        }];
    }
    let mut findings = Vec::new();
    if let Err(error) = can_write(&directory) {
        let message = format!("{shown} cannot be written: {error}");
        findings.push(Finding::error(ABOUT, message, FIX));
    }
    let cache = shared.is_none().then(|| environment.agent_directory.join("cache/sessions"));
    let listing = SessionIndex::new(directory.clone(), cache).list(&ListOptions::default());
    for problem in &listing.problems {
        let fix = "Move the file away, or restore it from a copy.";
        findings.push(Finding::warning(ABOUT, problem.to_string(), fix));
    }
    findings.push(Finding::good(ABOUT, format!("{} in {shown}", listing.sessions.len())));
    findings
}

/// Checks for reports of earlier crashes.
pub(super) fn crashes(project: &Project) -> Vec<Finding> {
    let environment = project.environment();
    let directory = environment.agent_directory.join("crashes");
    let count = std::fs::read_dir(&directory).map_or(0, |entries| entries.flatten().count());
    if count == 0 {
        return Vec::new();
    }
    let message = format!("{count} reports in {}", directory.display());
    vec![Finding::warning("crashes", message, "Report the latest one, then delete them.")]
}
