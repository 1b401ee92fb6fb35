//! What the program was told about the world. Read once at the start and passed down, so that
//! nothing below looks for itself, and tests need no process of their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Places and variables.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The directory that the agent works in; absolute.
    pub cwd: PathBuf,
    /// The user's home, where there is one.
    pub home: Option<PathBuf>,
    /// Where the user's settings, credentials and sessions are: usually `~/.pi/agent`.
    pub agent_directory: PathBuf,
    /// Where the machine's own rules are: usually `/etc/pi`.
    pub system_directory: Option<PathBuf>,
    /// The variables of the process, as far as they are text.
    pub variables: Arc<BTreeMap<String, String>>,
}

impl Environment {
    /// A place and nothing else: no home, no variables.
    pub fn new(cwd: impl Into<PathBuf>, agent_directory: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home: None,
            agent_directory: agent_directory.into(),
            system_directory: None,
            variables: Arc::default(),
        }
    }

    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Where files go that nobody will miss.
    pub fn temporary(&self) -> PathBuf {
        self.variable("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    /// A directory of the project for settings and resources: `.pi` in the working directory.
    pub fn project_directory(&self) -> PathBuf {
        self.cwd.join(".pi")
    }

    /// A path as users write it in settings and on the command line: `~` is their home, and what
    /// is relative is seen from `base`.
    pub fn expand(&self, path: &str, base: &Path) -> PathBuf {
        match (path, path.strip_prefix("~/"), &self.home) {
            ("~", _, Some(home)) => home.clone(),
            (_, Some(rest), Some(home)) => home.join(rest),
            _ => base.join(path),
        }
    }
}
