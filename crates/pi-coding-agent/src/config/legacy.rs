//! Credentials of old versions: `oauth.json` and `apiKeys` in the settings become `auth.json`.
//!
//! Only while there is no `auth.json`: later, what is missing from it was logged out.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::ConfigError;
use super::auth::{AuthStore, StoredCredential, legacy_path};
use super::file::JsonFile;
use crate::Diagnostic;

const STALE: Duration = Duration::from_secs(10);

/// What was done.
#[derive(Debug, Default)]
pub struct Migrated {
    /// The providers that have an entry now.
    pub providers: Vec<String>,
    /// What could not be taken over, and where it is.
    pub diagnostics: Vec<Diagnostic>,
}

/// Moves credentials of old versions to where they belong. Nothing is removed from its old place
/// before it is safe in the new one, and what does not fit stays where it is.
pub fn migrate_credentials(agent_directory: &Path) -> Result<Migrated, ConfigError> {
    let mut migrated = Migrated::default();
    let store = AuthStore::new(agent_directory);
    let tokens = legacy_path(agent_directory);
    let settings = JsonFile {
        path: agent_directory.join("settings.json"),
        stale: STALE,
        private: false,
        end: "",
    };
    // The usual case costs a look at three names.
    let keys = |content: &Map<String, Value>| content.contains_key("apiKeys");
    let has_keys = || settings.read().ok().flatten().as_ref().is_some_and(keys);
    if store.path().exists() || !(tokens.exists() || has_keys()) {
        return Ok(migrated);
    }
    let mut edit = store.edit()?;
    let mut entries = edit.entries().clone();
    let took_tokens = take_tokens(&tokens, &mut entries, &mut migrated);
    let mut open_settings = settings.open().map_err(|error| error.diagnostic());
    match &mut open_settings {
        Ok(open) => take_keys(&settings.path, &mut open.content, &mut entries, &mut migrated),
        Err(problem) => migrated.diagnostics.push(problem.clone()),
    }
    if migrated.providers.is_empty() {
        return Ok(migrated);
    }
    edit.replace(entries)?;
    if let Ok(open) = open_settings {
        open.write()?;
    }
    if took_tokens {
        let mut name = tokens.as_os_str().to_owned();
        name.push(".migrated");
        fs::rename(&tokens, name).map_err(ConfigError::write(&tokens))?;
    }
    Ok(migrated)
}

/// Takes over tokens; whether the file was read.
fn take_tokens(path: &Path, entries: &mut Map<String, Value>, migrated: &mut Migrated) -> bool {
    let file = JsonFile { path: path.to_owned(), stale: STALE, private: true, end: "" };
    let old = match file.read() {
        Ok(old) => old,
        Err(error) => {
            migrated.diagnostics.push(error.diagnostic());
            return false;
        }
    };
    let found = old.is_some();
    for (provider, tokens) in old.unwrap_or_default() {
        let Value::Object(fields) = tokens else {
            let message = format!("{provider:?} is not a login and was left out; log in again");
            migrated.diagnostics.push(Diagnostic::warning(path.to_owned(), message));
            continue;
        };
        let mut entry = Map::from_iter([("type".to_owned(), "oauth".into())]);
        entry.extend(fields);
        entries.insert(provider.clone(), entry.into());
        migrated.providers.push(provider);
    }
    found
}

/// Takes over keys. Those that do not fit stay.
fn take_keys(
    path: &Path,
    settings: &mut Map<String, Value>,
    entries: &mut Map<String, Value>,
    migrated: &mut Migrated,
) {
    let Some(Value::Object(keys)) = settings.get_mut("apiKeys") else { return };
    let mut rest = Map::new();
    for (provider, key) in std::mem::take(keys) {
        match (key, entries.contains_key(&provider)) {
            (Value::String(key), false) => {
                let entry = serde_json::to_value(StoredCredential::api_key(key));
                entries.insert(provider.clone(), entry.unwrap_or_default());
                migrated.providers.push(provider);
            }
            (key, _) => {
                let message = format!(
                    "`apiKeys` has a key for {provider:?} that was not taken over, \
                     since there is a login or it is not a text; remove it if you do not need it"
                );
                migrated.diagnostics.push(Diagnostic::warning(path.to_owned(), message));
                rest.insert(provider, key);
            }
        }
    }
    if rest.is_empty() {
        settings.shift_remove("apiKeys");
    } else {
        settings.insert("apiKeys".to_owned(), rest.into());
    }
}
