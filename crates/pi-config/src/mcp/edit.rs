//! Changes to `mcp.json`, which other programs and editors write too.
//!
//! Only the named entry changes: unknown keys, the order and the indentation stay. A change starts
//! from a fresh read under the lock of the file, and the file is replaced as a whole.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_fs::Access;

use crate::ConfigError;
use crate::file::{JsonFile, OpenFile};
use serde_json::{Map, Value};

use super::parse::is_override;
use super::{EditError, Scope, ServerConfig, ServerEntry, is_same_namespace, name_is_taken};
use crate::Environment;
use crate::exposure::Exposure;

const STALE: Duration = Duration::from_secs(10);

/// Returns the file at a path, with the properties of `mcp.json`.
pub(super) fn file(path: &Path) -> JsonFile {
    JsonFile { path: path.to_owned(), stale: STALE, access: Access::Default, end: "\n" }
}

/// An `mcp.json` to be changed.
#[derive(Debug, Clone)]
pub struct McpFile {
    file: JsonFile,
    scope: Scope,
    /// The user's file, if this is that of a project.
    user: Option<JsonFile>,
}

/// Changes to a server that exists.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ServerChange {
    /// New value of `enabled`.
    pub enabled: Option<bool>,
    /// New value of `exposure`.
    pub exposure: Option<Exposure>,
}

impl ServerChange {
    /// Enables or disables the server.
    pub fn enabled(enabled: bool) -> Self {
        Self { enabled: Some(enabled), ..Self::default() }
    }

    /// Changes the exposure of the server.
    pub fn exposure(exposure: Exposure) -> Self {
        Self { exposure: Some(exposure), ..Self::default() }
    }
}

impl McpFile {
    /// Returns the file of the user or of the project.
    pub fn new(environment: &Environment, scope: Scope) -> Self {
        let directory = match scope {
            Scope::User => environment.agent_directory.clone(),
            Scope::Project => environment.project_directory(),
        };
        let user =
            (scope == Scope::Project).then(|| file(&environment.agent_directory.join("mcp.json")));
        Self { file: file(&directory.join("mcp.json")), scope, user }
    }

    /// Returns the file to which changes of a server belong: the one that overrides it, else the
    /// one that defines it.
    pub fn of(entry: &ServerEntry) -> Self {
        let (path, scope) = match &entry.overridden_by {
            Some(path) => (path, Scope::Project),
            None => (&entry.source, entry.scope),
        };
        Self { file: file(path), scope, user: None }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Adds a server, or replaces the entry of this name. Returns true if there was one. An entry that
    /// would not be loaded is refused.
    pub fn add(&self, name: &str, entry: Map<String, Value>) -> Result<bool, EditError> {
        let entry = Value::Object(entry);
        let config = ServerConfig::parse(name, &entry);
        let checked = config.and_then(|config| match self.scope {
            Scope::Project => config.check_foreign(),
            Scope::User => Ok(()),
        });
        let invalid = |problem: String| {
            EditError::Invalid(format!("server \"{name}\"{}", problem.replacen('.', " ", 1)))
        };
        checked.map_err(invalid)?;
        let mut open = self.open()?;
        let servers = self.servers(&mut open)?;
        let others = servers.keys().cloned().chain(self.names_of_user());
        let is_taken = |other: &String| other != name && is_same_namespace(other, name);
        if let Some(other) = others.into_iter().find(is_taken) {
            return Err(invalid(name_is_taken(&other)));
        }
        let replaced = servers.insert(name.to_owned(), entry).is_some();
        self.write(&open)?;
        Ok(replaced)
    }

    /// Removes a server. Returns false if the file has none of this name.
    pub fn remove(&self, name: &str) -> Result<bool, EditError> {
        if !self.path().exists() {
            return Ok(false);
        }
        let mut open = self.open()?;
        let removed = self.servers(&mut open)?.shift_remove(name).is_some();
        if removed {
            self.write(&open)?;
        }
        Ok(removed)
    }

    /// Changes a server of this file.
    pub fn change(&self, name: &str, change: &ServerChange) -> Result<(), EditError> {
        let mut open = self.open()?;
        let servers = self.servers(&mut open)?;
        let Some(Value::Object(entry)) = servers.get_mut(name) else {
            let (path, name) = (self.path().to_owned(), name.to_owned());
            return Err(EditError::Unknown { path, name });
        };
        apply(entry, change);
        self.write(&open)
    }

    /// Changes a server that another file defines, by an entry that overrides it.
    pub fn override_server(&self, name: &str, change: &ServerChange) -> Result<(), EditError> {
        let mut open = self.open()?;
        let entry = self.servers(&mut open)?.entry(name).or_insert_with(|| Map::new().into());
        let Value::Object(entry) = entry else {
            let problem = format!("the entry \"{name}\" is not an object");
            return Err(EditError::Invalid(problem));
        };
        apply(entry, change);
        self.write(&open)
    }

    /// Returns the names in the user's file. A file that cannot be read has its own error elsewhere.
    fn names_of_user(&self) -> Vec<String> {
        let content = self.user.as_ref().and_then(|user| user.read().ok().flatten());
        let servers = content.and_then(|content| content.get("mcpServers")?.as_object().cloned());
        servers.map(|servers| servers.keys().cloned().collect()).unwrap_or_default()
    }

    fn open(&self) -> Result<OpenFile<'_>, EditError> {
        self.file.open().map_err(|source| self.failed(source))
    }

    fn write(&self, open: &OpenFile<'_>) -> Result<(), EditError> {
        open.write_as_found().map_err(|source| self.failed(source))
    }

    fn failed(&self, source: ConfigError) -> EditError {
        EditError::File { path: self.path().to_owned(), source }
    }

    fn servers<'o>(
        &self,
        open: &'o mut OpenFile<'_>,
    ) -> Result<&'o mut Map<String, Value>, EditError> {
        let servers = open.content.entry("mcpServers").or_insert_with(|| Map::new().into());
        servers.as_object_mut().ok_or_else(|| {
            let problem = "mcpServers is not an object".to_owned();
            self.failed(ConfigError::Shape { path: PathBuf::from(self.path()), problem })
        })
    }
}

/// Applies a change to an entry. Defaults are removed rather than written, except where they
/// override other values.
fn apply(entry: &mut Map<String, Value>, change: &ServerChange) {
    let keeps_defaults = is_override(entry);
    let mut set = |field: &str, value: Value, default: Value| {
        if value == default && !keeps_defaults {
            entry.shift_remove(field);
        } else {
            entry.insert(field.to_owned(), value);
        }
    };
    if let Some(enabled) = change.enabled {
        set("enabled", enabled.into(), true.into());
    }
    if let Some(exposure) = change.exposure {
        set("exposure", exposure.as_str().into(), Exposure::Codemode.as_str().into());
    }
}
