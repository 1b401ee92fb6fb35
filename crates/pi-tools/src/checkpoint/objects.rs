//! The object store: contents of files, each stored once under its hash.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::CheckpointError;

/// A directory of contents.
#[derive(Debug)]
pub(super) struct Objects {
    directory: PathBuf,
}

/// Returns the hash of a content, which is its name.
pub(super) fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Objects {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Returns true if contents were stored.
    pub(super) fn exist(&self) -> bool {
        self.directory.exists()
    }

    /// Stores a content.
    pub(super) fn write(&self, hash: &str, content: &[u8]) -> Result<(), CheckpointError> {
        let path = self.path(hash);
        if path.exists() {
            return Ok(());
        }
        let failed = || CheckpointError::io("write", &path);
        let directory = path.parent().unwrap_or(&self.directory);
        std::fs::create_dir_all(directory).map_err(failed())?;
        // Renamed when it is complete: the content of an object must match its name.
        let mut new = tempfile::NamedTempFile::new_in(directory).map_err(failed())?;
        new.write_all(content).map_err(failed())?;
        new.persist(&path).map_err(|error| failed()(error.error))?;
        Ok(())
    }

    /// Reads a content and checks it against its hash.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, CheckpointError> {
        let path = self.path(name);
        let content = std::fs::read(&path).map_err(CheckpointError::io("read", &path))?;
        if hash(&content) != name {
            let damaged = std::io::Error::other("the content does not match its hash");
            return Err(CheckpointError::io("use", path)(damaged));
        }
        Ok(content)
    }

    /// Returns the size of all contents.
    pub(super) fn size(&self) -> Result<u64, CheckpointError> {
        let mut size = 0;
        self.each(|_, metadata| {
            size += metadata.len();
            Ok(())
        })?;
        Ok(size)
    }

    /// Removes all contents except these.
    pub(super) fn keep_only(&self, wanted: &HashSet<String>) -> Result<(), CheckpointError> {
        self.each(|path, _| {
            let parts = path.iter().rev().take(2).map(|part| part.to_string_lossy());
            let parts: Vec<_> = parts.collect();
            let name = format!("{}{}", parts[1], parts[0]);
            if wanted.contains(&name) { Ok(()) } else { std::fs::remove_file(path) }
        })
    }

    fn each(
        &self,
        mut visit: impl FnMut(&std::path::Path, std::fs::Metadata) -> std::io::Result<()>,
    ) -> Result<(), CheckpointError> {
        let failed = || CheckpointError::io("read", &self.directory);
        let directories = match std::fs::read_dir(&self.directory) {
            Ok(directories) => directories,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed()(error)),
        };
        for directory in directories {
            let directory = directory.map_err(failed())?.path();
            for object in std::fs::read_dir(&directory).map_err(failed())? {
                let object = object.map_err(failed())?;
                let metadata = object.metadata().map_err(failed())?;
                visit(&object.path(), metadata).map_err(failed())?;
            }
        }
        Ok(())
    }

    fn path(&self, hash: &str) -> PathBuf {
        let (start, rest) = hash.split_at(2.min(hash.len()));
        self.directory.join(start).join(rest)
    }
}
