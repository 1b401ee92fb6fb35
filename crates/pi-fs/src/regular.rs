//! Opening of regular files only.
//!
//! Opening a pipe waits for its other end, opening a device may do anything, and reading either may
//! never end. The kind of a file is checked before it is opened, and again on the open file, which
//! another process may have exchanged meanwhile. Files are opened without waiting; for regular
//! files this changes nothing, but some files of the kernel that only look regular would wait for
//! data.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// The error of a file that is not a regular one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a regular file: it is a pipe, a device or a socket")]
pub struct NotRegular;

impl NotRegular {
    /// Returns true if this is the cause of an error.
    pub fn is_cause(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|cause| cause.is::<Self>())
    }
}

impl From<NotRegular> for io::Error {
    fn from(error: NotRegular) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

/// Opens a regular file.
pub fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    checked(options, path, fs::metadata(path), 0)
}

/// Opens a regular file without following a link.
pub fn open_regular_no_follow(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    #[cfg(not(unix))]
    let flags = 0;
    checked(options, path, fs::symlink_metadata(path), flags)
}

fn checked(
    options: &mut OpenOptions,
    path: &Path,
    found: io::Result<Metadata>,
    flags: i32,
) -> io::Result<File> {
    // Other errors are left to the next step, which describes them better.
    if found.is_ok_and(|metadata| is_special(&metadata)) {
        return Err(NotRegular.into());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let no_waiting = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
        options.custom_flags(flags | no_waiting.cast_signed());
    }
    #[cfg(not(unix))]
    let _ = flags;
    let file = options.open(path)?;
    if is_special(&file.metadata()?) {
        return Err(NotRegular.into());
    }
    Ok(file)
}

fn is_special(metadata: &Metadata) -> bool {
    !metadata.is_file() && !metadata.is_dir() && !metadata.is_symlink()
}
