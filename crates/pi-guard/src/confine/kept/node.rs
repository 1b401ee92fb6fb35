//! What was at a protected path: files with their content, links, and directories.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::super::leftovers::entry::{self, Stamp};

/// The most files and bytes that are kept. More would cost memory and time before each command.
const MOST_FILES: usize = 4_096;
const MOST_BYTES: usize = 16 << 20;

/// What is left of the limits.
pub(super) struct Budget {
    files: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { files: MOST_FILES, bytes: MOST_BYTES }
    }
}

/// A file, a link or a directory.
#[derive(Debug, Clone)]
pub(super) enum Node {
    File(Kept),
    Link(OsString),
    Directory(Mode, BTreeMap<OsString, Self>),
    /// A socket, a pipe or a device, which is not restored.
    Other,
}

/// A file with its content.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) content: Arc<[u8]>,
    pub(super) stat: Facts,
    /// The facts changed long enough before the file was read.
    is_settled: bool,
}

/// What distinguishes two states of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    number: u64,
    size: u64,
    links: u64,
    changed: Stamp,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    pub(super) modified: (i64, i64),
}

impl Facts {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    pub(super) fn new(stat: &Stat) -> Self {
        Self {
            number: stat.st_ino as u64,
            size: stat.st_size.cast_unsigned(),
            links: stat.st_nlink as u64,
            changed: entry::changed(stat),
            mode: stat.st_mode,
            owner: (stat.st_uid, stat.st_gid),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        }
    }

    /// Returns true if the file has no more names than before, with which it could be changed later.
    pub(super) fn has_new_names(&self, former: &Self) -> bool {
        self.links > former.links
    }
}

impl Kept {
    /// Returns true if the file is known to be the same without reading it.
    pub(super) fn is_unchanged(&self, now: &Facts) -> bool {
        self.is_settled && self.stat == *now
    }
}

/// The result of looking at a path.
pub(super) enum Taken {
    Nothing,
    Node(Node),
    /// The path cannot be read, or there is too much.
    Unknown,
}

impl Node {
    /// Reads what is at a name. `former` is what was read there before.
    pub(super) fn take(
        directory: &OwnedFd,
        name: &OsStr,
        former: Option<&Self>,
        settled: Stamp,
        budget: &mut Budget,
    ) -> Taken {
        match Self::read(directory, name, former, settled, budget) {
            Ok(node) => Taken::Node(node),
            Err(Errno::NOENT) => Taken::Nothing,
            Err(_) => Taken::Unknown,
        }
    }

    fn read(
        directory: &OwnedFd,
        name: &OsStr,
        former: Option<&Self>,
        settled: Stamp,
        budget: &mut Budget,
    ) -> Result<Self, Errno> {
        let stat = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        budget.files = budget.files.checked_sub(1).ok_or(Errno::FBIG)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let stat = Facts::new(&stat);
                let content = match former {
                    Some(Self::File(kept)) if kept.is_unchanged(&stat) => Arc::clone(&kept.content),
                    _ => read(directory, name, budget.bytes)?.into(),
                };
                budget.bytes = budget.bytes.checked_sub(content.len()).ok_or(Errno::FBIG)?;
                let is_settled = stat.changed < settled;
                Ok(Self::File(Kept { content, stat, is_settled }))
            }
            FileType::Symlink => Ok(Self::Link(link(directory, name)?)),
            FileType::Directory => {
                let (inner, names) = entry::names(directory, name)?;
                let mut children = BTreeMap::new();
                for name in names {
                    let former = match former {
                        Some(Self::Directory(_, former)) => former.get(&name),
                        _ => None,
                    };
                    match Self::read(&inner, &name, former, settled, budget) {
                        Err(Errno::NOENT) => {}
                        child => {
                            children.insert(name, child?);
                        }
                    }
                }
                Ok(Self::Directory(Mode::from_raw_mode(stat.st_mode), children))
            }
            _ => Ok(Self::Other),
        }
    }
}

/// Reads a regular file of at most `most` bytes.
pub(super) fn read(directory: &OwnedFd, name: &OsStr, most: usize) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(fs::openat(directory, name, flags, Mode::empty())?);
    let mut content = Vec::new();
    let read = file.take(most as u64 + 1).read_to_end(&mut content);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    if content.len() > most { Err(Errno::FBIG) } else { Ok(content) }
}

/// Returns the target of a link.
pub(super) fn link(directory: &OwnedFd, name: &OsStr) -> Result<OsString, Errno> {
    Ok(OsString::from_vec(fs::readlinkat(directory, name, Vec::new())?.into_bytes()))
}
