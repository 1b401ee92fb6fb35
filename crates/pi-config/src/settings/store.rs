//! Reading, combining and writing the settings of a user and a project.

use std::path::PathBuf;
use std::time::Duration;

use pi_fs::Access;
use serde_json::{Map, Value};

use super::catalog::value_at;
use super::layer::{InvalidEntry, merge, migrate, prune, remove_user_only, typed};
use super::{SettingKey, Settings, keys};
use crate::ConfigError;
use crate::file::JsonFile;
use crate::{Diagnostic, Environment};

const STALE: Duration = Duration::from_secs(10);

/// The owner of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsScope {
    /// The user: the settings apply to all projects.
    User,
    /// A single project.
    Project,
}

/// SettingsChanges to single fields of a settings file.
#[derive(Debug, Default)]
pub struct SettingsChanges(Vec<Change>);

#[derive(Debug)]
struct Change {
    path: Vec<String>,
    value: NewValue,
}

/// The new value of a field.
enum NewValue {
    Set(Value),
    Remove,
    /// Computed from the old value, which another program may have changed meanwhile.
    Edit(Box<dyn Fn(Option<&Value>) -> Option<Value> + Send>),
}

impl std::fmt::Debug for NewValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Set(value) => f.debug_tuple("Set").field(value).finish(),
            Self::Remove => f.write_str("Remove"),
            Self::Edit(_) => f.write_str("Edit"),
        }
    }
}

impl SettingsChanges {
    /// Sets the field at a path.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) {
        self.push(path, NewValue::Set(value.into()));
    }

    /// Removes the field at a path.
    pub fn remove(&mut self, path: &[&str]) {
        self.push(path, NewValue::Remove);
    }

    /// Changes the field at a path. `edit` gets the value in the file, under its lock; `None`
    /// removes the field.
    pub fn edit(
        &mut self,
        path: &[&str],
        edit: impl Fn(Option<&Value>) -> Option<Value> + Send + 'static,
    ) {
        self.push(path, NewValue::Edit(Box::new(edit)));
    }

    fn push(&mut self, path: &[&str], value: NewValue) {
        let path = path.iter().map(|name| (*name).to_owned()).collect();
        self.0.push(Change { path, value });
    }

    fn apply(&self, layer: &mut Map<String, Value>) {
        for Change { path, value } in &self.0 {
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
            let new = match value {
                NewValue::Set(value) => Some(value.clone()),
                NewValue::Remove => None,
                NewValue::Edit(edit) => edit(at.get(last)),
            };
            match new {
                Some(value) => at.insert(last.clone(), value),
                None => at.shift_remove(last),
            };
        }
    }
}

/// A settings file with its problems.
#[derive(Debug, Clone, Default)]
struct Layer {
    file: Option<JsonFile>,
    /// Content of the file, with old keys migrated.
    content: Map<String, Value>,
    /// Content without invalid values.
    valid: Map<String, Value>,
    problems: Vec<Diagnostic>,
    /// Problem with a key that must not be ignored, or with a file that has one.
    guard_error: Option<Diagnostic>,
    /// Problem that hides the choice of a model: a file without known content, or an invalid key.
    model_error: Option<Diagnostic>,
    /// The file was read at least once.
    known: bool,
}

/// Keys that choose the model of a session.
const MODEL_KEYS: [&str; 2] = ["defaultProvider", "defaultModel"];

impl Layer {
    fn load(path: PathBuf, scope: SettingsScope) -> Self {
        let file = JsonFile { path, stale: STALE, access: Access::Default, end: "" };
        let mut layer = Self { file: Some(file), ..Self::default() };
        layer.reload(scope);
        layer
    }

    /// Reads the file again. If it cannot be read, the known content stays.
    fn reload(&mut self, scope: SettingsScope) {
        match self.file.as_ref().map(JsonFile::read) {
            Some(Ok(content)) => self.accept(content.unwrap_or_default(), scope),
            Some(Err(error)) if may_concern_guard(&error, scope) => {
                self.problems.clear();
                self.guard_error = Some(error.diagnostic());
            }
            Some(Err(error)) => {
                let mut problem = error.diagnostic();
                self.model_error = (!self.known).then(|| problem.clone());
                problem.message.push_str("; it is ignored until then");
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
        self.valid = content.clone();
        self.content = content;
        if scope == SettingsScope::Project {
            for name in remove_user_only(&mut self.valid) {
                let message =
                    format!("`{name}` is ignored in a project's settings; move it to your own");
                self.problems.push(warning(message));
            }
        }
        (self.guard_error, self.model_error, self.known) = (None, None, true);
        for InvalidEntry { key, problem } in prune(&mut self.valid) {
            if must_be_valid(&key) {
                let message = format!("`{key}`: {problem}; correct or remove it");
                self.guard_error = Some(Diagnostic::error(path.clone(), message));
                continue;
            }
            let message = format!("`{key}` is ignored: {problem}; correct or remove it");
            let problem = warning(message);
            if MODEL_KEYS.contains(&key.as_str()) {
                self.model_error = Some(problem.clone());
            }
            self.problems.push(problem);
        }
    }

    fn update(
        &mut self,
        changes: &SettingsChanges,
        scope: SettingsScope,
    ) -> Result<(), ConfigError> {
        let result = self.write(changes);
        let content = match &result {
            Ok(Some(written)) => written.clone(),
            // The change applies to this process in any case.
            _ => {
                let mut content = self.content.clone();
                changes.apply(&mut content);
                content
            }
        };
        self.accept(content, scope);
        result.map(drop)
    }

    /// Merges the changes into the current content of the file.
    fn write(&self, changes: &SettingsChanges) -> Result<Option<Map<String, Value>>, ConfigError> {
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

/// The settings of the user, the project if it is trusted, and the overrides. Later ones take
/// precedence.
#[derive(Debug, Clone)]
pub struct SettingsStore {
    user: Layer,
    project: Layer,
    trusted: bool,
    overrides: Map<String, Value>,
    /// Problem with a key of the overrides that must not be ignored.
    guard_error: Option<Diagnostic>,
    settings: Settings,
}

/// Returns the keys of a file whose invalid values must not be ignored.
fn strict_keys(scope: SettingsScope) -> impl Iterator<Item = &'static str> {
    let applies = move |key: &&SettingKey| scope == SettingsScope::User || !key.user_only;
    keys().filter(|key| key.is_strict).filter(applies).map(|key| key.name)
}

fn must_be_valid(key: &str) -> bool {
    let group = key.split('.').next().unwrap_or_default();
    strict_keys(SettingsScope::User).any(|name| name == group)
}

/// Returns true if a file that cannot be used may contain a key that must not be ignored. The
/// content of an unreadable file is unknown, so it may.
fn may_concern_guard(error: &ConfigError, scope: SettingsScope) -> bool {
    if matches!(error, ConfigError::Read { .. }) && scope == SettingsScope::User {
        return true;
    }
    let text = error.path().map(std::fs::read).and_then(Result::ok).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    strict_keys(scope).any(|key| text.contains(&format!("\"{key}\"")))
}

impl SettingsStore {
    /// Reads both files. Neither has to exist. Their problems are in
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

    /// Creates settings without files.
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

    /// Returns the combined settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the settings of one file. Resources must be loaded from here and not from the
    /// combined settings, since the paths of each file are relative to another directory.
    pub fn scope(&self, scope: SettingsScope) -> Settings {
        match scope {
            SettingsScope::User => typed(&self.user.valid).unwrap_or_default(),
            SettingsScope::Project if self.trusted => {
                typed(&self.project.valid).unwrap_or_default()
            }
            SettingsScope::Project => Settings::default(),
        }
    }

    /// Returns the directory of session files. The project's file counts even if the project is not
    /// trusted, since the session is found before trust is decided.
    pub(crate) fn session_dir(&self) -> Option<&str> {
        let layers = [&self.overrides, &self.project.valid, &self.user.valid];
        let named = layers.into_iter().find_map(|layer| layer.get("sessionDir"));
        named.and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Returns the problems of the files, except for the [`guard_error`](Self::guard_error). The
    /// file of an untrusted project is not reported.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let project = if self.trusted { self.project.problems.as_slice() } else { &[] };
        self.user.problems.iter().chain(project).cloned().collect()
    }

    /// Returns the problem with a setting that must not be ignored, such as `guard`. No command may
    /// run then.
    pub fn guard_error(&self) -> Option<&Diagnostic> {
        let project = if self.trusted { self.project.guard_error.as_ref() } else { None };
        self.guard_error.as_ref().or(self.user.guard_error.as_ref()).or(project)
    }

    /// Returns the problem because of which it is unknown whether the files choose a model. A
    /// session that is started without one must not choose another then: the prompt would go to a
    /// provider that the user may not want.
    pub fn model_error(&self) -> Option<&Diagnostic> {
        let project = if self.trusted { self.project.model_error.as_ref() } else { None };
        self.user.model_error.as_ref().or(project)
    }

    /// Returns the keys of the files that have no effect in this version.
    pub fn keys_without_effect(&self) -> Vec<&'static SettingKey> {
        keys().filter(|key| key.idle.is_some() && self.has_key(key.name)).collect()
    }

    /// Returns the keys of the files that are unknown. They are kept.
    pub fn unknown_keys(&self) -> Vec<&str> {
        let known = |name: &str| keys().any(|key| key.name == name);
        self.contents().flat_map(Map::keys).map(String::as_str).filter(|n| !known(n)).collect()
    }

    /// Returns the keys of an untrusted project's file that would restrict the agent.
    pub fn untrusted_restrictions(&self) -> Vec<&'static str> {
        if self.trusted {
            return Vec::new();
        }
        let keys = strict_keys(SettingsScope::Project);
        keys.filter(|key| self.project.content.contains_key(*key)).collect()
    }

    fn has_key(&self, key: &str) -> bool {
        self.contents().any(|content| content.contains_key(key))
    }

    fn contents(&self) -> impl Iterator<Item = &Map<String, Value>> {
        let project = self.trusted.then_some(&self.project.content);
        [&self.user.content].into_iter().chain(project)
    }

    /// Returns true if the project's file applies.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Sets whether the project's file applies.
    pub fn set_trusted(&mut self, trusted: bool) {
        self.trusted = trusted;
        self.combine();
    }

    /// Replaces the overrides, which come from flags and the environment.
    pub fn set_overrides(&mut self, overrides: Map<String, Value>) {
        self.overrides = overrides;
        let mut invalid = prune(&mut self.overrides).into_iter();
        let invalid = invalid.find(|entry| must_be_valid(&entry.key));
        self.guard_error = invalid.map(|InvalidEntry { key, problem }| {
            Diagnostic::error(None, format!("`{key}`: {problem}"))
        });
        self.combine();
    }

    /// Reads both files again. If a file is broken, its known content stays.
    pub fn reload(&mut self) {
        self.user.reload(SettingsScope::User);
        self.project.reload(SettingsScope::Project);
        self.combine();
    }

    /// SettingsChanges single fields of a file and nothing else in it: the file is read again first. The
    /// changes apply to this process even if they cannot be written. The file of an untrusted
    /// project is not changed.
    pub fn update(
        &mut self,
        scope: SettingsScope,
        change: impl FnOnce(&mut SettingsChanges),
    ) -> Result<(), ConfigError> {
        let mut changes = SettingsChanges::default();
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

    /// Returns the value at a path, and the file that decides; `None` if no file has one.
    pub fn value(&self, path: &[String]) -> Option<(Value, SettingsScope)> {
        let layers = [
            (&self.project, SettingsScope::Project, self.trusted),
            (&self.user, SettingsScope::User, true),
        ];
        let is_set = |layer: &Layer| value_at(&layer.valid, path).is_some();
        let mut layers = layers.into_iter();
        let set = layers.find(|(layer, _, applies)| *applies && is_set(layer));
        let (_, scope, _) = set?;
        Some((value_at(&self.combined(), path)?.clone(), scope))
    }

    /// Returns the values of all files combined, without defaults.
    pub fn combined(&self) -> Map<String, Value> {
        let mut all = self.user.valid.clone();
        if self.trusted {
            merge(&mut all, &self.project.valid);
        }
        merge(&mut all, &self.overrides);
        all
    }

    fn combine(&mut self) {
        let all = self.combined();
        // Each layer is valid, and so is their combination.
        self.settings = typed(&all).unwrap_or_default();
    }
}
