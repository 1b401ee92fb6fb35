//! The file `auth.json`, which other programs use at the same time.

use std::fmt;
use std::fs::{self, Metadata, Permissions};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use pi_base::lock;
use pi_fs::Access;
use serde_json::{Map, Value};

use super::StoredCredential;
use crate::ConfigError;
use crate::Diagnostic;
use crate::file::{JsonFile, OpenFile, kind};
use crate::lock::{Lock, Wait};

/// Time after which a lock is stale. A token may be renewed under the lock, which takes a request.
const STALE: Duration = Duration::from_secs(30);

type Entries = Map<String, Value>;

/// The stored credentials. The store notices when another program changes the file.
pub struct AuthStore {
    file: JsonFile,
    cached: Mutex<Option<(Stamp, Arc<Entries>)>>,
}

/// The lock of the file, taken without reading the file yet.
#[derive(Debug)]
pub struct AuthLock(Lock);

/// Identifies a version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
    /// A file that was replaced twice in a moment can keep its time and its size.
    number: u64,
}

impl AuthStore {
    /// Returns the store in the agent directory. Reads and creates nothing yet.
    pub fn new(agent_directory: &Path) -> Self {
        let path = agent_directory.join("auth.json");
        let file = JsonFile { path, stale: STALE, access: Access::Private, end: "" };
        Self { file, cached: Mutex::default() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Returns the providers that have an entry, in the order of the file.
    pub fn list(&self) -> Result<Vec<String>, ConfigError> {
        Ok(self.entries()?.keys().cloned().collect())
    }

    /// Returns the entry of a provider. An entry that is not a known credential is an error and
    /// stays in the file.
    pub fn get(&self, provider: &str) -> Result<Option<StoredCredential>, ConfigError> {
        self.entries()?.get(provider).map(|entry| self.parse(provider, entry)).transpose()
    }

    /// Returns the entry of a provider for a request. A file that cannot be read counts as empty;
    /// [`check`](Self::check) reports it.
    pub fn look_up(&self, provider: &str) -> Result<Option<StoredCredential>, String> {
        if self.entries().is_err() {
            return Ok(None);
        }
        self.get(provider).map_err(|error| error.to_string())
    }

    /// Stores the entry of a provider.
    pub fn set(&self, provider: &str, credential: &StoredCredential) -> Result<(), ConfigError> {
        self.edit()?.set(provider, credential)
    }

    /// Removes the entry of a provider. Returns true if there was one.
    pub fn remove(&self, provider: &str) -> Result<bool, ConfigError> {
        self.edit()?.remove(provider)
    }

    /// Takes the lock, so that no other program changes the file until the result is dropped: the
    /// renewal of a token reads it, asks the provider and stores the new one. Blocks while another
    /// program holds the lock.
    pub fn edit(&self) -> Result<AuthEdit<'_>, ConfigError> {
        Ok(AuthEdit { open: self.file.open()?, store: self })
    }

    /// Waits for the lock without blocking the thread. Dropping the future ends the wait. `None` if
    /// `is_done` becomes true first, which is asked before each try: another process may do the
    /// work for which the lock is needed.
    pub async fn lock(
        &self,
        is_done: impl Fn(&Self) -> bool,
    ) -> Result<Option<AuthLock>, ConfigError> {
        self.file.create_directory()?;
        let mut wait = Wait::new(STALE);
        loop {
            if is_done(self) {
                return Ok(None);
            }
            if let Some(lock) = Lock::try_take(&self.file.path, STALE)? {
                return Ok(Some(AuthLock(lock)));
            }
            tokio::time::sleep(wait.pause(&self.file.path)?).await;
        }
    }

    /// Reads the file under a lock that is held already.
    pub fn edit_locked(&self, lock: AuthLock) -> Result<AuthEdit<'_>, ConfigError> {
        Ok(AuthEdit { open: self.file.open_locked(lock.0)?, store: self })
    }

    /// Returns the problems of the file. Makes the file private if other users can read it.
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        problems.extend(self.repair_mode());
        match self.entries() {
            Ok(entries) => {
                let invalid = |(name, entry): (&String, &Value)| self.parse(name, entry).err();
                problems.extend(entries.iter().filter_map(invalid).map(|error| error.diagnostic()));
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
        // Anything but a regular file is reported when it is read.
        if mode & 0o077 == 0 || !metadata.is_file() {
            return None;
        }
        let message = match fs::set_permissions(&path, Permissions::from_mode(0o600)) {
            Ok(()) => format!(
                "other users could read it (mode {mode:o}); the mode is now 600. \
                 If the machine has other users, consider renewing your keys"
            ),
            Err(error) => format!(
                "other users can read it (mode {mode:o}), and the mode cannot be changed: \
                 {error}; run `chmod 600` on it"
            ),
        };
        Some(Diagnostic::warning(path, message))
    }

    #[cfg(not(unix))]
    fn repair_mode(&self) -> Option<Diagnostic> {
        None
    }

    fn entries(&self) -> Result<Arc<Entries>, ConfigError> {
        let mut cached = lock(&self.cached);
        // Taken before reading: a write in between is noticed the next time.
        let stamp = fs::metadata(self.path()).ok().map(|metadata| Stamp::of(&metadata));
        if let (Some((old, entries)), Some(now)) = (&*cached, &stamp)
            && old == now
        {
            return Ok(entries.clone());
        }
        let entries = Arc::new(self.file.read()?.unwrap_or_default());
        *cached = stamp.map(|stamp| (stamp, entries.clone()));
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

    fn clear_cache(&self) {
        *lock(&self.cached) = None;
    }
}

// Contains secrets.
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
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let number = 0;
        Self { modified: metadata.modified().ok(), size: metadata.len(), number }
    }
}

/// The store under its lock.
pub struct AuthEdit<'s> {
    open: OpenFile<'s>,
    store: &'s AuthStore,
}

impl AuthEdit<'_> {
    /// Returns the current entry of a provider.
    pub fn get(&self, provider: &str) -> Result<Option<StoredCredential>, ConfigError> {
        let entry = self.open.content.get(provider);
        entry.map(|entry| self.store.parse(provider, entry)).transpose()
    }

    /// Stores the entry of a provider.
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

    /// Removes the entry of a provider. Returns true if there was one.
    pub fn remove(&mut self, provider: &str) -> Result<bool, ConfigError> {
        if self.open.content.shift_remove(provider).is_none() {
            return Ok(false);
        }
        self.write().map(|()| true)
    }

    fn write(&self) -> Result<(), ConfigError> {
        self.store.clear_cache();
        self.open.write()
    }
}
