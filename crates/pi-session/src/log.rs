//! The log of a session: lines of JSON, in a file or, before the file exists, in memory.
//!
//! The log knows lines and their offsets. Their meaning belongs to `tree` and `session`.

mod file;
mod head;
mod raw;

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use crate::SessionError;

pub use file::{Access, is_locked};

pub(crate) use file::LogFile;
pub(crate) use head::{Head, Kind, Role, split_message};
pub(crate) use raw::RawObject;

/// Number of bytes that are read at a time.
const BLOCK: u64 = 256 * 1024;

/// The position of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

/// The lines of a session.
#[derive(Debug)]
pub(crate) enum Log {
    Memory {
        bytes: Vec<u8>,
        /// Path of the file that the first message of a conversation creates.
        target: Option<PathBuf>,
    },
    File(LogFile),
}

impl Log {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory { bytes, .. } => bytes.len() as u64,
            Self::File(file) => file.len(),
        }
    }

    /// Returns the path of the file, if the log is on disk.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory { .. } => None,
            Self::File(file) => Some(file.path()),
        }
    }

    /// Appends one line atomically, and returns its position.
    pub(crate) fn append(&mut self, line: &str) -> Result<Span, SessionError> {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        let offset = match self {
            Self::Memory { bytes: all, .. } => {
                let offset = all.len() as u64;
                all.extend_from_slice(&bytes);
                offset
            }
            Self::File(file) => file.append(&bytes)?,
        };
        Ok(Span { offset, len: u32::try_from(line.len()).unwrap_or(u32::MAX) })
    }

    /// Removes the last line from a log in memory.
    pub(crate) fn forget(&mut self, span: Span) {
        if let Self::Memory { bytes, .. } = self {
            bytes.truncate(usize::try_from(span.offset).unwrap_or(usize::MAX));
        }
    }

    /// Creates the file of a log in memory that has a target.
    pub(crate) fn publish(&mut self) -> Result<(), SessionError> {
        let Self::Memory { bytes, target: Some(path) } = self else { return Ok(()) };
        *self = Self::File(LogFile::create(path, bytes)?);
        Ok(())
    }

    /// Calls `each` with the offset and the bytes of each line from `start` on, until it breaks.
    /// The bytes exclude the line break, which the last line may lack.
    pub(crate) fn lines(
        &self,
        start: u64,
        mut each: impl FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let mut block = Vec::new();
        // The beginning of a line that continues in the next block.
        let mut carry: Vec<u8> = Vec::new();
        let mut at = start;
        let end = self.len();
        while at < end {
            let block = self.read(at..end.min(at + BLOCK), &mut block)?;
            if block.is_empty() {
                break;
            }
            let mut line_start = 0;
            for line_end in memchr::memchr_iter(b'\n', block) {
                let line = &block[line_start..line_end];
                let flow = if carry.is_empty() {
                    each(at + line_start as u64, line)
                } else {
                    let offset = at - carry.len() as u64;
                    carry.extend_from_slice(line);
                    let flow = each(offset, &carry);
                    carry.clear();
                    flow
                };
                if flow.is_break() {
                    return Ok(());
                }
                line_start = line_end + 1;
            }
            carry.extend_from_slice(&block[line_start..]);
            at += block.len() as u64;
        }
        if !carry.is_empty() {
            let _ = each(at - carry.len() as u64, &carry);
        }
        Ok(())
    }

    /// Reads a part of the log: borrowed from memory, or through `buffer`.
    pub(crate) fn read<'a>(
        &'a self,
        range: Range<u64>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], SessionError> {
        match self {
            Self::Memory { bytes, .. } => {
                let clamp = |at| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Ok(&bytes[clamp(range.start)..clamp(range.end)])
            }
            Self::File(file) => {
                file.read_into(range, buffer)?;
                Ok(buffer)
            }
        }
    }

    /// Returns a reader of many lines, which reads ahead.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { log: self, block: Vec::new(), start: 0, ahead: BLOCK }
    }

    /// Returns a reader of one line.
    pub(crate) fn line_reader(&self) -> Reader<'_> {
        Reader { ahead: 0, ..self.reader() }
    }
}

/// Reads single lines. Reading in the order of the file is cheap.
pub(crate) struct Reader<'a> {
    log: &'a Log,
    block: Vec<u8>,
    start: u64,
    /// Bytes that are read at once.
    ahead: u64,
}

impl Reader<'_> {
    /// Reads the bytes of a line.
    pub(crate) fn line(&mut self, span: Span) -> Result<&[u8], SessionError> {
        let len = u64::from(span.len);
        if let Log::Memory { .. } = self.log {
            return self.log.read(span.offset..span.offset + len, &mut self.block);
        }
        let have = self.start..self.start + self.block.len() as u64;
        if span.offset < have.start || span.offset + len > have.end {
            self.start = span.offset;
            let end = self.log.len().min(span.offset + len.max(self.ahead));
            // The borrow of `block` ends here; the bytes stay in it.
            let _ = self.log.read(span.offset..end.max(span.offset), &mut self.block)?;
        }
        let from = usize::try_from(span.offset - self.start).unwrap_or(usize::MAX);
        let to = from.saturating_add(span.len as usize).min(self.block.len());
        Ok(self.block.get(from..to).unwrap_or_default())
    }
}
