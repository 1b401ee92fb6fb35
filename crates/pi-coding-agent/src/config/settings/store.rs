//! The settings of a user and a project, read, combined and written.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::layer::{merge, migrate, prune, take_out_global, typed};
use super::{KEYS, SettingKey, Settings};
use crate::config::ConfigError;
use crate::config::file::JsonFile;
use crate::{Diagnostic, Environment};

const STALE: Duration = Duration::from_secs(10);

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsScope {
    /// For all projects of the user.
    User,
    /// For one project.
    Project,
}

/// Changes of single fields.
#[derive(Debug, Default)]
pub struct Changes(Vec<(Vec<String>, Option<Value>)>);

impl Changes {
    /// Sets a field, given by the names that lead to it.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) {
        self.push(path, Some(value.into()));
    }

    /// Removes a field.
    pub fn remove(&mut self, path: &[&str]) {
        self.push(path, None);
    }

    fn push(&mut self, path: &[&str], value: Option<Value>) {
        self.0.push((path.iter().map(|name| (*name).to_owned()).collect(), value));
    }

    fn apply(&self, layer: &mut Map<String, Value>) {
        for (path, value) in &self.0 {
            let Some((last, groups)) = path.split_last() else { continue };
            let mut at = &mut *layer;
            for group in groups {
                let inner = at.entry(group.as_str()).or_insert(Value::Null);
                if !inner.is_object() {
                    *inner = Value::Object(Map::new());
                }
                let Value::Object(object) = inner else { return };
                at = object;
            }
            match value {
                Some(value) => at.insert(last.clone(), value.clone()),
                None => at.shift_remove(last),
            };
        }
    }
}

/// One file, as far as it could be understood.
#[derive(Debug, Default)]
struct Layer {
    file: Option<JsonFile>,
    /// As in the file, up to date.
    content: Map<String, Value>,
    /// Without what does not fit.
    usable: Map<String, Value>,
    problems: Vec<Diagnostic>,
    /// What is wrong with the group `guard`, or with a file that has one.
    guard_error: Option<Diagnostic>,
}

impl Layer {
    fn load(path: PathBuf, scope: SettingsScope) -> Self {
        let file = JsonFile { path, stale: STALE, private: false, end: "" };
        let mut layer = Self { file: Some(file), ..Self::default() };
        layer.reload(scope);
        layer
    }

    /// Reads the file again. If it cannot be read, what was known stays.
    fn reload(&mut self, scope: SettingsScope) {
        match self.file.as_ref().map(JsonFile::read) {
            Some(Ok(content)) => self.accept(content.unwrap_or_default(), scope),
            Some(Err(error)) => {
                let problem = error.diagnostic();
                let path = self.file.as_ref().map(|file| &file.path);
                let text = path.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
                if String::from_utf8_lossy(&text).contains("\"guard\"") {
                    self.guard_error = Some(problem.clone());
                }
                self.problems = vec![problem];
            }
            None => {}
        }
    }

    fn accept(&mut self, mut content: Map<String, Value>, scope: SettingsScope) {
        migrate(&mut content);
        let path = self.file.as_ref().map(|file| file.path.clone());
        let warning = |message| Diagnostic::warning(path.clone(), message);
        self.problems.clear();
        self.usable = content.clone();
        self.content = content;
        if scope == SettingsScope::Project {
            self.problems.extend(take_out_global(&mut self.usable).into_iter().map(|name| {
                warning(format!("`{name}` counts only in the user's settings; move it there"))
            }));
        }
        self.guard_error = None;
        for (key, problem) in prune(&mut self.usable) {
            let ignored = format!("`{key}` is ignored: {problem}; correct or remove it");
            if is_guard(&key) && scope == SettingsScope::User {
                let message = format!("`{key}`: {problem}; correct or remove it");
                self.guard_error = Some(Diagnostic::error(path.clone(), message));
            }
            self.problems.push(warning(ignored));
        }
    }

    fn update(&mut self, changes: &Changes, scope: SettingsScope) -> Result<(), ConfigError> {
        let result = self.write(changes);
        let content = match &result {
            Ok(Some(written)) => written.clone(),
            // It counts for this process all the same.
            _ => {
                let mut content = self.content.clone();
                changes.apply(&mut content);
                content
            }
        };
        self.accept(content, scope);
        result.map(drop)
    }

    /// Merges the changes into what is in the file now.
    fn write(&self, changes: &Changes) -> Result<Option<Map<String, Value>>, ConfigError> {
        let Some(file) = &self.file else { return Ok(None) };
        let mut open = file.open()?;
        let before = open.content.clone();
        migrate(&mut open.content);
        changes.apply(&mut open.content);
        if open.content != before {
            open.write()?;
        }
        Ok(Some(open.content))
    }
}

/// The settings, with where they come from. The later counts: user, project if it is trusted,
/// overrides.
#[derive(Debug)]
pub struct SettingsStore {
    user: Layer,
    project: Layer,
    trusted: bool,
    overrides: Map<String, Value>,
    /// What is wrong with `guard` in the overrides.
    guard_error: Option<Diagnostic>,
    settings: Settings,
}

fn is_guard(key: &str) -> bool {
    key == "guard" || key.starts_with("guard.")
}

impl SettingsStore {
    /// Reads both files. Neither has to exist; what is wrong with them is in
    /// [`diagnostics`](Self::diagnostics).
    pub fn load(environment: &Environment, trusted: bool) -> Self {
        let user = environment.agent_directory.join("settings.json");
        let project = environment.project_directory().join("settings.json");
        Self::new(
            Layer::load(user, SettingsScope::User),
            Layer::load(project, SettingsScope::Project),
            trusted,
        )
    }

    /// Settings without files.
    pub fn in_memory(settings: Map<String, Value>) -> Self {
        let mut user = Layer::default();
        user.accept(settings, SettingsScope::User);
        Self::new(user, Layer::default(), true)
    }

    fn new(user: Layer, project: Layer, trusted: bool) -> Self {
        let (overrides, settings) = (Map::new(), Settings::default());
        let guard_error = None;
        let mut store = Self { user, project, trusted, overrides, guard_error, settings };
        store.combine();
        store
    }

    /// What counts.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What one file says. Lists of resources are not in [`settings`](Self::settings) combined:
    /// they are relative to different directories, so the loader takes them from here.
    pub fn scope(&self, scope: SettingsScope) -> Settings {
        match scope {
            SettingsScope::User => typed(&self.user.usable).unwrap_or_default(),
            SettingsScope::Project if self.trusted => {
                typed(&self.project.usable).unwrap_or_default()
            }
            SettingsScope::Project => Settings::default(),
        }
    }

    /// Where sessions are kept. The project is asked even if it is not trusted, since the session
    /// is found before trust is decided.
    pub fn session_dir(&self) -> Option<&str> {
        let layers = [&self.overrides, &self.project.usable, &self.user.usable];
        let named = layers.into_iter().find_map(|layer| layer.get("sessionDir"));
        named.and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// What is wrong with the files. Nothing is said about a project that is not trusted.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let project = if self.trusted { self.project.problems.as_slice() } else { &[] };
        self.user.problems.iter().chain(project).cloned().collect()
    }

    /// What is wrong with what is said about `guard`. Then nothing may run: nobody knows what was
    /// meant to hold it.
    pub fn guard_error(&self) -> Option<&Diagnostic> {
        self.guard_error.as_ref().or(self.user.guard_error.as_ref())
    }

    /// Keys that the files name without effect, because nothing acts on them yet.
    pub fn keys_without_effect(&self) -> Vec<&'static SettingKey> {
        KEYS.iter().filter(|key| !key.acted_on && self.names(key.name)).collect()
    }

    /// Keys that nobody here knows. They are kept.
    pub fn unknown_keys(&self) -> Vec<&str> {
        let known = |name: &str| KEYS.iter().any(|key| key.name == name);
        self.contents().flat_map(Map::keys).map(String::as_str).filter(|n| !known(n)).collect()
    }

    fn names(&self, key: &str) -> bool {
        self.contents().any(|content| content.contains_key(key))
    }

    fn contents(&self) -> impl Iterator<Item = &Map<String, Value>> {
        let project = self.trusted.then_some(&self.project.content);
        [&self.user.content].into_iter().chain(project)
    }

    /// The project's file counts.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Whether the project's file counts.
    pub fn set_trusted(&mut self, trusted: bool) {
        self.trusted = trusted;
        self.combine();
    }

    /// What flags and the environment say. Replaces what they said before.
    pub fn set_overrides(&mut self, overrides: Map<String, Value>) {
        self.overrides = overrides;
        let problems = prune(&mut self.overrides);
        let guard = problems.into_iter().find(|(key, _)| is_guard(key));
        self.guard_error =
            guard.map(|(key, problem)| Diagnostic::error(None, format!("`{key}`: {problem}")));
        self.combine();
    }

    /// Reads both files again. One that is broken now leaves what was known.
    pub fn reload(&mut self) {
        self.user.reload(SettingsScope::User);
        self.project.reload(SettingsScope::Project);
        self.combine();
    }

    /// Changes single fields of a file, and nothing else in it: the file is read again first. The
    /// changes count for this process even if they could not be written. A project that is not
    /// trusted is left alone.
    pub fn update(
        &mut self,
        scope: SettingsScope,
        change: impl FnOnce(&mut Changes),
    ) -> Result<(), ConfigError> {
        let mut changes = Changes::default();
        change(&mut changes);
        let result = match scope {
            SettingsScope::User => self.user.update(&changes, scope),
            SettingsScope::Project if self.trusted => self.project.update(&changes, scope),
            SettingsScope::Project => {
                let path = self.project.file.as_ref().map(|file| file.path.clone());
                Err(ConfigError::NotTrusted { path: path.unwrap_or_default() })
            }
        };
        self.combine();
        result
    }

    fn combine(&mut self) {
        let mut all = self.user.usable.clone();
        if self.trusted {
            merge(&mut all, &self.project.usable);
        }
        merge(&mut all, &self.overrides);
        // Each layer fits, and so does what they make together.
        self.settings = typed(&all).unwrap_or_default();
    }
}
