//! Properties of files: type, size, times, mode, owner.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

use super::Prepare;
use super::request::{Place, Request, Work};
use crate::access::Links;
use crate::error::NativeError;
use crate::native::errno;
use crate::value::Plain;

pub(super) const OPERATIONS: &[(&str, Prepare)] = &[
    ("stat", stat),
    ("lstat", lstat),
    ("fstat", fstat),
    ("statfs", statfs),
    ("access", access),
    ("exists", exists),
    ("chmod", chmod),
    ("fchmod", fchmod),
    ("chown", chown),
    ("lchown", lchown),
    ("fchown", fchown),
    ("utimes", utimes),
    ("lutimes", lutimes),
    ("futimes", futimes),
];

/// `stat(path)` returns the properties; see [`numbers`].
fn stat(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.read(0, Links::Follow)?;
    Ok(Box::new(move || {
        let found = std::fs::metadata(&place.path).map_err(place.failed("stat"))?;
        Ok(numbers(&found))
    }))
}

fn lstat(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.read(0, Links::Keep)?;
    Ok(Box::new(move || {
        let found = std::fs::symlink_metadata(&place.path).map_err(place.failed("lstat"))?;
        Ok(numbers(&found))
    }))
}

fn fstat(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let file = call.file(0, "fstat")?;
    Ok(Box::new(move || {
        let failed = |error| errno::file_error(errno::number(&error), "fstat", None, None);
        Ok(numbers(&file.metadata().map_err(failed)?))
    }))
}

/// Returns the properties in the order of `js/node/fs/stats.js`: numbers, then pairs of seconds and
/// nanoseconds.
fn numbers(found: &Metadata) -> Plain {
    let (born, born_ns) = match found.created().ok().and_then(since_epoch) {
        Some(time) => (time.as_secs() as f64, f64::from(time.subsec_nanos())),
        None => (found.ctime() as f64, found.ctime_nsec() as f64),
    };
    Plain::Numbers(vec![
        found.dev() as f64,
        f64::from(found.mode()),
        found.nlink() as f64,
        f64::from(found.uid()),
        f64::from(found.gid()),
        found.rdev() as f64,
        found.blksize() as f64,
        found.ino() as f64,
        found.size() as f64,
        found.blocks() as f64,
        found.atime() as f64,
        found.atime_nsec() as f64,
        found.mtime() as f64,
        found.mtime_nsec() as f64,
        found.ctime() as f64,
        found.ctime_nsec() as f64,
        born,
        born_ns,
    ])
}

fn since_epoch(time: SystemTime) -> Option<Duration> {
    time.duration_since(UNIX_EPOCH).ok()
}

/// `statfs(path)` returns type, block size, blocks, free and available blocks, files, free files.
fn statfs(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.read(0, Links::Follow)?;
    Ok(Box::new(move || {
        let found = rustix::fs::statvfs(&place.path).map_err(io::Error::from);
        let found = found.map_err(place.failed("statfs"))?;
        Ok(Plain::Numbers(vec![
            found.f_fsid as f64,
            found.f_bsize as f64,
            found.f_blocks as f64,
            found.f_bfree as f64,
            found.f_bavail as f64,
            found.f_files as f64,
            found.f_ffree as f64,
        ]))
    }))
}

/// `access(path, mode)`
fn access(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.read(0, Links::Follow)?;
    let wanted = rustix::fs::Access::from_bits_retain(call.number(1)? as u32);
    Ok(Box::new(move || {
        let checked = rustix::fs::access(&place.path, wanted).map_err(io::Error::from);
        checked.map_err(place.failed("access"))?;
        Ok(Plain::Nothing)
    }))
}

/// `exists(path)` returns 1 or 0. It never fails: a file that may not be seen does not exist.
fn exists(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let found = call.read(0, Links::Follow);
    let Ok(place) = found else { return Ok(Box::new(|| Ok(Plain::Number(0.0)))) };
    Ok(Box::new(move || {
        let found = rustix::fs::access(&place.path, rustix::fs::Access::EXISTS).is_ok();
        Ok(Plain::Number(f64::from(u8::from(found))))
    }))
}

/// `chmod(path, mode)`
fn chmod(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (place, mode) = (call.write(0, Links::Follow)?, call.number(1)? as u32);
    Ok(Box::new(move || {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&place.path, mode).map_err(place.failed("chmod"))?;
        Ok(Plain::Nothing)
    }))
}

fn fchmod(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (file, mode) = (call.file(0, "fchmod")?, call.number(1)? as u32);
    Ok(Box::new(move || {
        let set = file.set_permissions(std::fs::Permissions::from_mode(mode));
        set.map_err(|error| errno::file_error(errno::number(&error), "fchmod", None, None))?;
        Ok(Plain::Nothing)
    }))
}

/// `chown(path, user, group)`
fn chown(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Follow)?;
    let (user, group) = owners(call)?;
    Ok(Box::new(move || {
        let set = std::os::unix::fs::chown(&place.path, user, group);
        set.map_err(place.failed("chown"))?;
        Ok(Plain::Nothing)
    }))
}

fn lchown(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Keep)?;
    let (user, group) = owners(call)?;
    Ok(Box::new(move || {
        let set = std::os::unix::fs::lchown(&place.path, user, group);
        set.map_err(place.failed("lchown"))?;
        Ok(Plain::Nothing)
    }))
}

fn fchown(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let file = call.file(0, "fchown")?;
    let (user, group) = owners(call)?;
    Ok(Box::new(move || {
        let set = std::os::unix::fs::fchown(&*file, user, group);
        set.map_err(|error| errno::file_error(errno::number(&error), "fchown", None, None))?;
        Ok(Plain::Nothing)
    }))
}

/// User and group; -1 leaves one as it is.
fn owners(call: &Request<'_, '_>) -> Result<(Option<u32>, Option<u32>), NativeError> {
    let owner = |number: f64| (number >= 0.0).then_some(number as u32);
    Ok((owner(call.number(1)?), owner(call.number(2)?)))
}

/// `utimes(path, accessed, modified)`, both in seconds.
fn utimes(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Follow)?;
    set_times(call, place, AtFlags::empty(), "utime")
}

fn lutimes(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Keep)?;
    set_times(call, place, AtFlags::SYMLINK_NOFOLLOW, "lutime")
}

fn set_times(
    call: &Request<'_, '_>,
    place: Place,
    flags: AtFlags,
    syscall: &'static str,
) -> Result<Work, NativeError> {
    let times = timestamps(call)?;
    Ok(Box::new(move || {
        let set = rustix::fs::utimensat(CWD, &place.path, &times, flags).map_err(io::Error::from);
        set.map_err(place.failed(syscall))?;
        Ok(Plain::Nothing)
    }))
}

fn futimes(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (file, times) = (call.file(0, "futime")?, timestamps(call)?);
    Ok(Box::new(move || {
        let set = rustix::fs::futimens(&*file, &times);
        set.map_err(|number| errno::file_error(number, "futime", None, None))?;
        Ok(Plain::Nothing)
    }))
}

fn timestamps(call: &Request<'_, '_>) -> Result<Timestamps, NativeError> {
    let time = |seconds: f64| {
        let whole = seconds.floor();
        let tv_nsec = ((seconds - whole) * 1e9).round().clamp(0.0, 999_999_999.0);
        Timespec { tv_sec: whole as _, tv_nsec: tv_nsec as _ }
    };
    Ok(Timestamps { last_access: time(call.number(1)?), last_modification: time(call.number(2)?) })
}
