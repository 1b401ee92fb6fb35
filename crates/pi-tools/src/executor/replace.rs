//! New content for a file of this machine, so that nobody ever finds half of it.
//!
//! The content goes into a new file beside the old one, which then takes its name. That is not
//! possible everywhere: the directory may not be ours to write, the file may have other names or
//! an owner we cannot give away, or be mounted by itself. Such a file is written in place, and a
//! write that fails puts the old content back.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

/// What new files are called before they take their name.
const PREFIX: &str = ".pi-write-";
/// How many such names are tried: writers in one directory at the same time.
const NAMES: usize = 16;

/// Replaces the content of a file of this machine, or creates it. Links, owner and mode stay.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    put(&target(path)?, content, OtherNames::Follow)
}

/// What becomes of the other names of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherNames {
    /// They get the new content too.
    Follow,
    /// They keep the old one: they may be where nothing may be changed. A link in the place of the
    /// file is an error then.
    Keep,
}

/// The file that is meant: a link stays a link, and what it leads to is replaced.
pub(super) fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => follow(path),
        found => found,
    }
}

/// Puts the content where it belongs.
pub(super) fn put(target: &Path, content: &[u8], names: OtherNames) -> io::Result<()> {
    let existing = match names.open(OpenOptions::new().write(true), target) {
        // A file that may not be written is not replaced just because its directory may.
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return persist(new_file(target, content, |_| Ok(()))?, target);
        }
        Err(error) => return Err(error),
    };
    let metadata = existing.metadata()?;
    if !metadata.is_file() {
        // Devices and pipes are written to.
        return (&existing).write_all(content);
    }
    if has_other_names(&metadata) && names == OtherNames::Follow {
        return write_in_place(target, content, names);
    }
    let new = new_file(target, content, |new| keep_attributes(new, &metadata));
    match new.and_then(|new| persist(new, target)) {
        Err(error) if cannot_take_the_name(&error) => write_in_place(target, content, names),
        done => done,
    }
}

impl OtherNames {
    fn open(self, options: &mut OpenOptions, target: &Path) -> io::Result<File> {
        match self {
            Self::Follow => options.open(target),
            Self::Keep => open_itself(options, target),
        }
    }
}

/// Opens what has this name, and not what a link of this name leads to.
pub(super) fn open_itself(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options.open(path)
}

/// A file with this content beside the target.
pub(crate) fn new_file(
    target: &Path,
    content: &[u8],
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    let mut new = empty_file(target.parent().unwrap_or(Path::new("/")))?;
    prepare(new.as_file())?;
    new.write_all(content)?;
    // Without this a power cut could leave the name with nothing behind it.
    new.as_file().sync_data()?;
    Ok(new)
}

/// A new file under a name that does not last.
///
/// The first name that no living writer holds is taken. So what a killed writer left is in the way
/// of the next one in the same directory, which removes it: such files do not pile up, and nobody
/// has to look for them.
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
            // Somebody has taken it for abandoned before it was locked.
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => {
                let _ = fs::remove_file(&path);
                break;
            }
        }
    }
    // So many writers, or a file system without locks.
    tempfile::Builder::new().prefix(PREFIX).make_in(directory, create)
}

/// Made like any file, with the mode that the process gives to files, not a private one.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Removes a file whose writer is dead, and says whether it did: the living hold a lock on theirs.
fn remove_abandoned(path: &Path) -> bool {
    // Only a file can be one of ours; to open something else could take for ever.
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    let Some(file) = is_file.then(|| File::open(path).ok()).flatten() else { return false };
    file.try_lock().is_ok() && is_at(&file, path) && fs::remove_file(path).is_ok()
}

/// Whether an open file still has this name.
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

pub(crate) fn persist(new: NamedTempFile, target: &Path) -> io::Result<()> {
    new.persist(target).map(drop).map_err(|error| error.error)
}

/// Others may not create files here, give files away, or rename over this one.
pub(crate) fn cannot_take_the_name(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy)
}

/// Writes over a file, and takes it back if that fails: disks get full.
fn write_in_place(target: &Path, content: &[u8], names: OtherNames) -> io::Result<()> {
    let mut file = names.open(OpenOptions::new().read(true).write(true), target)?;
    if names == OtherNames::Keep && has_other_names(&file.metadata()?) {
        let why = "the file has other names, which would be changed too";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mut old = Vec::new();
    file.read_to_end(&mut old)?;
    overwrite(&mut file, content).inspect_err(|_| {
        // The first error is the one to tell; the old content needs no more room than it had.
        let _ = overwrite(&mut file, &old);
    })
}

fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.rewind()?;
    // Cut off last: what is written over never needs more room than there is.
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_data()
}

/// Where a link to something that does not exist leads.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    // As many links as Linux follows.
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
pub(crate) fn keep_attributes(new: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        fchown(new, Some(old.uid()), Some(old.gid()))?;
    }
    // After the owner: a change of owner takes some of the mode away.
    new.set_permissions(old.permissions())
}

#[cfg(not(unix))]
pub(crate) fn keep_attributes(new: &File, old: &Metadata) -> io::Result<()> {
    new.set_permissions(old.permissions())
}
