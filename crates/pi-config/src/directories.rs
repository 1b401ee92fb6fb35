//! The directories of the user's files and of the sessions.

use std::path::{Path, PathBuf};

use crate::Environment;
use crate::{ConfigError, SettingsStore};

/// Variable that replaces `~/.pi/agent`.
const AGENT: &str = "PI_CODING_AGENT_DIR";
/// Variable with the directory of session files.
const SESSIONS: &str = "PI_CODING_AGENT_SESSION_DIR";

/// Returns the directory of the user's settings, credentials and sessions.
pub fn agent_directory(
    variable: &dyn Fn(&str) -> Option<String>,
    home: Option<&Path>,
    cwd: &Path,
) -> Result<PathBuf, ConfigError> {
    if let Some(named) = variable(AGENT).filter(|named| !named.is_empty()) {
        let within = |rest: &str| home.map(|home| home.join(rest));
        let path = match named.strip_prefix('~') {
            Some("") => within(""),
            Some(rest) => rest.strip_prefix('/').and_then(within),
            None => None,
        };
        return Ok(path.unwrap_or_else(|| cwd.join(named)));
    }
    home.map(|home| home.join(".pi/agent")).ok_or(ConfigError::NoHome)
}

/// The directory of session files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionDirectory {
    /// Path of the directory.
    pub path: PathBuf,
    /// The directory contains the sessions of all projects. The content of a file tells to which
    /// project it belongs.
    pub shared: bool,
}

/// Returns the directory of session files: from the flag, else the variable, else the settings,
/// else the directory of the project in the agent directory.
pub fn resolve_session_directory(
    environment: &Environment,
    flag: Option<&str>,
    settings: &SettingsStore,
) -> SessionDirectory {
    let flag = flag.filter(|flag| !flag.is_empty());
    let named = flag.or_else(|| environment.variable(SESSIONS)).or_else(|| settings.session_dir());
    match named {
        Some(named) => {
            SessionDirectory { path: environment.expand(named, &environment.cwd), shared: true }
        }
        None => SessionDirectory {
            path: pi_session::session_directory(&environment.agent_directory, &environment.cwd),
            shared: false,
        },
    }
}
