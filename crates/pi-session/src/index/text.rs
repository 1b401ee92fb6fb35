//! The searchable text of all sessions, in one file that only grows.
//!
//! Text is kept as it is searched, in blocks; where they are is in the catalog. A block is trusted
//! if its digest is right, so whatever happens to the file, be it damaged, replaced, deleted, or
//! written by two at once, costs time and nothing else.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::query::{Query, Terms, fold};
use super::record::{Record, Stat, digest};
use crate::log::{Access, LogFile, Span};

/// Ends every piece; in no UTF-8 text.
const SEPARATOR: u8 = 0xff;
/// What the place of a piece takes.
const PLACE: usize = 16;
/// Blocks are about this long at most.
const BLOCK: usize = 4 * 1024 * 1024;
/// A session with more blocks than this gets them merged.
const MANY_BLOCKS: usize = 32;
/// This much may be wasted, beyond what is in use.
const WASTE: u64 = 1024 * 1024;

/// Where a block is in the file.
///
/// Offset, length and digest; nothing but numbers, since there are many in a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Block(u64, u64, u64);

/// Text of a session: pieces, and the lines they come from.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    texts: Vec<u8>,
    /// The line of each piece, and where the piece ends.
    places: Vec<(Span, usize)>,
}

impl Pieces {
    pub(super) fn push(&mut self, line: Span, text: &str) {
        fold(text, &mut self.texts);
        self.texts.push(SEPARATOR);
        self.places.push((line, self.texts.len()));
    }

    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.places.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Long enough for a block.
    pub(super) fn is_long(&self) -> bool {
        self.texts.len() >= BLOCK
    }

    /// Calls `each` with every line in which some of the terms are.
    pub(super) fn search(&self, query: &Query, mut each: impl FnMut(Span, Terms)) {
        let mut found: Vec<Terms> = Vec::new();
        for (bit, term) in query.terms() {
            let mut from = 0;
            while let Some(at) = term.find(&self.texts[from..]) {
                let piece = self.places.partition_point(|(_, end)| *end <= from + at);
                found.resize(self.places.len(), 0);
                found[piece] |= bit;
                from = self.places[piece].1;
            }
        }
        for ((line, _), terms) in self.places.iter().zip(found).filter(|(_, terms)| *terms != 0) {
            each(*line, terms);
        }
    }

    /// As bytes: the texts, the places, and how many of those there are.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.texts.len() + self.places.len() * PLACE + 8);
        bytes.extend_from_slice(&self.texts);
        let mut start = 0;
        for (line, end) in &self.places {
            bytes.extend_from_slice(&line.offset.to_le_bytes());
            bytes.extend_from_slice(&line.len.to_le_bytes());
            bytes.extend_from_slice(&u32::try_from(end - start).unwrap_or(u32::MAX).to_le_bytes());
            start = *end;
        }
        bytes.extend_from_slice(&(self.places.len() as u64).to_le_bytes());
        bytes
    }

    /// Finishes what was read into `texts` as it was encoded. `None` if it was not.
    fn decode(&mut self) -> Option<()> {
        let (rest, count) = self.texts.split_last_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let len = rest.len().checked_sub(count.checked_mul(PLACE)?)?;
        self.places.clear();
        let mut end = 0;
        for place in rest[len..].as_chunks::<PLACE>().0 {
            let (offset, rest) = place.split_first_chunk::<8>()?;
            let (len, text) = rest.split_first_chunk::<4>()?;
            let line = Span { offset: u64::from_le_bytes(*offset), len: u32::from_le_bytes(*len) };
            let text = u32::from_le_bytes(*text.first_chunk::<4>()?);
            end = usize::try_from(text).ok()?.checked_add(end)?;
            self.places.push((line, end));
        }
        self.texts.truncate(len);
        (end == len).then_some(())
    }

    /// Appends other pieces.
    fn append(&mut self, other: &Self) {
        let start = self.texts.len();
        self.texts.extend_from_slice(&other.texts);
        self.places.extend(other.places.iter().map(|(line, end)| (*line, start + end)));
    }
}

/// The file, to be searched.
#[derive(Debug)]
pub(super) struct TextReader {
    file: LogFile,
    pieces: Pieces,
}

impl TextReader {
    /// Opens the file, if there is one.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = LogFile::open(path, Access::Read).ok()??;
        Some(Self { file, pieces: Pieces::default() })
    }

    /// Reads a block. `None` if it is damaged.
    pub(super) fn read(&mut self, block: &Block) -> Option<&Pieces> {
        let Block(offset, len, expected) = *block;
        let end = offset.checked_add(len).filter(|end| *end <= self.file.len())?;
        self.file.read_into(offset..end, &mut self.pieces.texts).ok()?;
        (digest(&self.pieces.texts) == expected).then(|| self.pieces.decode())??;
        Some(&self.pieces)
    }
}

/// The file, to be written to. One process at a time can.
#[derive(Debug)]
pub(super) struct TextWriter {
    file: File,
    path: PathBuf,
    end: u64,
    /// Something could not be written. The rest is not even tried.
    failed: bool,
}

impl TextWriter {
    /// Opens or creates the file; `None` if that is impossible, or another process has it.
    pub(super) fn open(path: &Path) -> Option<Self> {
        std::fs::create_dir_all(path.parent()?).ok()?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).ok()?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return None,
            // Where there are no locks two may write at once, which the digests survive.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let same_file = |a: &std::fs::Metadata, b: &std::fs::Metadata| Stat::new(a) == Stat::new(b);
        if !same_file(&file.metadata().ok()?, &std::fs::metadata(path).ok()?) {
            return None;
        }
        let end = file.metadata().ok()?.len();
        Some(Self { file, path: path.to_owned(), end, failed: false })
    }

    /// Writes a block. `None` if that failed, now or before.
    pub(super) fn write(&mut self, pieces: &Pieces) -> Option<Block> {
        let bytes = pieces.encode();
        if self.failed || self.file.write_all(&bytes).is_err() {
            self.failed = true;
            return None;
        }
        let block = Block(self.end, bytes.len() as u64, digest(&bytes));
        self.end += block.1;
        Some(block)
    }

    /// Makes one block out of many.
    pub(super) fn merge(&mut self, blocks: Vec<Block>) -> Vec<Block> {
        if blocks.len() <= MANY_BLOCKS {
            return blocks;
        }
        let mut merged = Pieces::default();
        let Some(mut reader) = TextReader::open(&self.path) else { return blocks };
        let read = blocks.iter().try_for_each(|block| {
            merged.append(reader.read(block)?);
            Some(())
        });
        match read.and_then(|()| self.write(&merged)) {
            Some(block) => vec![block],
            None => blocks,
        }
    }

    /// Copies what is in use into a new file, if more than half is not. Comes last: what is
    /// written afterwards would go to the old one.
    pub(super) fn collect<'a>(self, records: impl Iterator<Item = &'a mut Record>) {
        let mut blocks: Vec<&mut Block> =
            records.filter_map(|record| record.text.as_mut()).flatten().collect();
        let used: u64 = blocks.iter().map(|block| block.1).sum();
        if self.end > 2 * used + WASTE
            && let Some(offsets) = self.copy(&blocks)
        {
            for (block, offset) in blocks.iter_mut().zip(offsets) {
                block.0 = offset;
            }
        }
    }

    /// Puts a file with these blocks in the place of this one, and tells where they are now.
    fn copy(&self, blocks: &[&mut Block]) -> Option<Vec<u64>> {
        let file = LogFile::open(&self.path, Access::Read).ok()??;
        let mut new = tempfile::NamedTempFile::new_in(self.path.parent()?).ok()?;
        let mut end = 0;
        let mut offsets = Vec::with_capacity(blocks.len());
        for Block(offset, len, _) in blocks.iter().map(|block| **block) {
            let bytes = file.read_at(offset..offset.checked_add(len)?.min(file.len())).ok()?;
            new.write_all(&bytes).ok()?;
            offsets.push(end);
            end += bytes.len() as u64;
        }
        new.persist(&self.path).ok()?;
        Some(offsets)
    }
}
