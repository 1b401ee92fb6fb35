//! The user's own files: there, readable, writable, private where they must be.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pi_coding_agent::Environment;
use pi_session::{ListOptions, SessionIndex};
use serde_json::Value;

use super::Finding;

/// The directory of everything else.
pub(super) fn agent_directory(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "agent directory";
    let directory = &environment.agent_directory;
    let shown = directory.display();
    if !directory.exists() {
        let parent = directory.ancestors().find(|parent| parent.exists());
        return match parent.map(|parent| (parent, can_write(parent))) {
            Some((_, Ok(()))) => {
                vec![Finding::good(ABOUT, format!("{shown} will be created when it is needed"))]
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
    "Make it a directory that you can write to, or set PI_CODING_AGENT_DIR to one.";

/// A file that goes away at once: what the permissions say is not all there is to it.
fn can_write(directory: &Path) -> std::io::Result<()> {
    tempfile::tempfile_in(directory).map(drop)
}

/// The files with choices of the user.
pub(super) fn settings(environment: &Environment) -> Vec<Finding> {
    let agent = &environment.agent_directory;
    let project = environment.project_directory();
    let files =
        [agent.join("settings.json"), agent.join("trust.json"), project.join("settings.json")];
    files.iter().filter_map(|path| object("settings", path)).collect()
}

/// The file with secrets.
pub(super) fn credentials(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "credentials";
    let path = environment.agent_directory.join("auth.json");
    let mut findings: Vec<Finding> = object(ABOUT, &path).into_iter().collect();
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(&path) {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            findings.push(Finding::warning(
                ABOUT,
                format!("{} can be read by others (mode {mode:o})", path.display()),
                format!("Run: chmod 600 {}", path.display()),
            ));
        }
    }
    findings
}

/// Whether a file is a JSON object. Nothing to say if there is none.
fn object(about: &'static str, path: &PathBuf) -> Option<Finding> {
    let shown = path.display();
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => {
            let message = format!("{shown} cannot be read: {error}");
            return Some(Finding::error(about, message, "Make it a file that you can read."));
        }
    };
    Some(match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_)) => Finding::good(about, shown.to_string()),
        Ok(_) => Finding::error(about, format!("{shown} is not a JSON object"), FIX_JSON),
        // Line and column are part of the message; what stands there is not.
        Err(error) => Finding::error(about, format!("{shown} is not JSON: {error}"), FIX_JSON),
    })
}

const FIX_JSON: &str = "Correct the file, or move it away to begin anew; pi does not overwrite it.";

/// Where conversations are.
pub(super) fn sessions(environment: &Environment) -> Vec<Finding> {
    const ABOUT: &str = "sessions";
    let chosen = environment.variable("PI_CODING_AGENT_SESSION_DIR");
    let directory = match chosen {
        Some(directory) => environment.expand(directory, &environment.cwd),
        None => environment.agent_directory.join("sessions"),
    };
    let shown = directory.display();
    if !directory.exists() {
        return vec![Finding::good(ABOUT, format!("none yet in {shown}"))];
    }
    let mut findings = Vec::new();
    if let Err(error) = can_write(&directory) {
        let message = format!("{shown} cannot be written: {error}");
        findings.push(Finding::error(ABOUT, message, "Make it writable, or use --session-dir."));
    }
    let cache = chosen.is_none().then(|| environment.agent_directory.join("cache/sessions"));
    let listing = SessionIndex::new(directory.clone(), cache).list(&ListOptions::default());
    for problem in &listing.problems {
        let fix = "Move the file away, or restore it from a copy.";
        findings.push(Finding::warning(ABOUT, problem.to_string(), fix));
    }
    findings.push(Finding::good(ABOUT, format!("{} in {shown}", listing.sessions.len())));
    findings
}

/// What earlier crashes left.
pub(super) fn crashes(environment: &Environment) -> Vec<Finding> {
    let directory = environment.agent_directory.join("crashes");
    let count = std::fs::read_dir(&directory).map_or(0, |entries| entries.flatten().count());
    if count == 0 {
        return Vec::new();
    }
    let message = format!("{count} reports in {}", directory.display());
    vec![Finding::warning("crashes", message, "Report the latest, then delete them.")]
}
