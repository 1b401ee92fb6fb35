//! The file of the tokens: its form, its lock and its replacement. Only its owner can read it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use pi_fs::{Access, FileError};
use serde::{Deserialize, Serialize};

use super::{TokenInfo, TokensError};
use crate::entrance::Right;

/// The content of the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Content {
    #[serde(default)]
    pub(super) tokens: Vec<Row>,
}

/// A token.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) right: Right,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    /// SHA-256 of the token.
    pub(super) hash: String,
    pub(super) created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_used: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) logins: Vec<Login>,
}

/// A browser that is logged in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Login {
    /// SHA-256 of the cookie.
    pub(super) hash: String,
    pub(super) created: Timestamp,
    pub(super) expires: Timestamp,
}

impl Row {
    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    pub(super) fn info(&self, now: Timestamp) -> TokenInfo {
        TokenInfo {
            name: self.name.clone(),
            right: self.right,
            session: self.session.clone(),
            created: self.created,
            expires: self.expires,
            last_used: self.last_used,
            logins: self.logins.iter().filter(|login| login.expires > now).count(),
        }
    }
}

/// The state of the file on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    /// A replaced file is another one, also within one step of the file system's clock.
    inode: u64,
}

/// The path of the file.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
}

impl File {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the state of the file; `None` if it does not exist.
    pub(super) fn stamp(&self) -> Result<Option<Stamp>, FileError> {
        let metadata =
            pi_fs::if_exists(std::fs::metadata(&self.path))
                .map_err(FileError::at::<FileError>("read", &self.path))?;
        Ok(metadata.map(|metadata| Stamp {
            modified: metadata.modified().ok(),
            length: metadata.len(),
            inode: inode(&metadata),
        }))
    }

    /// Reads the file; one that does not exist has no tokens.
    pub(super) fn read(&self) -> Result<Content, TokensError> {
        let text = pi_fs::if_exists(std::fs::read(&self.path))
            .map_err(FileError::at::<FileError>("read", &self.path))?;
        let Some(text) = text else { return Ok(Content::default()) };
        serde_json::from_slice(&text).map_err(|error| TokensError::Invalid {
            path: self.path.clone(),
            problem: error.to_string(),
        })
    }

    /// Replaces the file.
    pub(super) fn write(&self, content: &Content) -> Result<(), TokensError> {
        let invalid = |error: serde_json::Error| TokensError::Invalid {
            path: self.path.clone(),
            problem: error.to_string(),
        };
        let text = serde_json::to_vec_pretty(content).map_err(invalid)?;
        let written = pi_fs::write(&self.path, Access::Private, &text);
        Ok(written.map_err(FileError::at::<FileError>("write", &self.path))?)
    }

    /// Excludes other processes until the result is dropped.
    pub(super) fn lock(&self, patience: Duration) -> Result<std::fs::File, TokensError> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        pi_fs::create_private(directory)
            .map_err(FileError::at::<FileError>("create", directory))?;
        let path = self.path.with_extension("lock");
        let file = pi_fs::private_file().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(FileError::at::<FileError>("open", &path))?;
        match pi_fs::try_lock(&file, patience).map_err(FileError::at::<FileError>("lock", &path))? {
            true => Ok(file),
            false => Err(TokensError::Locked(self.path.clone())),
        }
    }
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}
