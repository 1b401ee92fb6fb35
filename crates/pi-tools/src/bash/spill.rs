//! The file that keeps output which is too long to show.
//!
//! Bytes as they came: what is no text is kept too. Only the user may read them.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::BashSettings;

/// Output on its way to a file, should it become too long.
#[derive(Debug)]
pub(super) struct Spill {
    directory: Option<PathBuf>,
    /// What came before it was too long.
    before: Vec<u8>,
    file: Option<(File, PathBuf)>,
    /// Bytes that may still be written.
    room: u64,
    limit: u64,
    incomplete: Option<Incomplete>,
}

/// Why a file does not have everything.
#[derive(Debug)]
pub(super) enum Incomplete {
    /// There was more than may be kept, which is this many bytes.
    Limit(u64),
    /// It could not be written.
    Failed(io::Error),
}

/// What was kept.
#[derive(Debug, Default)]
pub(super) struct Spilled {
    /// Where.
    pub(super) path: Option<PathBuf>,
    /// Why it is not everything.
    pub(super) incomplete: Option<Incomplete>,
}

impl Spill {
    /// Nothing yet.
    pub(super) fn new(settings: &BashSettings) -> Self {
        Self {
            directory: settings.output_directory.clone(),
            before: Vec::new(),
            file: None,
            room: settings.output_limit,
            limit: settings.output_limit,
            incomplete: None,
        }
    }

    /// Where it is kept.
    pub(super) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(_, path)| path.as_path())
    }

    /// Keeps another piece; in a file as soon as the whole `exceeds` what is shown.
    ///
    /// The write is not handed to another thread: it goes to the memory of the system first, and
    /// only the command that writes too much waits for it.
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
            (none, Some(directory)) => {
                let mut new = tempfile::Builder::new();
                let new = new.prefix("pi-bash-").suffix(".log").tempfile_in(directory)?.keep()?;
                &mut none.insert(new).0
            }
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

    /// What came of it.
    pub(super) fn finish(self) -> Spilled {
        let path = self.file.map(|(_, path)| path);
        Spilled { path, incomplete: self.incomplete }
    }
}
