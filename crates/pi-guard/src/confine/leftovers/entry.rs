//! Directories and files by descriptors: no link is followed, because a command that still runs
//! could replace a directory by one.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};

/// The largest file that is read.
const MOST_TEXT: u64 = 1 << 20;

/// The end of the names of files that were renamed.
pub(super) const DISABLED: &str = ".disabled-by-pi";

/// A time of change: seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp(i64, i64);

impl Stamp {
    pub(super) fn at(since_1970: Duration) -> Self {
        let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX);
        Self(seconds, i64::from(since_1970.subsec_nanos()))
    }
}

/// What is known about a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) changed: Stamp,
    pub(super) kind: FileType,
    pub(super) is_executable: bool,
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(super) fn open_root(root: &Path) -> Option<OwnedFd> {
    fs::open(root, DIRECTORY, Mode::empty()).ok()
}

/// Opens a directory below another.
pub(super) fn open(root: &OwnedFd, path: &Path) -> Option<OwnedFd> {
    let mut reached = fs::openat(root, ".", DIRECTORY, Mode::empty()).ok()?;
    for name in path {
        reached = fs::openat(&reached, name, DIRECTORY, Mode::empty()).ok()?;
    }
    Some(reached)
}

/// Returns the time of change of a directory. The way to it may lead through a link that appeared
/// since; the directory with the link has changed then, and is read.
pub(super) fn directory_stamp(root: &OwnedFd, path: &Path) -> Option<Stamp> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let seen = see(root, path.as_os_str())?;
    (seen.kind == FileType::Directory).then_some(seen.changed)
}

pub(super) fn see(directory: &OwnedFd, name: &OsStr) -> Option<Seen> {
    let stat = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    let changed = Stamp(stat.st_ctime as i64, stat.st_ctime_nsec as i64);
    let is_executable =
        Mode::from_raw_mode(stat.st_mode).intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH);
    Some(Seen { changed, kind: FileType::from_raw_mode(stat.st_mode), is_executable })
}

/// Reads a small file. Returns none for anything else.
pub(super) fn read(directory: &OwnedFd, name: &OsStr) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(fs::openat(directory, name, flags, Mode::empty()).ok()?);
    let found = file.metadata().ok()?;
    if !found.is_file() || found.len() > MOST_TEXT {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_TEXT).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Renames a file so that it has no effect, and restores its former content if there is any.
/// Returns the new name.
pub(super) fn disable(directory: &OwnedFd, name: &OsStr, former: Option<&[u8]>) -> Option<PathBuf> {
    let mut new = name.to_owned();
    new.push(DISABLED);
    fs::renameat(directory, name, directory, &new).ok()?;
    if let Some(former) = former {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        // Without its former content the file is missing, which is harmless for git.
        if let Ok(file) = fs::openat(directory, name, flags, mode) {
            let _ = File::from(file).write_all(former);
        }
    }
    Some(new.into())
}

/// The names in a directory that matter.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) directories: Vec<PathBuf>,
    pub(super) has_pointer: bool,
    pub(super) entries: usize,
    has_head: bool,
    has_objects: bool,
    has_refs: bool,
    has_common: bool,
}

impl Listing {
    pub(super) fn read(directory: &OwnedFd) -> Option<Self> {
        let mut listing = Self::default();
        for entry in Dir::read_from(directory).ok()? {
            let entry = entry.ok()?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let kind = match entry.file_type() {
                FileType::Unknown => see(directory, name)?.kind,
                kind => kind,
            };
            listing.entries += 1;
            match name.as_bytes() {
                b"." | b".." => continue,
                b"HEAD" => listing.has_head = true,
                b"objects" => listing.has_objects = true,
                b"refs" => listing.has_refs = true,
                b"commondir" => listing.has_common = true,
                b".git" => listing.has_pointer = kind != FileType::Directory,
                _ => {}
            }
            if kind == FileType::Directory {
                listing.directories.push(name.into());
            }
        }
        Some(listing)
    }

    /// Returns true if `git` takes the directory for a repository: with its own objects, or with
    /// those of another.
    pub(super) fn is_repository(&self) -> bool {
        self.has_head && (self.has_common || (self.has_objects && self.has_refs))
    }
}

/// Returns the names of the entries of a directory in another one.
pub(super) fn names(
    directory: &OwnedFd,
    name: &OsStr,
) -> Option<(OwnedFd, Vec<std::ffi::OsString>)> {
    let inner = fs::openat(directory, name, DIRECTORY, Mode::empty()).ok()?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&inner).ok()?.flatten() {
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Some((inner, names))
}
