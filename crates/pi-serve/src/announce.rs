//! The servers that run on this machine, for other processes of the user: a file for each, which is
//! locked while the server runs. It has no token.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::state::ServeState;

/// The time to wait for a process that looks at the file.
const PATIENCE: Duration = Duration::from_millis(500);

/// A server that runs on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Announcement {
    /// Address of the page, without a token.
    pub url: String,
    /// Port of the listener.
    pub port: u16,
    /// Id of the process.
    pub pid: u32,
    /// Id of this run of the server.
    pub server_id: String,
    /// Time of the start, in ISO 8601.
    pub started_at: String,
}

/// The file of a server, until it is dropped.
#[derive(Debug)]
pub struct Announced {
    path: PathBuf,
    _lock: File,
}

impl Drop for Announced {
    fn drop(&mut self) {
        // One that stays behind is not locked, and so announces nothing.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Announces a server that listens.
pub fn announce(state: &ServeState, port: u16) -> io::Result<Announced> {
    let directory = &state.options.directory;
    pi_fs::create_private(directory)?;
    let announcement = Announcement {
        url: state.base_url(),
        port,
        pid: std::process::id(),
        server_id: state.server_id.clone(),
        started_at: format!("{:.3}", state.started),
    };
    let path = directory.join(format!("server-{port}.json"));
    let mut file = pi_fs::private_file().create(true).truncate(false).write(true).open(&path)?;
    if !pi_fs::try_lock(&file, PATIENCE)? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    file.set_len(0)?;
    file.write_all(&serde_json::to_vec(&announcement)?)?;
    Ok(Announced { path, _lock: file })
}

/// Returns the servers of a directory that run, the one that was started last first.
pub fn running(directory: &Path) -> Vec<Announcement> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<Announcement> = entries
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("server-") && name.ends_with(".json")
        })
        .filter_map(|entry| read(&entry.path()))
        .collect();
    found.sort_by(|one, other| other.started_at.cmp(&one.started_at));
    found
}

fn read(path: &Path) -> Option<Announcement> {
    let mut file = File::open(path).ok()?;
    // One that is not locked was left behind by a process that was killed.
    let is_locked = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    if !is_locked {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_no_process_has_locked_announce_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server-7317.json");
        let announcement = Announcement {
            url: "http://127.0.0.1:7317".to_owned(),
            port: 7317,
            pid: 1,
            server_id: "id".to_owned(),
            started_at: "2026".to_owned(),
        };
        std::fs::write(&path, serde_json::to_vec(&announcement).unwrap()).unwrap();
        assert_eq!(running(directory.path()), []);
        let lock = File::open(&path).unwrap();
        lock.lock().unwrap();
        assert_eq!(running(directory.path()), [announcement]);
    }
}
