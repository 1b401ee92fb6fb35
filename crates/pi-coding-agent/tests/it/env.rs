//! A temporary directory with a home and a project.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_coding_agent::Environment;

/// A temporary directory with a home (`home`) and a project (`home/proj`).
pub(crate) struct TestEnv {
    directory: tempfile::TempDir,
    root: PathBuf,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        fs::create_dir_all(root.join("home/.pi/agent")).unwrap();
        fs::create_dir_all(root.join("home/proj")).unwrap();
        Self { directory, root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        assert!(self.directory.path().exists());
        self.root.join(name)
    }

    /// Writes a file and the directories above it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Replaces the path of the temporary directory by `$ROOT`.
    pub(crate) fn placeholder(&self, text: &str) -> String {
        text.replace(self.root.to_str().unwrap(), "$ROOT")
    }

    pub(crate) fn environment(&self, cwd: &str) -> Environment {
        fs::create_dir_all(self.path(cwd)).unwrap();
        Environment {
            system_directory: None,
            cwd: self.path(cwd),
            home: Some(self.path("home")),
            agent_directory: self.path("home/.pi/agent"),
            variables: Arc::new(BTreeMap::new()),
        }
    }
}

#[cfg(unix)]
pub(crate) fn link(target: &str, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, path).unwrap();
}
