//! Compiled files on the disk, keyed by content.
//!
//! An entry is used only if its checksum is right: the engine does not check bytecode. An entry that
//! cannot be read or written costs time and nothing else.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::map::PositionMap;

/// Changes with the engine and with the form of compiled functions.
const VERSION: &str = concat!("2/", env!("CARGO_PKG_VERSION"), "/rquickjs-0.14");

/// Size of all entries together, above which old ones are removed.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

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
        pi_base::text::hex(&hash.finalize())
    }

    /// Returns the compiled file of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Compiled> {
        let path = self.directory.as_ref()?.join(key);
        let bytes = std::fs::read(&path).ok()?;
        let (sum, rest) = bytes.split_at_checked(32)?;
        if Sha256::digest(rest).as_slice() != sum {
            return None;
        }
        let (length, rest) = rest.split_at_checked(4)?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let (head, rest) = rest.split_at_checked(length)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let (map, bytecode) = rest.split_at_checked(head.map)?;
        touch(&path);
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
        static COLLECTED: Once = Once::new();
        COLLECTED.call_once(|| collect(directory, MOST_BYTES));
    }
}

/// Writes an entry; no reader sees a part of it.
fn write(directory: &Path, key: &str, bytes: &[u8]) -> std::io::Result<()> {
    pi_fs::create_private(directory)?;
    pi_fs::write(&directory.join(key), pi_fs::Access::Private, bytes)
}

/// Marks an entry as used, at most once a day.
fn touch(path: &Path) {
    let now = SystemTime::now();
    let used = path.metadata().and_then(|metadata| metadata.modified());
    let age = used.ok().and_then(|used| now.duration_since(used).ok());
    if age.is_some_and(|age| age > DAY)
        && let Ok(file) = OpenOptions::new().append(true).open(path)
    {
        let _ = file.set_modified(now);
    }
}

/// Removes the entries that were not used for the longest time, until the rest is small enough.
fn collect(directory: &Path, most: u64) {
    let Ok(files) = std::fs::read_dir(directory) else { return };
    let mut entries: Vec<(SystemTime, u64, PathBuf)> = files
        .filter_map(|file| {
            let file = file.ok()?;
            let metadata = file.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), file.path()))
        })
        .collect();
    let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
    entries.sort();
    for (_, size, path) in entries {
        if total <= most {
            return;
        }
        if std::fs::remove_file(path).is_ok() {
            total -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn compiled(bytes: &[u8]) -> Compiled {
        Compiled {
            is_module: true,
            is_async: false,
            imports: vec!["x".to_owned()],
            map: PositionMap::default(),
            bytecode: bytes.to_vec(),
        }
    }

    #[test]
    fn an_entry_is_read_back_and_damage_is_noticed() {
        let directory = tempfile::TempDir::new().unwrap();
        let cache = Cache::new(Some(directory.path().join("code")));
        let key = Cache::key(Path::new("/a.ts"), "text");
        assert!(cache.get(&key).is_none());
        cache.put(&key, &compiled(b"code"));
        assert_eq!(cache.get(&key).unwrap().bytecode, b"code");
        assert_eq!(cache.get(&key).unwrap().imports, ["x"]);
        let path = directory.path().join("code").join(&key);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            assert!(cache.get(&key).is_none(), "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(cache.get(&key).is_none(), "length {at}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_entries() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::TempDir::new().unwrap();
        let cache = Cache::new(Some(directory.path().join("code")));
        cache.put("key", &compiled(b"code"));
        let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(directory.path().join("code")), 0o700);
        assert_eq!(mode(directory.path().join("code/key")), 0o600);
    }

    #[test]
    fn the_entries_that_were_used_last_stay() {
        let directory = tempfile::TempDir::new().unwrap();
        let start = SystemTime::now() - DAY;
        for (age, name) in ["new", "middle", "old"].iter().enumerate() {
            let path = directory.path().join(name);
            std::fs::write(&path, [0; 100]).unwrap();
            let file = OpenOptions::new().append(true).open(path).unwrap();
            file.set_modified(start - DAY * u32::try_from(age).unwrap()).unwrap();
        }
        collect(directory.path(), 200);
        assert!(!directory.path().join("old").exists());
        assert!(directory.path().join("middle").exists() && directory.path().join("new").exists());
    }
}
