//! The bytes of a session on disk: appended, never rewritten.
//!
//! An advisory lock on the file, which ends with the process, admits one writer at a time. The
//! TypeScript pi does not lock, so the file may still grow. Appends go to the actual end of the
//! file, and [`LogFile::growth`] returns what another program has written.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_fs::if_exists;

use crate::SessionError;

/// The access with which a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading only; neither locks nor changes the file.
    Read,
    /// Reading and appending; fails if another process has the file open for appending.
    Append,
}

/// An open session file.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: File,
    path: PathBuf,
    access: Access,
    /// Length of the part of the file that was read or written here.
    len: u64,
    /// The last byte is not a line break, so the next append has to begin with one.
    torn: bool,
}

impl LogFile {
    /// Opens an existing file; `Ok(None)` if it does not exist.
    pub(crate) fn open(path: &Path, access: Access) -> Result<Option<Self>, SessionError> {
        let append = access == Access::Append;
        loop {
            let file = if_exists(OpenOptions::new().read(true).append(append).open(path));
            let Some(file) = file.map_err(SessionError::io("open", path))? else {
                return Ok(None);
            };
            if append {
                lock(&file, path)?;
            }
            let len = file.metadata().map_err(SessionError::io("read", path))?.len();
            let mut log = Self { file, path: path.to_owned(), access, len, torn: false };
            // Another file may have been renamed to the path between opening and locking.
            if append && !log.is_at_its_path() {
                continue;
            }
            log.torn = len > 0 && log.read_at(len - 1..len)? != b"\n";
            return Ok(Some(log));
        }
    }

    /// Creates the file with `content`; fails if it exists.
    ///
    /// The file gets its name when it is complete: an interrupted fork must not be mistaken for a
    /// session.
    pub(crate) fn create(path: &Path, content: &[u8]) -> Result<Self, SessionError> {
        let directory = path.parent().unwrap_or(Path::new("."));
        pi_fs::create_private(directory)
            .map_err(SessionError::io("create the directory", directory))?;
        let failed = || SessionError::io("create", path);
        let new = tempfile::Builder::new()
            .prefix(".pi-new-")
            .make_in(directory, create_new)
            .map_err(failed())?;
        lock(new.as_file(), path)?;
        let (file, unfinished) = new.into_parts();
        let mut log =
            Self { file, path: path.to_owned(), access: Access::Append, len: 0, torn: false };
        log.append(content)?;
        match unfinished.persist_noclobber(path) {
            Ok(()) => {}
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                return Err(failed()(error.error));
            }
            // Some file systems can neither link nor rename without replacing.
            Err(_) => return Self::create_in_place(path, content),
        }
        Ok(log)
    }

    fn create_in_place(path: &Path, content: &[u8]) -> Result<Self, SessionError> {
        let file = create_new(path).map_err(SessionError::io("create", path))?;
        lock(&file, path)?;
        let access = Access::Append;
        let mut log = Self { file, path: path.to_owned(), access, len: 0, torn: false };
        if let Err(error) = log.append(content) {
            // No other program has opened it yet, and an incomplete file is not a session.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(log)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Appends whole lines atomically, and returns their offset.
    pub(crate) fn append(&mut self, lines: &[u8]) -> Result<u64, SessionError> {
        if self.access == Access::Read {
            return Err(SessionError::ReadOnly(self.path.clone()));
        }
        let start = self.len + u64::from(self.torn);
        let written = if self.torn {
            // In one write: a crash must not leave the line break alone.
            self.write(&[b"\n", lines].concat())
        } else {
            self.write(lines)
        };
        written.map_err(SessionError::io("append to", &self.path))?;
        let end = start + lines.len() as u64;
        if self.file.metadata().is_ok_and(|metadata| metadata.len() != end) {
            return self.find_among_others(lines);
        }
        self.len = end;
        self.torn = !lines.is_empty() && !lines.ends_with(b"\n");
        Ok(start)
    }

    /// Returns the offset of our lines if another program wrote at the same moment. Its lines are
    /// in the file too, and are read when the session is opened again.
    fn find_among_others(&mut self, lines: &[u8]) -> Result<u64, SessionError> {
        let all = self.file.metadata().map_err(SessionError::io("read", &self.path))?.len();
        let written = self.read_at(self.len..all.max(self.len))?;
        let ours = memchr::memmem::rfind(&written, lines);
        let start = ours.map(|at| self.len + at as u64);
        self.len = all;
        self.torn = !written.ends_with(b"\n");
        start.ok_or_else(|| SessionError::Replaced(self.path.clone()))
    }

    /// Ends a torn last line, so that the next append of any program begins on a new line.
    pub(crate) fn heal(&mut self) -> Result<(), SessionError> {
        if self.torn { self.append(b"").map(drop) } else { Ok(()) }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let result = self.file.write_all(bytes);
        if result.is_err() && self.ends_with_part_of(bytes) {
            // A full disk takes a part. If that part cannot be removed either, `growth` finds it,
            // and the next append begins on a new line.
            let _ = self.file.set_len(self.len);
        }
        result
    }

    /// Returns true if the bytes beyond our end are `bytes` or the beginning of them. Otherwise
    /// another program has written, and its bytes must not be removed.
    fn ends_with_part_of(&self, bytes: &[u8]) -> bool {
        let len = self.file.metadata().map_or(self.len, |metadata| metadata.len());
        let beyond = len.saturating_sub(self.len);
        beyond <= bytes.len() as u64
            && self.read_at(self.len..self.len + beyond).is_ok_and(|tail| bytes.starts_with(&tail))
    }

    /// Checks that the path still names this file, and returns the part that other programs have
    /// appended.
    pub(crate) fn growth(&mut self) -> Result<Option<Range<u64>>, SessionError> {
        let len = self.file.metadata().map_err(SessionError::io("read", &self.path))?.len();
        if len < self.len || !self.is_at_its_path() {
            return Err(SessionError::Replaced(self.path.clone()));
        }
        if len == self.len {
            return Ok(None);
        }
        // A torn line of ours, if there was one, was ended by the other program.
        let start = self.len;
        self.torn = self.read_at(len - 1..len)? != b"\n";
        self.len = len;
        Ok(Some(start..len))
    }

    /// Leaves out a line without an end that another program is about to write. No byte before
    /// `start` is left out.
    pub(crate) fn leave_out_partial_line(&mut self, start: u64) -> Result<(), SessionError> {
        const BLOCK: u64 = 64 * 1024;
        let mut end = self.len;
        while end > start {
            let from = end.saturating_sub(BLOCK).max(start);
            let block = self.read_at(from..end)?;
            if let Some(at) = memchr::memrchr(b'\n', &block) {
                self.len = from + at as u64 + 1;
                return Ok(());
            }
            end = from;
        }
        self.len = start;
        Ok(())
    }

    /// Reads a part of the file.
    pub(crate) fn read_at(&self, range: Range<u64>) -> Result<Vec<u8>, SessionError> {
        let mut bytes = Vec::new();
        self.read_into(range, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a part of the file into `bytes`, as far as the file goes.
    pub(crate) fn read_into(
        &self,
        range: Range<u64>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        let wanted = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        bytes.resize(wanted, 0);
        let mut filled = 0;
        while filled < wanted {
            match read_some(&self.file, &mut bytes[filled..], range.start + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(SessionError::io("read", &self.path)(error)),
            }
        }
        bytes.truncate(filled);
        Ok(())
    }

    #[cfg(unix)]
    fn is_at_its_path(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let ours = self.file.metadata().map(identity);
        let there = std::fs::metadata(&self.path).map(identity);
        matches!((ours, there), (Ok(ours), Ok(there)) if ours == there)
    }

    #[cfg(not(unix))]
    fn is_at_its_path(&self) -> bool {
        // On other systems an open file can be neither deleted nor replaced.
        true
    }
}

/// Creates a file that only its owner can read: a session may quote private code and keys.
fn create_new(path: &Path) -> std::io::Result<File> {
    pi_fs::private_file().read(true).append(true).create_new(true).open(path)
}

/// Returns true if another process has the session open for appending.
pub fn is_locked(path: &Path) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| matches!(lock(&file, path), Err(SessionError::Locked(_))))
}

/// Locks a session for appending.
fn lock(file: &File, path: &Path) -> Result<(), SessionError> {
    // A session that was closed a moment ago may still be locked.
    const PATIENCE: Duration = Duration::from_millis(100);
    match pi_fs::try_lock_where_supported(file, PATIENCE) {
        Ok(true) => Ok(()),
        Ok(false) => Err(SessionError::Locked(path.to_owned())),
        Err(error) => Err(SessionError::io("lock", path)(error)),
    }
}

#[cfg(unix)]
fn read_some(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_some(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}
