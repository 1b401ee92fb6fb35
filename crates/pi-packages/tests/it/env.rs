//! A user with a home, an agent directory and a project, and a registry.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_config::Environment;
use pi_config::SettingsStore;
use pi_packages::{PackageEvent, PackageManager};
use serde_json::Value;

use crate::registry::TestRegistry;

pub(crate) struct TestEnv {
    directory: tempfile::TempDir,
    pub(crate) registry: TestRegistry,
    pub(crate) events: Arc<Mutex<Vec<PackageEvent>>>,
    pub(crate) variables: Vec<(String, String)>,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["home", "agent", "proj"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let registry = TestRegistry::start();
        let env = Self { directory, registry, events: Arc::default(), variables: Vec::new() };
        env.write("home/.npmrc", &format!("registry={}\n", env.registry.url));
        env
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).unwrap()
    }

    pub(crate) fn settings(&self, settings: &Value) {
        self.write("agent/settings.json", &settings.to_string());
    }

    /// Returns the list `packages` of the user's settings.
    pub(crate) fn packages(&self) -> Value {
        self.json("agent/settings.json")["packages"].take()
    }

    pub(crate) fn manager(&self) -> PackageManager {
        self.manager_in(true)
    }

    pub(crate) fn manager_in(&self, trusted: bool) -> PackageManager {
        let mut environment = Environment::new(self.path("proj"), self.path("agent"));
        environment.home = Some(self.path("home"));
        let home = ("HOME".to_owned(), self.path("home").display().to_string());
        environment.variables = Arc::new(self.variables.iter().cloned().chain([home]).collect());
        let settings = SettingsStore::load(&environment, trusted);
        let events = Arc::clone(&self.events);
        let report = Box::new(move |event| events.lock().unwrap().push(event));
        PackageManager::new(environment, settings, report).with_pause(Duration::from_millis(1))
    }

    /// Returns the files and directories below a directory, without those of npm and of the lock.
    pub(crate) fn tree(&self, below: &str) -> Vec<String> {
        fn collect(directory: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    collect(&path, root, found);
                } else {
                    found.push(path.strip_prefix(root).unwrap().display().to_string());
                }
            }
        }
        let mut found = Vec::new();
        collect(&self.path(below), &self.path(below), &mut found);
        found.sort();
        found
    }

    /// Returns the versions of the installed packages by their place.
    pub(crate) fn installed(&self) -> Vec<String> {
        let tree = self.tree("agent/npm");
        let manifests = tree
            .iter()
            .filter(|path| path.ends_with("/package.json") && path.contains("node_modules/"));
        let mut installed: Vec<String> = manifests
            .map(|path| {
                let package = self.json(&format!("agent/npm/{path}"));
                let place = path.trim_end_matches("/package.json");
                format!(
                    "{place} {}@{}",
                    package["name"].as_str().unwrap(),
                    package["version"].as_str().unwrap()
                )
            })
            .collect();
        installed.sort();
        installed
    }
}
