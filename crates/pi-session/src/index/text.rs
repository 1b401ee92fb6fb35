//! The searchable text of all sessions, in one file that only grows.
//!
//! The text is stored in the form that is searched, in blocks whose positions are in the catalog.
//! Every block has a digest, so a file that is damaged, replaced, deleted or written by two
//! processes at once costs time and nothing else.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::query::{Query, Terms, fold};
use super::record::{Record, Stat, digest};
use crate::log::{Access, LogFile, Span};

/// The byte that ends every piece; it occurs in no UTF-8 text.
const SEPARATOR: u8 = 0xff;
/// Number of bytes of an encoded position.
const POSITION: usize = 16;
/// Approximate maximum size of a block.
const BLOCK: usize = 4 * 1024 * 1024;
/// Number of blocks above which the blocks of a session are merged.
const MANY_BLOCKS: usize = 32;
/// Number of unused bytes that are tolerated, beyond the used ones.
const WASTE: u64 = 1024 * 1024;

/// Offset, length and digest of a block in the file. A tuple, since a catalog holds many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Block(u64, u64, u64);

/// Text of a session: pieces, and the lines they come from.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    texts: Vec<u8>,
    /// The line of each piece, and the end of the piece in `texts`.
    positions: Vec<(Span, usize)>,
}

impl Pieces {
    pub(super) fn push(&mut self, line: Span, text: &str) {
        fold(text, &mut self.texts);
        self.texts.push(SEPARATOR);
        self.positions.push((line, self.texts.len()));
    }

    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.positions.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns true if the text is long enough for a block.
    pub(super) fn is_long(&self) -> bool {
        self.texts.len() >= BLOCK
    }

    /// Calls `each` with every line that contains some of the terms.
    pub(super) fn search(&self, query: &Query, mut each: impl FnMut(Span, Terms)) {
        let mut found: Vec<Terms> = Vec::new();
        for (bit, term) in query.terms() {
            let mut from = 0;
            while let Some(at) = term.find(&self.texts[from..]) {
                let piece = self.positions.partition_point(|(_, end)| *end <= from + at);
                found.resize(self.positions.len(), 0);
                found[piece] |= bit;
                from = self.positions[piece].1;
            }
        }
        for ((line, _), terms) in self.positions.iter().zip(found).filter(|(_, terms)| *terms != 0)
        {
            each(*line, terms);
        }
    }

    /// Encodes the texts, the positions, and the number of positions.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.texts.len() + self.positions.len() * POSITION + 8);
        bytes.extend_from_slice(&self.texts);
        let mut start = 0;
        for (line, end) in &self.positions {
            bytes.extend_from_slice(&line.offset.to_le_bytes());
            bytes.extend_from_slice(&line.len.to_le_bytes());
            bytes.extend_from_slice(&u32::try_from(end - start).unwrap_or(u32::MAX).to_le_bytes());
            start = *end;
        }
        bytes.extend_from_slice(&(self.positions.len() as u64).to_le_bytes());
        bytes
    }

    /// Decodes the bytes that were read into `texts`; `None` if they are not valid.
    fn decode(&mut self) -> Option<()> {
        let (rest, count) = self.texts.split_last_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let len = rest.len().checked_sub(count.checked_mul(POSITION)?)?;
        self.positions.clear();
        let mut end = 0;
        for position in rest[len..].as_chunks::<POSITION>().0 {
            let (offset, rest) = position.split_first_chunk::<8>()?;
            let (len, text) = rest.split_first_chunk::<4>()?;
            let line = Span { offset: u64::from_le_bytes(*offset), len: u32::from_le_bytes(*len) };
            let text = u32::from_le_bytes(*text.first_chunk::<4>()?);
            end = usize::try_from(text).ok()?.checked_add(end)?;
            self.positions.push((line, end));
        }
        self.texts.truncate(len);
        (end == len).then_some(())
    }

    /// Appends the pieces of another block.
    fn append(&mut self, other: &Self) {
        let start = self.texts.len();
        self.texts.extend_from_slice(&other.texts);
        self.positions.extend(other.positions.iter().map(|(line, end)| (*line, start + end)));
    }
}

/// The text file, open for searching.
#[derive(Debug)]
pub(super) struct TextReader {
    file: LogFile,
    pieces: Pieces,
}

impl TextReader {
    /// Opens the file; `None` if it does not exist.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = LogFile::open(path, Access::Read).ok()??;
        Some(Self { file, pieces: Pieces::default() })
    }

    /// Reads a block; `None` if it is damaged.
    pub(super) fn read(&mut self, block: &Block) -> Option<&Pieces> {
        let Block(offset, len, expected) = *block;
        let end = offset.checked_add(len).filter(|end| *end <= self.file.len())?;
        self.file.read_into(offset..end, &mut self.pieces.texts).ok()?;
        (digest(&self.pieces.texts) == expected).then(|| self.pieces.decode())??;
        Some(&self.pieces)
    }
}

/// The text file, open for writing by one process at a time.
#[derive(Debug)]
pub(super) struct TextWriter {
    file: File,
    path: PathBuf,
    end: u64,
    /// A write has failed, so nothing more is written.
    failed: bool,
}

impl TextWriter {
    /// Opens or creates the file; `None` if that fails or another process is writing.
    pub(super) fn open(path: &Path) -> Option<Self> {
        std::fs::create_dir_all(path.parent()?).ok()?;
        let mut options = pi_fs::private_file();
        let file = options.read(true).append(true).create(true).open(path).ok()?;
        // Without locks two processes may write at once; the digests detect that.
        if !pi_fs::try_lock(&file, Duration::ZERO).unwrap_or(true) {
            return None;
        }
        let same_file = |a: &std::fs::Metadata, b: &std::fs::Metadata| Stat::new(a) == Stat::new(b);
        if !same_file(&file.metadata().ok()?, &std::fs::metadata(path).ok()?) {
            return None;
        }
        let end = file.metadata().ok()?.len();
        Some(Self { file, path: path.to_owned(), end, failed: false })
    }

    /// Writes a block; `None` if this or an earlier write failed.
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

    /// Merges many blocks into one.
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

    /// Copies the used blocks into a new file if less than half of the file is used. Consumes the
    /// writer, since later writes would go to the old file.
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

    /// Replaces the file with one of these blocks, and returns their new offsets.
    fn copy(&self, blocks: &[&mut Block]) -> Option<Vec<u64>> {
        let file = LogFile::open(&self.path, Access::Read).ok()??;
        let mut new = pi_fs::NewFile::create(&self.path, pi_fs::Access::Private).ok()?;
        let mut end = 0;
        let mut offsets = Vec::with_capacity(blocks.len());
        for Block(offset, len, _) in blocks.iter().map(|block| **block) {
            let bytes = file.read_at(offset..offset.checked_add(len)?.min(file.len())).ok()?;
            new.write_all(&bytes).ok()?;
            offsets.push(end);
            end += bytes.len() as u64;
        }
        new.finish().ok()?;
        Some(offsets)
    }
}
