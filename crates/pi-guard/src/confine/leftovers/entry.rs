//! Directories and files by descriptors: no link is followed, because a command that still runs
//! could replace a directory by one.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{Read, Write};
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{self, Access, AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// The largest file that is read.
const MOST_TEXT: u64 = 1 << 20;

/// The end of the names of files that were renamed, or what is before a number in it.
pub(super) const DISABLED: &str = ".disabled-by-pi";

/// Attempts to find a free name with a short number; the next ones are random.
const SHORT_NAMES: u32 = 8;
const ATTEMPTS: u32 = 64;

/// A time of change: seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Stamp(i64, i64);

impl Stamp {
    pub(in super::super) fn at(since_1970: Duration) -> Self {
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
    /// Number of the file and its size.
    file: (u64, u64),
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory that is not opened for reading.
const PLACE: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open directory. Its owner can list it and look into it, as long as this value lives: a command
/// may have taken these rights away, from the directory or from one above it.
pub(in super::super) struct Opened {
    directory: OwnedFd,
    _unlocked: Vec<Unlocked>,
}

impl Deref for Opened {
    type Target = OwnedFd;
    fn deref(&self) -> &OwnedFd {
        &self.directory
    }
}

/// A directory that gets its mode back.
pub(in super::super) struct Unlocked {
    directory: OwnedFd,
    mode: Mode,
}

impl Drop for Unlocked {
    fn drop(&mut self) {
        // Changing it was possible, so changing it back is.
        let _ = set_mode(&self.directory, self.mode);
    }
}

/// Sets the mode of a directory, also of one that cannot be opened for reading.
fn set_mode(directory: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    fs::chmod(format!("/proc/self/fd/{}", directory.as_raw_fd()), mode)
}

/// Lets the owner of a directory create files in it, as long as the result lives.
pub(in super::super) fn writable(directory: &OwnedFd) -> Result<Option<Unlocked>, Errno> {
    unlock(directory, Mode::RWXU)
}

/// Gives the owner of a directory more rights, if that is this user. Returns none if they are there
/// already.
fn unlock(directory: &OwnedFd, rights: Mode) -> Result<Option<Unlocked>, Errno> {
    let found = fs::fstat(directory)?;
    let mode = Mode::from_raw_mode(found.st_mode);
    if mode.contains(rights) || found.st_uid != rustix::process::geteuid().as_raw() {
        return Ok(None);
    }
    let directory = directory.try_clone().map_err(|_| Errno::MFILE)?;
    set_mode(&directory, mode | rights)?;
    Ok(Some(Unlocked { directory, mode }))
}

/// Opens a directory of a writable root, or the root itself.
fn step(from: impl AsFd, path: &OsStr, unlocked: &mut Vec<Unlocked>) -> Result<OwnedFd, Errno> {
    let rights = Mode::RUSR | Mode::XUSR;
    match fs::openat(&from, path, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let place = fs::openat(&from, path, PLACE, Mode::empty())?;
            unlocked.extend(unlock(&place, rights)?);
            fs::openat(&place, ".", DIRECTORY, Mode::empty())
        }
        opened => {
            let opened = opened?;
            unlocked.extend(unlock(&opened, rights)?);
            Ok(opened)
        }
    }
}

pub(in super::super) fn open_root(root: &Path) -> Result<Opened, Errno> {
    let mut unlocked = Vec::new();
    let directory = step(fs::CWD, root.as_os_str(), &mut unlocked)?;
    Ok(Opened { directory, _unlocked: unlocked })
}

/// Opens a directory below another.
pub(in super::super) fn open(root: &OwnedFd, path: &Path) -> Result<Opened, Errno> {
    let mut unlocked = Vec::new();
    let mut directory = fs::openat(root, ".", DIRECTORY, Mode::empty())?;
    for name in path {
        directory = step(&directory, name, &mut unlocked)?;
    }
    Ok(Opened { directory, _unlocked: unlocked })
}

/// Returns true if an error says that there is no such directory: nothing, a file or a link.
pub(in super::super) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Returns true if a command of this user could have put something into a directory that cannot be
/// opened.
pub(super) fn may_hide(root: &OwnedFd, path: &Path, error: Errno) -> bool {
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    error != Errno::ACCESS || fs::accessat(root, path, rights, AtFlags::EACCESS).is_ok()
}

/// Returns the time of change of a directory. The way to it may lead through a link that appeared
/// since; the directory with the link has changed then, and is read.
pub(super) fn directory_stamp(root: &OwnedFd, path: &Path) -> Result<Stamp, Errno> {
    let name = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let stat = match fs::statat(root, name, AtFlags::SYMLINK_NOFOLLOW) {
        // The way is closed, or longer than the system accepts at once.
        Err(error) if !is_gone(error) => fs::fstat(&*open(root, path)?)?,
        found => found?,
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok(changed(&stat)),
        _ => Err(Errno::NOTDIR),
    }
}

#[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
pub(in super::super) fn changed(stat: &fs::Stat) -> Stamp {
    Stamp(stat.st_ctime as i64, stat.st_ctime_nsec as i64)
}

pub(super) fn see(directory: &OwnedFd, name: &OsStr) -> Option<Seen> {
    let stat = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_executable =
        Mode::from_raw_mode(stat.st_mode).intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH);
    let kind = FileType::from_raw_mode(stat.st_mode);
    let file = (stat.st_ino, stat.st_size.cast_unsigned());
    Some(Seen { changed: changed(&stat), kind, is_executable, file })
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

/// Renames a file or directory so that it has no effect. Returns the new name, one that is free.
pub(in super::super) fn disable(directory: &OwnedFd, name: &OsStr) -> Result<PathBuf, Errno> {
    let _unlocked = unlock(directory, Mode::RWXU)?;
    let _inner = unlock_inner(directory, name)?;
    rename(directory, name)
}

fn rename(directory: &OwnedFd, name: &OsStr) -> Result<PathBuf, Errno> {
    let mut last = Errno::EXIST;
    for attempt in 0..ATTEMPTS {
        let new = free_name(name, attempt);
        match fs::renameat_with(directory, name, directory, &new, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(new.into()),
            // A file system that cannot refuse to replace.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let taken = fs::statat(directory, &new, AtFlags::SYMLINK_NOFOLLOW);
                if taken.is_err_and(|error| error == Errno::NOENT) {
                    return fs::renameat(directory, name, directory, &new).map(|()| new.into());
                }
            }
            Err(error @ (Errno::EXIST | Errno::NOTEMPTY | Errno::NAMETOOLONG)) => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Creates a directory for disabled files with a name like that of another one.
pub(in super::super) fn make_free(
    directory: &OwnedFd,
    name: &OsStr,
) -> Result<(OwnedFd, PathBuf), Errno> {
    let _unlocked = unlock(directory, Mode::RWXU)?;
    let mut last = Errno::EXIST;
    for attempt in 0..ATTEMPTS {
        let new = free_name(name, attempt);
        match fs::mkdirat(directory, &new, Mode::RWXU) {
            Ok(()) => {
                return Ok((fs::openat(directory, &new, DIRECTORY, Mode::empty())?, new.into()));
            }
            Err(Errno::EXIST) => last = Errno::EXIST,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Moves a file or directory into another directory.
pub(in super::super) fn rename_into(
    directory: &OwnedFd,
    name: &OsStr,
    target: &OwnedFd,
) -> Result<(), Errno> {
    let _unlocked = unlock(directory, Mode::RWXU)?;
    let _inner = unlock_inner(directory, name)?;
    fs::renameat_with(directory, name, target, name, RenameFlags::NOREPLACE)
}

/// Makes a directory that is about to be moved writable.
fn unlock_inner(directory: &OwnedFd, name: &OsStr) -> Result<Option<Unlocked>, Errno> {
    let found = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => {
            unlock(&fs::openat(directory, name, PLACE, Mode::empty())?, Mode::RWXU)
        }
        _ => Ok(None),
    }
}

/// Sets the mode of a file or directory that is not a link.
pub(in super::super) fn set_mode_of(
    directory: &OwnedFd,
    name: &OsStr,
    mode: Mode,
) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = fs::openat(directory, name, flags, Mode::empty())?;
    if FileType::from_raw_mode(fs::fstat(&place)?.st_mode) == FileType::Symlink {
        return Err(Errno::LOOP);
    }
    set_mode(&place, mode)
}

/// Returns a name that commands cannot guess.
pub(in super::super) fn random_name(start: &str) -> OsString {
    format!("{start}-{:016x}", RandomState::new().build_hasher().finish()).into()
}

/// Returns a name for a disabled file. Commands can take names in advance, but not random ones.
fn free_name(name: &OsStr, attempt: u32) -> OsString {
    // A long name leaves no room.
    let mut new = if name.len() < 200 { name.to_owned() } else { OsString::from("file") };
    new.push(DISABLED);
    match attempt {
        0 => {}
        1..SHORT_NAMES => new.push(format!("-{}", attempt + 1)),
        _ => return random_name(&new.to_string_lossy()),
    }
    new
}

/// Creates a file with its former content.
pub(super) fn restore(directory: &OwnedFd, name: &OsStr, former: &[u8]) -> std::io::Result<()> {
    let _unlocked = unlock(directory, Mode::RWXU)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    File::from(fs::openat(directory, name, flags, mode)?).write_all(former)
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
    pub(super) fn read(directory: &OwnedFd) -> Result<Self, Errno> {
        let mut listing = Self::default();
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let kind = match entry.file_type() {
                FileType::Unknown => match see(directory, name) {
                    Some(seen) => seen.kind,
                    // Removed meanwhile.
                    None => continue,
                },
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
        Ok(listing)
    }

    /// Returns true if `git` takes the directory for a repository: with its own objects, or with
    /// those of another.
    pub(super) fn is_repository(&self) -> bool {
        self.has_head && (self.has_common || (self.has_objects && self.has_refs))
    }
}

/// Returns the names of the entries of a directory in another one.
pub(in super::super) fn names(
    directory: &OwnedFd,
    name: &OsStr,
) -> Result<(Opened, Vec<OsString>), Errno> {
    let inner = open(directory, Path::new(name))?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&*inner)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok((inner, names))
}
