//! Atomic replacement of the content of a local file.
//!
//! The content is written to a new file in the same directory, which is then renamed. That is not
//! always possible: the directory may not be writable, the file may have other names or an owner
//! that cannot be set, or be a mount point. Such a file is overwritten in place; if the write
//! fails, the old content is restored.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::regular::{open_regular, open_regular_no_follow};

/// Prefix of new files before they are renamed.
const PREFIX: &str = ".pi-write-";
/// Number of names to try: the number of concurrent writers in one directory.
const NAMES: usize = 16;

/// Replaces the content of a local file, or creates it. Links, owner and mode stay.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    put(&target(path)?, content, OtherNames::Follow)
}

/// The treatment of other names of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherNames {
    /// The other names get the new content too.
    Follow,
    /// The other names keep the old content: they may be where writing is forbidden. If the path is
    /// a link, the call fails.
    Keep,
}

/// Returns the file to replace: the target, if the path is a link.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => follow(path),
        found => found,
    }
}

/// Replaces the content of `target`.
pub fn put(target: &Path, content: &[u8], names: OtherNames) -> io::Result<()> {
    let existing = match names.open(OpenOptions::new().write(true), target) {
        // A file that is not writable is not replaced, even if its directory is writable.
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return persist(replacement(target, content, |_| Ok(()))?, target);
        }
        Err(error) => return Err(error),
    };
    let metadata = existing.metadata()?;
    if has_other_names(&metadata) && names == OtherNames::Follow {
        return write_in_place(target, content, names);
    }
    let new = replacement(target, content, |new| keep_attributes(new, &metadata));
    match new.and_then(|new| persist(new, target)) {
        Err(error) if cannot_rename(&error) => write_in_place(target, content, names),
        done => done,
    }
}

impl OtherNames {
    fn open(self, options: &mut OpenOptions, target: &Path) -> io::Result<File> {
        match self {
            Self::Follow => open_regular(options, target),
            Self::Keep => open_regular_no_follow(options, target),
        }
    }
}

/// Creates a file with this content in the directory of `target`.
pub fn replacement(
    target: &Path,
    content: &[u8],
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    let mut new = empty_file(target.parent().unwrap_or(Path::new("/")))?;
    prepare(new.as_file())?;
    new.write_all(content)?;
    // Without this, a power failure could leave an empty file under the name.
    new.as_file().sync_data()?;
    Ok(new)
}

/// Creates an empty file under a temporary name.
///
/// The first name that no running writer has locked is used. So the next writer in a directory
/// finds the file that a killed writer left behind and removes it: such files do not accumulate,
/// and no clean-up is needed.
fn empty_file(directory: &Path) -> io::Result<NamedTempFile> {
    for number in 0..NAMES {
        let path = directory.join(format!("{PREFIX}{number}"));
        let mut made = create(&path);
        if matches!(&made, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
            if !remove_abandoned(&path) {
                continue;
            }
            made = create(&path);
        }
        let file = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        };
        match file.try_lock() {
            Ok(()) if is_at(&file, &path) => {
                return Ok(NamedTempFile::from_parts(file, TempPath::try_from_path(path)?));
            }
            // Another writer took the file for an abandoned one before it was locked.
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => {
                let _ = fs::remove_file(&path);
                break;
            }
        }
    }
    // Too many writers, or a file system without locks.
    tempfile::Builder::new().prefix(PREFIX).make_in(directory, create)
}

/// Creates a file with the default mode of the process, not a private one.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Removes a file whose writer is dead; running writers hold a lock. Returns true on success.
fn remove_abandoned(path: &Path) -> bool {
    // Only regular files can be ours; opening something else could block.
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    let Some(file) = is_file.then(|| File::open(path).ok()).flatten() else { return false };
    file.try_lock().is_ok() && is_at(&file, path) && fs::remove_file(path).is_ok()
}

/// Returns true if an open file still has this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(path).map(|there| (there.dev(), there.ino()));
    let opened = file.metadata().map(|file| (file.dev(), file.ino()));
    matches!((found, opened), (Ok(found), Ok(opened)) if found == opened)
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    // An open file cannot be renamed there.
    path.exists()
}

/// Gives a replacement the name of the file.
pub fn persist(new: NamedTempFile, target: &Path) -> io::Result<()> {
    new.persist(target).map(drop).map_err(|error| error.error)
}

/// Returns true if the file cannot be renamed: the directory is not writable, the owner cannot be
/// set, or the target is a mount point.
pub fn cannot_rename(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy)
}

/// Overwrites a file, and restores it if that fails, for example on a full disk.
fn write_in_place(target: &Path, content: &[u8], names: OtherNames) -> io::Result<()> {
    let mut file = names.open(OpenOptions::new().read(true).write(true), target)?;
    if names == OtherNames::Keep && has_other_names(&file.metadata()?) {
        let why = "the file has other hard links, which would be changed too";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mut old = Vec::new();
    file.read_to_end(&mut old)?;
    overwrite(&mut file, content).inspect_err(|_| {
        // The first error is reported. The old content needs no more space than it had.
        let _ = overwrite(&mut file, &old);
    })
}

fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.rewind()?;
    // Truncated last: overwriting never needs more space than the new content.
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_data()
}

/// Returns the target of a link that leads to no file.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    // The limit of Linux.
    for _ in 0..40 {
        match fs::read_link(&at) {
            Ok(link) => at = at.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::other("too many symbolic links encountered"))
}

#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink() > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &Metadata) -> bool {
    false
}

/// Gives the new file the owner and the mode of the old one.
#[cfg(unix)]
pub fn keep_attributes(new: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        fchown(new, Some(old.uid()), Some(old.gid()))?;
    }
    // After the owner: a change of the owner clears some mode bits.
    new.set_permissions(old.permissions())
}

#[cfg(not(unix))]
pub fn keep_attributes(new: &File, old: &Metadata) -> io::Result<()> {
    new.set_permissions(old.permissions())
}
