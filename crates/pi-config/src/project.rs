//! An opened project: the settings of the user and of the project, and the decision about trust.
//!
//! [`Project::open`] reads the files, and nothing else does. The value is passed down to everything
//! that depends on settings; what should see later changes of the files gets a value that was opened
//! again.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    Diagnostic, Environment, Settings, SettingsStore, Trust, TrustQuestion, TrustStore, needs_trust,
};

/// The settings of the user, those of the project in the working directory if it is trusted, and
/// the problems with their files. Clones share the content until one of them changes.
#[derive(Debug, Clone)]
pub struct Project {
    environment: Environment,
    store: Arc<SettingsStore>,
    /// The overrides as they were given, also invalid ones.
    overrides: Map<String, Value>,
    question: TrustQuestion,
    trust: Trust,
    /// Problems with the stored decisions about trust.
    problems: Vec<Diagnostic>,
}

impl Project {
    /// Reads the files of the user and of the project in the working directory.
    pub fn open(environment: Environment) -> Self {
        Self::read(environment, Map::new(), TrustQuestion::default())
    }

    /// Reads the files again. Overrides and decisions stay.
    pub fn reopened(&self) -> Self {
        Self::read(self.environment.clone(), self.overrides.clone(), self.question)
    }

    /// Returns the project of another working directory, with the same overrides and the decision
    /// of the program. Nothing is read if the directory is the same.
    pub fn in_directory(&self, cwd: &Path) -> Self {
        if cwd == self.environment.cwd {
            return self.clone();
        }
        let environment = Environment { cwd: cwd.to_owned(), ..self.environment.clone() };
        let question = TrustQuestion { extension: None, ..self.question };
        Self::read(environment, self.overrides.clone(), question)
    }

    fn read(
        environment: Environment,
        overrides: Map<String, Value>,
        mut question: TrustQuestion,
    ) -> Self {
        let mut problems = Vec::new();
        let saved = TrustStore::new(&environment.agent_directory).find(&environment.cwd);
        let saved = saved.unwrap_or_else(|error| {
            problems.push(error.diagnostic());
            None
        });
        question.saved = saved.map(|entry| entry.trusted);
        question.needed = needs_trust(&environment.cwd, environment.home.as_deref());
        let store = Arc::new(SettingsStore::load(&environment, false));
        let trust = Trust::Untrusted;
        let mut project = Self { environment, store, overrides, question, trust, problems };
        project.combine();
        project
    }

    /// Combines the files and the overrides, and decides about the project with them.
    fn combine(&mut self) {
        let store = Arc::make_mut(&mut self.store);
        // The settings of the project have no part in the decision.
        store.set_trusted(false);
        store.set_overrides(self.overrides.clone());
        self.question.default = store.settings().default_project_trust;
        self.trust = self.question.decide();
        // A question that no one is asked is answered with no.
        store.set_trusted(self.trust == Trust::Trusted);
    }

    /// Returns the directories and variables with which the project was opened.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> &Settings {
        self.store.settings()
    }

    /// Returns the settings with their files.
    pub fn store(&self) -> &SettingsStore {
        &self.store
    }

    /// Returns the settings with their files, to change them.
    pub fn store_mut(&mut self) -> &mut SettingsStore {
        Arc::make_mut(&mut self.store)
    }

    /// Returns the settings with their files.
    pub fn into_store(self) -> SettingsStore {
        Arc::unwrap_or_clone(self.store)
    }

    /// Returns the decision about the project.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Returns true if the settings and resources of the project are used.
    pub fn is_trusted(&self) -> bool {
        self.store.is_trusted()
    }

    /// Returns true if trust in the project is a question: it has files that need trust, and the
    /// program has not decided.
    pub fn is_trust_open(&self) -> bool {
        self.question.flag.is_none() && self.question.needed
    }

    /// Sets the decision of the program about the project, such as that of `--approve`; `None`
    /// leaves it to stored decisions and settings.
    pub fn set_approval(&mut self, approval: Option<bool>) {
        self.question.flag = approval;
        self.combine();
    }

    /// Sets the decision of an extension about the project.
    pub fn set_extension_decision(&mut self, decision: Option<bool>) {
        self.question.extension = decision;
        self.combine();
    }

    /// Returns the overrides as they were given.
    pub fn overrides(&self) -> &Map<String, Value> {
        &self.overrides
    }

    /// Replaces the overrides: settings that are not stored, and take precedence over those of the
    /// files.
    pub fn set_overrides(&mut self, overrides: Map<String, Value>) {
        self.overrides = overrides;
        self.combine();
    }

    /// Changes the overrides and returns the result of the change.
    pub fn change_overrides<T>(&mut self, change: impl FnOnce(&mut Map<String, Value>) -> T) -> T {
        let changed = change(&mut self.overrides);
        self.combine();
        changed
    }

    /// Returns the problems with the stored decisions about trust.
    pub fn trust_problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Returns the problems with all files, except for a
    /// [`guard_error`](SettingsStore::guard_error), with which no command runs.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.problems.clone();
        problems.extend(self.store.diagnostics());
        problems
    }
}
