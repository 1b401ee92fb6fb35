//! Removing files and directories.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::Prepare;
use super::request::{Request, Work};
use crate::access::Links;
use crate::error::NativeError;
use crate::value::Plain;

pub(super) const OPERATIONS: &[(&str, Prepare)] =
    &[("unlink", unlink), ("rmdir", rmdir), ("rm", rm)];

/// `unlink(path)`
fn unlink(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Keep)?;
    Ok(Box::new(move || {
        fs::remove_file(&place.path).map_err(place.failed("unlink"))?;
        Ok(Plain::Nothing)
    }))
}

/// `rmdir(path)`
fn rmdir(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Keep)?;
    Ok(Box::new(move || {
        fs::remove_dir(&place.path).map_err(place.failed("rmdir"))?;
        Ok(Plain::Nothing)
    }))
}

/// `rm(path, isRecursive, isForced, retries, delay)`
fn rm(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Keep)?;
    let (recursive, force) = (call.flag(1)?, call.flag(2)?);
    let retries = call.position(3)?.unwrap_or(0);
    let delay = Duration::from_millis(call.position(4)?.unwrap_or(100));
    Ok(Box::new(move || {
        let found = match fs::symlink_metadata(&place.path) {
            Err(error) if force && error.kind() == io::ErrorKind::NotFound => {
                return Ok(Plain::Nothing);
            }
            found => found.map_err(place.failed("lstat"))?,
        };
        if found.is_dir() && !recursive {
            let message =
                format!("Path is a directory: rm returned EISDIR (is a directory) {}", place.given);
            return Err(NativeError::new(message).with("code", "ERR_FS_EISDIR").with("errno", 21));
        }
        let mut attempt = 0;
        loop {
            match remove(&place.path, found.is_dir()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) if attempt < retries && is_transient(&error) => {
                    attempt += 1;
                    std::thread::sleep(delay.saturating_mul(u32::try_from(attempt).unwrap_or(1)));
                }
                removed => break removed.map_err(place.failed("rm"))?,
            }
        }
        Ok(Plain::Nothing)
    }))
}

fn remove(path: &Path, is_directory: bool) -> io::Result<()> {
    // Neither follows links, also not in the directory.
    if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(error.kind(), Kind::ResourceBusy | Kind::DirectoryNotEmpty | Kind::PermissionDenied)
}
