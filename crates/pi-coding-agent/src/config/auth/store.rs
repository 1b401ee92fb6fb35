//! The file of keys and tokens, shared with other programs.

use std::fmt;
use std::fs::{self, Metadata, Permissions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use super::StoredCredential;
use crate::Diagnostic;
use crate::config::ConfigError;
use crate::config::file::{JsonFile, OpenFile, kind};

/// A token may be renewed under the lock, which takes the time of a request.
const STALE: Duration = Duration::from_secs(30);

type Entries = Map<String, Value>;

/// `auth.json`. What is in memory follows the file.
pub struct AuthStore {
    file: JsonFile,
    known: Mutex<Option<(Stamp, Arc<Entries>)>>,
}

/// Tells whether a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
}

impl AuthStore {
    /// The store in the agent's directory. Nothing is read or created yet.
    pub fn new(agent_directory: &Path) -> Self {
        let path = agent_directory.join("auth.json");
        let file = JsonFile { path, stale: STALE, private: true, end: "" };
        Self { file, known: Mutex::default() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// The providers that have an entry, in the order of the file.
    pub fn list(&self) -> Result<Vec<String>, ConfigError> {
        Ok(self.entries()?.keys().cloned().collect())
    }

    /// The entry of a provider. One of a shape that nobody here knows is an error, and stays.
    pub fn get(&self, provider: &str) -> Result<Option<StoredCredential>, ConfigError> {
        self.entries()?.get(provider).map(|entry| self.parse(provider, entry)).transpose()
    }

    /// The entry of a provider, for those who look for a key: a file that cannot be read at all
    /// has none, and [`check`](Self::check) says so.
    pub fn look_up(&self, provider: &str) -> Result<Option<StoredCredential>, String> {
        if self.entries().is_err() {
            return Ok(None);
        }
        self.get(provider).map_err(|error| error.to_string())
    }

    /// Stores an entry.
    pub fn set(&self, provider: &str, credential: &StoredCredential) -> Result<(), ConfigError> {
        self.edit()?.set(provider, credential)
    }

    /// Removes an entry; whether there was one.
    pub fn remove(&self, provider: &str) -> Result<bool, ConfigError> {
        self.edit()?.remove(provider)
    }

    /// Takes the lock, so that nobody changes the file until the result is dropped: renewing a
    /// token looks at it, asks the provider and stores what it got. Blocks while another program
    /// has the lock.
    pub fn edit(&self) -> Result<AuthEdit<'_>, ConfigError> {
        Ok(AuthEdit { open: self.file.open()?, store: self })
    }

    /// What is wrong with the file. Repairs its mode: nobody else may read it.
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        problems.extend(self.repair_mode());
        match self.entries() {
            Ok(entries) => {
                let wrong = |(name, entry): (&String, &Value)| self.parse(name, entry).err();
                problems.extend(entries.iter().filter_map(wrong).map(|error| error.diagnostic()));
            }
            Err(error) => problems.push(error.diagnostic()),
        }
        problems
    }

    #[cfg(unix)]
    fn repair_mode(&self) -> Option<Diagnostic> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path().to_owned();
        let metadata = fs::metadata(&path).ok()?;
        let mode = metadata.permissions().mode() & 0o777;
        // What is not a file is not ours, and is reported as what cannot be read.
        if mode & 0o077 == 0 || !metadata.is_file() {
            return None;
        }
        let message = match fs::set_permissions(&path, Permissions::from_mode(0o600)) {
            Ok(()) => format!(
                "others could read it (mode {mode:o}); now only you can. \
                 If the machine has other users, consider renewing your keys"
            ),
            Err(error) => format!(
                "others can read it (mode {mode:o}), and that cannot be changed: {error}; \
                 run `chmod 600` on it"
            ),
        };
        Some(Diagnostic::warning(path, message))
    }

    #[cfg(not(unix))]
    fn repair_mode(&self) -> Option<Diagnostic> {
        None
    }

    fn entries(&self) -> Result<Arc<Entries>, ConfigError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at before reading: a write in between shows at the next look.
        let stamp = fs::metadata(self.path()).ok().map(|metadata| Stamp::of(&metadata));
        if let (Some((old, entries)), Some(now)) = (&*known, &stamp)
            && old == now
        {
            return Ok(entries.clone());
        }
        let entries = Arc::new(self.file.read()?.unwrap_or_default());
        *known = stamp.map(|stamp| (stamp, entries.clone()));
        Ok(entries)
    }

    fn parse(&self, provider: &str, entry: &Value) -> Result<StoredCredential, ConfigError> {
        serde::Deserialize::deserialize(entry).map_err(|error: serde_json::Error| {
            let problem =
                if entry.is_object() { error.to_string() } else { kind(entry).to_owned() };
            self.error(provider, format!("not a credential ({problem}); log in again"))
        })
    }

    fn error(&self, provider: &str, problem: String) -> ConfigError {
        let (path, provider) = (self.path().to_owned(), provider.to_owned());
        ConfigError::Credential { path, provider, problem }
    }

    fn forget(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

// Secrets are not for logs.
impl fmt::Debug for AuthStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthStore").field("path", &self.file.path).finish_non_exhaustive()
    }
}

impl fmt::Debug for AuthEdit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthEdit").field("store", self.store).finish_non_exhaustive()
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { modified: metadata.modified().ok(), size: metadata.len() }
    }
}

/// The store while nobody else may change it.
pub struct AuthEdit<'s> {
    open: OpenFile<'s>,
    store: &'s AuthStore,
}

impl AuthEdit<'_> {
    /// The entry of a provider as it is in the file now.
    pub fn get(&self, provider: &str) -> Result<Option<StoredCredential>, ConfigError> {
        let entry = self.open.content.get(provider);
        entry.map(|entry| self.store.parse(provider, entry)).transpose()
    }

    /// Stores an entry.
    pub fn set(
        &mut self,
        provider: &str,
        credential: &StoredCredential,
    ) -> Result<(), ConfigError> {
        let entry = serde_json::to_value(credential)
            .map_err(|error| self.store.error(provider, format!("cannot be stored: {error}")))?;
        self.open.content.insert(provider.to_owned(), entry);
        self.write()
    }

    /// Removes an entry; whether there was one.
    pub fn remove(&mut self, provider: &str) -> Result<bool, ConfigError> {
        if self.open.content.shift_remove(provider).is_none() {
            return Ok(false);
        }
        self.write().map(|()| true)
    }

    fn write(&self) -> Result<(), ConfigError> {
        self.store.forget();
        self.open.write()
    }

    /// All entries, to be changed together with [`replace`](Self::replace).
    pub(in crate::config) fn entries(&self) -> &Entries {
        &self.open.content
    }

    pub(in crate::config) fn replace(&mut self, entries: Entries) -> Result<(), ConfigError> {
        self.open.content = entries;
        self.write()
    }
}

/// Where the tokens of old versions were.
pub(in crate::config) fn legacy_path(agent_directory: &Path) -> PathBuf {
    agent_directory.join("oauth.json")
}
