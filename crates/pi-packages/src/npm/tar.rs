//! A reader of tar archives: ustar, pax headers and the long names of GNU.
//!
//! It only reads: what an entry may be and where it may go is decided by `unpack`. Headers that
//! cannot be read are errors; nothing is guessed.

use std::io::{self, Read};

const BLOCK: usize = 512;
/// Largest header that holds a long name.
const MAX_NAME: u64 = 64 * 1024;

/// An entry of an archive, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) kind: EntryKind,
    pub(crate) size: u64,
    pub(crate) mode: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    /// A symbolic link with its target.
    Symlink(String),
    /// A hard link with the path of the entry that it links to.
    Hardlink(String),
    /// A device, a pipe, or a type that is not known.
    Other(u8),
}

/// A damaged archive.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TarError {
    #[error("{0}")]
    Damaged(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The entries of an archive. The content of an entry is read with [`Archive::content`] before the
/// next entry; what is not read is skipped.
#[derive(Debug)]
pub(crate) struct Archive<R> {
    reader: R,
    /// Bytes of the current entry that were not read.
    content: u64,
    padding: u64,
}

/// Values of extended headers for the next entry.
#[derive(Debug, Default, Clone)]
struct Extended {
    path: Option<String>,
    link: Option<String>,
    size: Option<u64>,
}

impl<R: Read> Archive<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, content: 0, padding: 0 }
    }

    /// Reads the header of the next entry; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, TarError> {
        let mut extended = Extended::default();
        loop {
            self.skip_content()?;
            let Some(header) = self.header()? else { return Ok(None) };
            let size = extended.size.take().map_or_else(|| octal(&header[124..136]), Ok)?;
            self.content = size;
            self.padding = (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64;
            match header[156] {
                b'L' => extended.path = Some(self.long_name()?),
                b'K' => extended.link = Some(self.long_name()?),
                b'x' => self.pax(&mut extended)?,
                // Defaults for all entries: npm archives have only comments here.
                b'g' => self.pax(&mut Extended::default())?,
                kind => return Ok(Some(entry(&header, kind, size, extended)?)),
            }
        }
    }

    /// Returns a reader of the content of the current entry.
    pub(crate) fn content(&mut self) -> Content<'_, R> {
        Content(self)
    }

    fn skip_content(&mut self) -> Result<(), TarError> {
        let rest = self.content + self.padding;
        let skipped = io::copy(&mut self.reader.by_ref().take(rest), &mut io::sink())?;
        if skipped < rest {
            return Err(TarError::Damaged("the archive is truncated"));
        }
        (self.content, self.padding) = (0, 0);
        Ok(())
    }

    /// Reads a header; `None` at the end of the archive.
    fn header(&mut self) -> Result<Option<[u8; BLOCK]>, TarError> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.reader.read(&mut block[filled..])? {
                0 if filled == 0 => return Ok(None),
                0 => return Err(TarError::Damaged("the archive is truncated")),
                read => filled += read,
            }
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let stored = octal(&block[148..156])?;
        // The field of the checksum counts as spaces.
        let sum = |range: std::ops::Range<usize>| -> u64 {
            block[range].iter().map(|byte| u64::from(*byte)).sum()
        };
        if sum(0..148) + 8 * u64::from(b' ') + sum(156..BLOCK) != stored {
            return Err(TarError::Damaged("a header has a wrong checksum"));
        }
        Ok(Some(block))
    }

    fn small_content(&mut self) -> Result<Vec<u8>, TarError> {
        if self.content > MAX_NAME {
            return Err(TarError::Damaged("an extended header is too large"));
        }
        let mut bytes = Vec::new();
        self.content().read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn long_name(&mut self) -> Result<String, TarError> {
        let mut bytes = self.small_content()?;
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        text(&bytes)
    }

    /// Reads `LENGTH KEY=VALUE\n` records.
    fn pax(&mut self, extended: &mut Extended) -> Result<(), TarError> {
        const INVALID: TarError = TarError::Damaged("an extended header is invalid");
        let bytes = self.small_content()?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() && rest[0] != 0 {
            let space = rest.iter().position(|byte| *byte == b' ').ok_or(INVALID)?;
            let length = std::str::from_utf8(&rest[..space]).ok();
            let length: usize = length.and_then(|text| text.parse().ok()).ok_or(INVALID)?;
            let record = rest.get(space + 1..length).ok_or(INVALID)?;
            let record = record.strip_suffix(b"\n").ok_or(INVALID)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or(INVALID)?;
            let value = &record[equals + 1..];
            match &record[..equals] {
                b"path" => extended.path = Some(text(value)?),
                b"linkpath" => extended.link = Some(text(value)?),
                b"size" => {
                    let size = text(value)?.parse().map_err(|_| INVALID)?;
                    extended.size = Some(size);
                }
                key if key.starts_with(b"GNU.sparse") => {
                    return Err(TarError::Damaged("sparse files are not supported"));
                }
                _ => {}
            }
            rest = &rest[length..];
        }
        Ok(())
    }
}

/// The content of the current entry.
#[derive(Debug)]
pub(crate) struct Content<'a, R>(&'a mut Archive<R>);

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(usize::try_from(self.0.content).unwrap_or(usize::MAX));
        let read = self.0.reader.read(&mut buffer[..length])?;
        if read == 0 && length > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive is truncated"));
        }
        self.0.content -= read as u64;
        Ok(read)
    }
}

fn entry(header: &[u8; BLOCK], kind: u8, size: u64, extended: Extended) -> Result<Entry, TarError> {
    let path = match extended.path {
        Some(path) => path,
        None => {
            let name = text(field(&header[..100]))?;
            let is_ustar = header[257..262] == *b"ustar" && header[262] == 0;
            let prefix = if is_ustar { text(field(&header[345..500]))? } else { String::new() };
            if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
        }
    };
    let link = || match extended.link {
        Some(link) => Ok(link),
        None => text(field(&header[157..257])),
    };
    let kind = match kind {
        // Old archives mark directories only by the slash.
        b'0' | 0 | b'7' if path.ends_with('/') => EntryKind::Directory,
        b'0' | 0 | b'7' => EntryKind::File,
        b'1' => EntryKind::Hardlink(link()?),
        b'2' => EntryKind::Symlink(link()?),
        b'5' => EntryKind::Directory,
        other => EntryKind::Other(other),
    };
    let mode = u32::try_from(octal(&header[100..108])? & 0o7777).unwrap_or(0);
    Ok(Entry { path, kind, size, mode })
}

/// Returns the bytes of a field up to the first zero.
fn field(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)
}

fn text(bytes: &[u8]) -> Result<String, TarError> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|_| TarError::Damaged("a name is not UTF-8"))
}

/// Parses a number: octal digits, or a binary number marked by the first bit.
fn octal(bytes: &[u8]) -> Result<u64, TarError> {
    const INVALID: TarError = TarError::Damaged("a number in a header is invalid");
    if let [first, rest @ ..] = bytes
        && first & 0x80 != 0
    {
        if *first != 0x80 || rest.len() < 8 {
            return Err(INVALID);
        }
        let (high, low) = rest.split_at(rest.len() - 8);
        let low: [u8; 8] = low.try_into().map_err(|_| INVALID)?;
        let number = u64::from_be_bytes(low);
        // Larger numbers would overflow sums.
        if high.iter().any(|byte| *byte != 0) || number > u64::MAX / 4 {
            return Err(INVALID);
        }
        return Ok(number);
    }
    let digits = std::str::from_utf8(field(bytes)).map_err(|_| INVALID)?.trim();
    if digits.is_empty() {
        return Ok(0);
    }
    u64::from_str_radix(digits, 8).map_err(|_| INVALID)
}
