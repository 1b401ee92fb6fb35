//! Changes to `models-store.json`, the cache of newer model records.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_fs::Access;
use serde_json::{Map, Value};

use pi_config::ConfigError;
use pi_config::file::JsonFile;

/// Time after which a lock is stale. Nothing is downloaded under the lock.
const STALE: Duration = Duration::from_secs(30);

/// The file `models-store.json`, which other programs use at the same time.
#[derive(Debug)]
pub(crate) struct ModelsStore {
    file: JsonFile,
}

impl ModelsStore {
    /// Returns the store in the agent directory. Reads and creates nothing yet.
    pub(crate) fn new(agent_directory: &Path) -> Self {
        let path = agent_directory.join("models-store.json");
        Self { file: JsonFile { path, stale: STALE, access: Access::Private, end: "" } }
    }

    /// Returns the entries by provider. A file that cannot be used is empty: it is a cache.
    pub(crate) fn read(&self) -> Map<String, Value> {
        self.file.read().ok().flatten().unwrap_or_default()
    }

    /// Changes the entries under the lock. A file that is not a JSON object is moved aside first;
    /// its new path is returned.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> Result<Option<PathBuf>, ConfigError> {
        let mut aside = None;
        let mut open = match self.file.open() {
            Err(ConfigError::Syntax { path, .. } | ConfigError::Shape { path, .. }) => {
                let broken = path.with_extension("json.broken");
                std::fs::rename(&path, &broken).map_err(ConfigError::write(&path))?;
                aside = Some(broken);
                self.file.open()?
            }
            opened => opened?,
        };
        change(&mut open.content);
        open.write()?;
        Ok(aside)
    }
}
