//! A temporary user directory and project.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_coding_agent::Environment;
use tempfile::TempDir;

/// A temporary user directory and project.
pub(super) struct ConfigEnv {
    root: TempDir,
    pub(super) environment: Environment,
}

impl ConfigEnv {
    pub(super) fn new() -> Self {
        let root = TempDir::new().unwrap();
        let real = root.path().canonicalize().unwrap();
        let environment = Environment {
            system_directory: None,
            cwd: real.join("project"),
            home: Some(real.join("home")),
            agent_directory: real.join("home/.pi/agent"),
            variables: Arc::new(BTreeMap::from([
                ("PATH".to_owned(), std::env::var_os("PATH").unwrap().into_string().unwrap()),
                ("PEER_SET".to_owned(), "from the environment".to_owned()),
            ])),
        };
        fs::create_dir_all(&environment.cwd).unwrap();
        fs::create_dir_all(&environment.agent_directory).unwrap();
        Self { root, environment }
    }

    pub(super) fn agent(&self) -> &Path {
        &self.environment.agent_directory
    }

    /// Returns a path in the temporary directory.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file of the user.
    pub(super) fn user(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.agent().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a file of the project.
    pub(super) fn project(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.environment.project_directory().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}
