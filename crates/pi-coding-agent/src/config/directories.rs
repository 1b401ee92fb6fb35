//! Where the user's files are, and which directory holds the sessions.

use std::path::{Path, PathBuf};

use super::{ConfigError, SettingsStore};
use crate::Environment;

/// The variable that names another directory than `~/.pi/agent`.
const AGENT: &str = "PI_CODING_AGENT_DIR";
/// The variable that names a directory for sessions.
const SESSIONS: &str = "PI_CODING_AGENT_SESSION_DIR";

/// The directory of the user's settings, credentials and sessions.
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

/// A directory for sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDirectory {
    /// The directory.
    pub path: PathBuf,
    /// Sessions of all projects are in it, so those of one must be told by what they say.
    pub shared: bool,
}

/// Where sessions are: what the flag says, else the variable, else the settings, else the
/// project's own place in the agent's directory.
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
