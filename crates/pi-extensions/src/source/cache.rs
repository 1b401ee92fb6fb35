//! Compiled files on the disk, keyed by content.
//!
//! An entry is used only if its checksum is right: the engine does not check bytecode. An entry that
//! cannot be read or written costs time and nothing else.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::map::PositionMap;

/// Changes with the engine and with the form of compiled functions.
const VERSION: &str = concat!("1/", env!("CARGO_PKG_VERSION"), "/rquickjs-0.14");

/// A compiled file.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    pub(crate) is_module: bool,
    pub(crate) is_async: bool,
    pub(crate) imports: Vec<String>,
    pub(crate) map: PositionMap,
    pub(crate) bytecode: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    is_module: bool,
    is_async: bool,
    imports: Vec<String>,
    map: usize,
}

/// A directory of compiled files.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    directory: Option<PathBuf>,
}

impl Cache {
    /// Creates a cache in a directory; without one, nothing is kept.
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self { directory }
    }

    /// Returns the key of a file: its name is part of positions in errors.
    pub(crate) fn key(path: &Path, text: &str) -> String {
        let mut hash = Sha256::new();
        for part in [VERSION.as_bytes(), path.as_os_str().as_encoded_bytes(), text.as_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the compiled file of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Compiled> {
        let bytes = std::fs::read(self.directory.as_ref()?.join(key)).ok()?;
        let (sum, rest) = bytes.split_at_checked(32)?;
        if Sha256::digest(rest).as_slice() != sum {
            return None;
        }
        let (length, rest) = rest.split_at_checked(4)?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let (head, rest) = rest.split_at_checked(length)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let (map, bytecode) = rest.split_at_checked(head.map)?;
        Some(Compiled {
            is_module: head.is_module,
            is_async: head.is_async,
            imports: head.imports,
            map: PositionMap::from_bytes(map),
            bytecode: bytecode.to_vec(),
        })
    }

    /// Keeps a compiled file.
    pub(crate) fn put(&self, key: &str, compiled: &Compiled) {
        let Some(directory) = &self.directory else { return };
        let map = compiled.map.to_bytes();
        let head = Head {
            is_module: compiled.is_module,
            is_async: compiled.is_async,
            imports: compiled.imports.clone(),
            map: map.len(),
        };
        let Ok(head) = serde_json::to_vec(&head) else { return };
        let Ok(length) = u32::try_from(head.len()) else { return };
        let mut body = length.to_le_bytes().to_vec();
        for part in [&head, &map, &compiled.bytecode] {
            body.extend_from_slice(part);
        }
        let mut bytes = Sha256::digest(&body).to_vec();
        bytes.append(&mut body);
        // The cache saves time; a failure to write it changes nothing else.
        let _ = write(directory, key, &bytes);
    }
}

/// Writes a file under another name first, so that no reader sees a part of it.
fn write(directory: &Path, key: &str, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let temporary = directory.join(format!("{key}.{}", std::process::id()));
    std::fs::write(&temporary, bytes)?;
    std::fs::rename(&temporary, directory.join(key))
}
