//! The object store: contents of files, each stored once under its hash.

use std::cell::Cell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pi_base::text::hex;
use pi_fs::if_exists;
use sha2::{Digest, Sha256};

use super::CheckpointError;

/// The contents of all sessions, and those of a session of an earlier version.
#[derive(Debug)]
pub(super) struct Objects {
    shared: PathBuf,
    /// Contents that the session keeps for itself. They are read, and none are added.
    own: PathBuf,
    /// Bytes that were added.
    added: Cell<u64>,
}

/// Returns the hash of a content, which is its name.
pub(super) fn hash(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

impl Objects {
    pub(super) fn new(shared: PathBuf, own: PathBuf) -> Self {
        Self { shared, own, added: Cell::new(0) }
    }

    /// Returns the number of bytes that were added, and resets it.
    pub(super) fn take_added(&self) -> u64 {
        self.added.take()
    }

    /// Stores a content.
    pub(super) fn write(&self, hash: &str, content: &[u8]) -> Result<(), CheckpointError> {
        let path = path(&self.shared, hash);
        let is_new = self.create(&path, content).map_err(CheckpointError::io("write", &path))?;
        if is_new {
            self.added.set(self.added.get() + content.len() as u64);
        }
        Ok(())
    }

    /// Creates an object. Returns false if it exists.
    fn create(&self, path: &Path, content: &[u8]) -> io::Result<bool> {
        let directory = path.parent().unwrap_or(&self.shared);
        let create = || pi_fs::private_file().write(true).create_new(true).open(path);
        let created = match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(directory)?;
                create()
            }
            created => created,
        };
        match created {
            Ok(mut file) => {
                let written = file.write_all(content);
                if written.is_err() {
                    // An incomplete object would be in the way of the next attempt.
                    let _ = fs::remove_file(path);
                }
                written.map(|()| true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // An object of another size is the rest of a crash, or another process is writing
                // it; a complete file replaces it.
                if fs::metadata(path)?.len() != content.len() as u64 {
                    pi_fs::write(path, pi_fs::Access::Private, content)?;
                }
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a content and checks it against its hash.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, CheckpointError> {
        let (shared, own) = (path(&self.shared, name), path(&self.own, name));
        let found = match fs::read(&shared) {
            Ok(content) if hash(&content) == name => return Ok(content),
            Ok(_) => Err(io::Error::other("the content does not match its hash")),
            Err(error) => Err(error),
        };
        match fs::read(&own) {
            Ok(content) if hash(&content) == name => Ok(content),
            _ => found.map_err(CheckpointError::io("read", shared)),
        }
    }
}

/// Calls a function with the name, path and size of every object in a directory, and with `None`
/// as the name for other files.
pub(super) fn each(
    directory: &Path,
    mut visit: impl FnMut(Option<&str>, &Path, u64) -> io::Result<()>,
) -> io::Result<()> {
    for directory in if_exists(fs::read_dir(directory))?.into_iter().flatten() {
        let directory = directory?;
        let start = directory.file_name();
        for object in fs::read_dir(directory.path())? {
            let object = object?;
            let name = format!("{}{}", start.display(), object.file_name().display());
            let is_object = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            let size = object.metadata()?.len();
            visit(is_object.then_some(name.as_str()), &object.path(), size)?;
        }
    }
    Ok(())
}

fn path(directory: &Path, hash: &str) -> PathBuf {
    let (start, rest) = hash.split_at(2.min(hash.len()));
    directory.join(start).join(rest)
}
