//! The file for output that is too long for a result.
//!
//! It has the original bytes, including invalid UTF-8, and only the user can read it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::workspace::{BashSettings, LOG, SavedOutput};

/// Output that is written to a file if it becomes too long.
#[derive(Debug)]
pub(super) struct Spill {
    directory: Option<PathBuf>,
    saved: SavedOutput,
    /// Output from before the limit was exceeded.
    before: Vec<u8>,
    file: Option<(File, PathBuf)>,
    /// Bytes that may still be written.
    room: u64,
    limit: u64,
    incomplete: Option<Incomplete>,
}

/// Reasons why a file does not have the whole output.
#[derive(Debug)]
pub(super) enum Incomplete {
    /// The output exceeded this number of bytes.
    Limit(u64),
    /// The file could not be written.
    Failed(io::Error),
}

/// The saved output.
#[derive(Debug, Default)]
pub(super) struct Spilled {
    /// Path of the file.
    pub(super) path: Option<PathBuf>,
    /// Reason why the file is incomplete.
    pub(super) incomplete: Option<Incomplete>,
}

impl Spill {
    /// Output that has not begun.
    pub(super) fn new(settings: &BashSettings) -> Self {
        Self {
            directory: settings.output_directory.clone(),
            saved: settings.saved.clone(),
            before: Vec::new(),
            file: None,
            room: settings.output_limit,
            limit: settings.output_limit,
            incomplete: None,
        }
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(_, path)| path.as_path())
    }

    /// Appends a chunk. It goes to a file as soon as the output `exceeds` the limits of a result.
    ///
    /// The write is not moved to another thread: it goes to the page cache, and only the command
    /// that writes too much waits for it.
    pub(super) fn push(&mut self, bytes: &[u8], exceeds: bool) {
        if self.directory.is_none() || self.incomplete.is_some() {
            return;
        }
        if self.file.is_none() && !exceeds {
            self.before.extend_from_slice(bytes);
            return;
        }
        if let Err(error) = self.write(bytes) {
            self.incomplete = Some(Incomplete::Failed(error));
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let before = std::mem::take(&mut self.before);
        let file = match (&mut self.file, &self.directory) {
            (Some((file, _)), _) => file,
            (none, Some(directory)) => &mut none.insert(self.saved.create(directory, LOG)?).0,
            (None, None) => return Ok(()),
        };
        for bytes in [&before, bytes] {
            let fitting = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
            file.write_all(&bytes[..fitting])?;
            self.room -= fitting as u64;
            if fitting < bytes.len() {
                self.incomplete = Some(Incomplete::Limit(self.limit));
                break;
            }
        }
        Ok(())
    }

    /// Ends the output.
    pub(super) fn finish(self) -> Spilled {
        let path = self.file.map(|(_, path)| path);
        Spilled { path, incomplete: self.incomplete }
    }
}
