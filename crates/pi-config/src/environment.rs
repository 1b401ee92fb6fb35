//! The directories and variables of the process. They are read once at the start and passed down, so
//! that the library does not read them itself and tests need no separate process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Variables about a session, which an agent inside of another must not inherit.
const OWN_VARIABLES: &[&str] =
    &["PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL"];

/// The directories and variables of the process.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Working directory of the agent, as an absolute path.
    pub cwd: PathBuf,
    /// Home directory of the user.
    pub home: Option<PathBuf>,
    /// Directory of the user's settings, credentials and sessions, usually `~/.pi/agent`.
    pub agent_directory: PathBuf,
    /// Directory of the machine's rules, usually `/etc/pi`.
    pub system_directory: Option<PathBuf>,
    /// Environment variables that are valid UTF-8.
    pub variables: Arc<BTreeMap<String, String>>,
}

impl Environment {
    /// Creates an environment without home and variables.
    pub fn new(cwd: impl Into<PathBuf>, agent_directory: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home: None,
            agent_directory: agent_directory.into(),
            system_directory: None,
            variables: Arc::default(),
        }
    }

    /// Returns a variable if it is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns true if the variable `PI_OFFLINE` asks for no network traffic.
    pub fn is_offline(&self) -> bool {
        let value = self.variable("PI_OFFLINE").unwrap_or_default().to_lowercase();
        matches!(value.as_str(), "1" | "true" | "yes")
    }

    /// Returns the variables of the process without those about a session.
    pub fn own_variables(&self) -> BTreeMap<OsString, OsString> {
        let variables = self.variables.iter();
        let own = variables.filter(|(name, _)| !OWN_VARIABLES.contains(&name.as_str()));
        own.map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// Returns the directory for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.variable("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    /// Returns the project's directory of settings and resources: `.pi` in the working directory.
    pub fn project_directory(&self) -> PathBuf {
        self.cwd.join(".pi")
    }

    /// Expands a path of the settings or the command line: `~` is the home directory, and a relative
    /// path is resolved against `base`.
    pub fn expand(&self, path: &str, base: &Path) -> PathBuf {
        match (path, path.strip_prefix("~/"), &self.home) {
            ("~", _, Some(home)) => home.clone(),
            (_, Some(rest), Some(home)) => home.join(rest),
            _ => base.join(path),
        }
    }
}
