//! Unpacks the archive of a package into a directory. Archives come from strangers: every path,
//! type and size is checked before anything is written.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType, PaxExtensions};
use unicode_normalization::UnicodeNormalization as _;

use crate::error::ArchiveError;

/// Bounds of a package.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Total size of the files.
    pub(crate) size: u64,
    /// Number of entries.
    pub(crate) entries: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { size: 1 << 30, entries: 100_000 }
    }
}

/// Longest path of an entry, and its deepest nesting.
const MAX_PATH: usize = 1024;
const MAX_DEPTH: usize = 64;

/// Largest header that holds a long name.
const MAX_NAME: u64 = 64 * 1024;

/// Unpacks a compressed archive into `directory`, which must not exist. The first component of
/// each path is dropped, as npm does.
pub(crate) fn unpack(
    archive: impl Read,
    directory: &Path,
    bounds: Bounds,
) -> Result<(), ArchiveError> {
    // Headers and padding need space beyond the files. The stream itself is bounded too, so that
    // an archive of nothing but skipped content ends.
    let overhead = 2048 * bounds.entries as u64 + (1 << 20);
    let stream = MultiGzDecoder::new(archive).take(bounds.size + overhead);
    let mut unpacking = Unpacking {
        directory,
        seen: HashSet::new(),
        directories: HashSet::new(),
        size: 0,
        entries: 0,
        bounds,
    };
    unpacking.create_directory(directory)?;
    let mut archive = Archive::new(stream);
    let mut names = LongNames::default();
    // Raw entries: the size of a header with a long name is checked before it is read.
    for entry in archive.entries().map_err(|error| damaged(&error))?.raw(true) {
        let mut entry = entry.map_err(|error| damaged(&error))?;
        if names.read(&mut entry)? {
            continue;
        }
        unpacking.count(entry.size())?;
        let mode = entry.header().mode().map_err(|error| damaged(&error))?;
        let LongNames { path: original, link } = std::mem::take(&mut names);
        let original = original.map_or_else(|| text(&entry.path_bytes()), Ok)?;
        let link = link.map_or_else(|| text(&entry.link_name_bytes().unwrap_or_default()), Ok)?;
        let kind = match entry.header().entry_type() {
            // Old archives mark directories only by the slash.
            EntryType::Regular | EntryType::Continuous if original.ends_with('/') => {
                EntryType::Directory
            }
            EntryType::Continuous => EntryType::Regular,
            kind => kind,
        };
        let Some(path) = checked_path(&original)? else {
            if kind == EntryType::Directory {
                continue;
            }
            return Err(refused(&original, "has no directory"));
        };
        match kind {
            EntryType::Directory => unpacking.add_directory(&path, &original)?,
            EntryType::Regular => {
                let target = unpacking.new_file(&path, &original)?;
                write(&target, &mut entry, mode)?;
            }
            EntryType::Symlink => {
                check_link(&path, &link, &original)?;
                // npm leaves symbolic links out as well.
            }
            EntryType::Link => {
                let source = checked_path(&link)?.ok_or_else(|| refused(&link, "is no file"))?;
                let source = unpacking.directory.join(source);
                let length = fs::symlink_metadata(&source).map(|data| (data.is_file(), data.len()));
                let Ok((true, length)) = length else {
                    return Err(refused(&link, "is linked to and not in the archive"));
                };
                unpacking.count(length)?;
                let target = unpacking.new_file(&path, &original)?;
                let mut source = File::open(&source).map_err(write_error(&source))?;
                write(&target, &mut source, mode)?;
            }
            _ => return Err(ArchiveError::Type { path: original }),
        }
    }
    Ok(())
}

/// Names for the next entry, from the headers before it.
#[derive(Default)]
struct LongNames {
    path: Option<String>,
    link: Option<String>,
}

impl LongNames {
    /// Reads a header with names. Returns false for an entry of any other type.
    fn read(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<bool, ArchiveError> {
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader => {}
            // Defaults for all entries: npm archives have only comments here.
            EntryType::XGlobalHeader => return Ok(true),
            _ => return Ok(false),
        }
        if entry.size() > MAX_NAME {
            return Err(ArchiveError::Damaged("an extended header is too large".to_owned()));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
        match kind {
            EntryType::GNULongName => self.path = Some(text(&bytes)?),
            EntryType::GNULongLink => self.link = Some(text(&bytes)?),
            _ => self.read_records(&bytes)?,
        }
        Ok(true)
    }

    fn read_records(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let invalid = || ArchiveError::Damaged("an extended header is invalid".to_owned());
        for record in PaxExtensions::new(bytes) {
            let record = record.map_err(|_| invalid())?;
            match record.key_bytes() {
                b"path" => self.path = Some(text(record.value_bytes())?),
                b"linkpath" => self.link = Some(text(record.value_bytes())?),
                // Only files beyond any bound need it, and sparse files are not supported.
                key if key == b"size" || key.starts_with(b"GNU.sparse") => return Err(invalid()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn damaged(error: &io::Error) -> ArchiveError {
    ArchiveError::Damaged(error.to_string())
}

/// Returns the text of a name, without the zeros at its end.
fn text(bytes: &[u8]) -> Result<String, ArchiveError> {
    let text = std::str::from_utf8(bytes).map(|text| text.trim_end_matches('\0').to_owned());
    text.map_err(|_| ArchiveError::Damaged("a name is not UTF-8".to_owned()))
}

struct Unpacking<'a> {
    directory: &'a Path,
    /// Paths of files and directories, as a file system that ignores case and composition
    /// compares them.
    seen: HashSet<String>,
    directories: HashSet<String>,
    size: u64,
    entries: usize,
    bounds: Bounds,
}

impl Unpacking<'_> {
    fn count(&mut self, size: u64) -> Result<(), ArchiveError> {
        self.entries += 1;
        self.size = self.size.saturating_add(size);
        if self.entries > self.bounds.entries {
            return Err(ArchiveError::TooLarge(format!("{} entries", self.bounds.entries)));
        }
        if self.size > self.bounds.size {
            return Err(ArchiveError::TooLarge(format!("{} bytes", self.bounds.size)));
        }
        Ok(())
    }

    /// Registers a file and creates its directories.
    fn new_file(&mut self, path: &str, original: &str) -> Result<PathBuf, ArchiveError> {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.add_directory(parent, original)?;
        }
        let key = folded(path);
        if self.directories.contains(&key) || !self.seen.insert(key) {
            return Err(refused(original, "occurs twice"));
        }
        Ok(self.directory.join(path))
    }

    /// Creates a directory and its ancestors.
    fn add_directory(&mut self, path: &str, original: &str) -> Result<(), ArchiveError> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            let part = &path[..end];
            let key = folded(part);
            if self.seen.contains(&key) {
                return Err(refused(original, "occurs twice"));
            }
            let directory = self.directory.join(part);
            if self.directories.insert(key) {
                self.create_directory(&directory)?;
            } else if !directory.is_dir() {
                // A directory with another spelling is known.
                return Err(refused(original, "differs from another path only in case"));
            }
        }
        Ok(())
    }

    fn create_directory(&self, directory: &Path) -> Result<(), ArchiveError> {
        fs::create_dir(directory).map_err(write_error(directory))
    }
}

/// Returns a text that is equal for paths that some file systems treat as one.
fn folded(path: &str) -> String {
    path.nfc().flat_map(char::to_lowercase).collect()
}

/// Returns the path without its first component; `None` if nothing is left.
fn checked_path(path: &str) -> Result<Option<String>, ArchiveError> {
    if path.starts_with('/') {
        return Err(refused(path, "is absolute"));
    }
    if path.len() > MAX_PATH {
        return Err(refused(path, "is too long"));
    }
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return Err(refused(path, "has characters that are not allowed"));
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(refused(path, "leaves the package"));
    }
    if parts.len() > MAX_DEPTH {
        return Err(refused(path, "is nested too deeply"));
    }
    Ok(parts.get(1..).filter(|rest| !rest.is_empty()).map(|rest| rest.join("/")))
}

/// Checks that the target of a symbolic link is in the package.
fn check_link(path: &str, link: &str, original: &str) -> Result<(), ArchiveError> {
    let mut depth = path.matches('/').count();
    let leaves = refused(original, "is a link that leaves the package");
    if link.starts_with('/') {
        return Err(leaves);
    }
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return Err(leaves),
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    Ok(())
}

fn write(target: &Path, content: &mut impl Read, mode: u32) -> Result<(), ArchiveError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(if mode & 0o111 == 0 { 0o644 } else { 0o755 });
    }
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(target).map_err(write_error(target))?;
    io::copy(content, &mut file).map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput => {
            ArchiveError::Damaged(error.to_string())
        }
        _ => write_error(target)(error),
    })
}

fn refused(path: &str, problem: &'static str) -> ArchiveError {
    ArchiveError::Path { path: path.to_owned(), problem }
}

fn write_error(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    move |source| ArchiveError::Write { path: path.to_owned(), source }
}
