//! `mcp-auth.json`, which other programs use at the same time.
//!
//! Entries are by name and URL of the server, so that servers of one URL can have different
//! accounts. Older versions wrote entries by URL alone; the first server that reads one owns it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_config::ConfigError;
use pi_config::file::JsonFile;
use pi_config::lock::{Lock, Wait};
use pi_fs::Access;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use url::Url;

use pi_config::mcp::namespace;

/// Time after which the lock of the file is stale.
const STALE: Duration = Duration::from_secs(30);
/// Time after which the lock of a renewal is stale. Its holder renews it while it waits for the
/// authorization server.
const RENEWAL_STALE: Duration = Duration::from_secs(20);

/// An entry of the file.
pub(super) type Entry = Map<String, Value>;

/// The keys of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    key: String,
    legacy: String,
}

impl Key {
    pub(super) fn new(name: &str, url: &Url) -> Self {
        let legacy = url.to_string();
        Self { key: format!("{}|{legacy}", namespace(name)), legacy }
    }
}

/// The outcome of a change that depends on the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The entry was changed.
    Made,
    /// The entry is another one now.
    Refused,
    /// There is no entry.
    NoEntry,
}

/// The stored credentials of all servers.
#[derive(Debug)]
pub(super) struct AuthFile(JsonFile);

impl AuthFile {
    pub(super) fn new(agent_directory: &Path) -> Self {
        let path = agent_directory.join("mcp-auth.json");
        Self(JsonFile { path, stale: STALE, access: Access::Private, end: "\n" })
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the entry of a server.
    pub(super) fn load(&self, key: &Key) -> Result<Option<Entry>, ConfigError> {
        let mut all = self.0.read()?.unwrap_or_default();
        if let Some(entry) = all.get_mut(&key.key) {
            return Ok(entry.as_object().cloned());
        }
        if !all.contains_key(&key.legacy) {
            return Ok(None);
        }
        let mut open = self.0.open()?;
        if let Some(entry) = open.content.shift_remove(&key.legacy) {
            open.content.entry(key.key.clone()).or_insert(entry);
            open.write()?;
        }
        Ok(open.content.get(&key.key).and_then(Value::as_object).cloned())
    }

    /// Changes the entry of a server, which is empty if there is none.
    pub(super) fn change(
        &self,
        key: &Key,
        change: impl FnOnce(&mut Entry),
    ) -> Result<(), ConfigError> {
        let mut open = self.0.open()?;
        let entry = open.content.entry(key.key.clone()).or_insert_with(|| Map::new().into());
        if !entry.is_object() {
            *entry = Map::new().into();
        }
        if let Value::Object(entry) = entry {
            change(entry);
        }
        open.write()
    }

    /// Changes the entry of a server if there is one and `is_wanted` returns true for it.
    pub(super) fn change_if(
        &self,
        key: &Key,
        is_wanted: impl FnOnce(&Entry) -> bool,
        change: impl FnOnce(&mut Entry),
    ) -> Result<Change, ConfigError> {
        let mut open = self.0.open()?;
        let Some(Value::Object(entry)) = open.content.get_mut(&key.key) else {
            return Ok(Change::NoEntry);
        };
        if !is_wanted(entry) {
            return Ok(Change::Refused);
        }
        change(entry);
        open.write()?;
        Ok(Change::Made)
    }

    /// Removes the entry of a server. Returns false if there was none.
    pub(super) fn remove(&self, key: &Key) -> Result<bool, ConfigError> {
        if self.0.read()?.is_none() {
            return Ok(false);
        }
        let mut open = self.0.open()?;
        let removed = open.content.shift_remove(&key.key);
        let removed = removed.or_else(|| open.content.shift_remove(&key.legacy)).is_some();
        if removed {
            open.write()?;
        }
        Ok(removed)
    }

    /// Waits for the lock of a renewal, which excludes other processes and other sessions of this
    /// one.
    pub(super) async fn lock_renewal(&self, key: &Key) -> Result<Lock, ConfigError> {
        self.0.create_directory()?;
        let path = self.renewal_path(key);
        let mut wait = Wait::new(RENEWAL_STALE);
        loop {
            if let Some(lock) = Lock::try_take(&path, RENEWAL_STALE)? {
                return Ok(lock);
            }
            tokio::time::sleep(wait.pause(&path)?).await;
        }
    }

    fn renewal_path(&self, key: &Key) -> PathBuf {
        let hash = Sha256::digest(key.key.as_bytes());
        let hex = pi_base::text::hex(&hash[..8]);
        self.path().with_file_name(format!("mcp-auth-refresh-{hex}"))
    }
}
