//! Content of files: open, read, write.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::request::{Place, Request, Work};
use super::{Descriptors, Prepare};
use crate::access::{FileAccess, Links};
use crate::error::NativeError;
use crate::native::errno;
use crate::value::Plain;

pub(super) const OPERATIONS: &[(&str, Prepare)] = &[
    ("open", open),
    ("close", close),
    ("read", read),
    ("write", write),
    ("readFile", read_file),
    ("readText", read_text),
    ("readOpenFile", read_open_file),
    ("writeFile", write_file),
    ("truncate", truncate),
    ("ftruncate", ftruncate),
    ("fsync", fsync),
    ("fdatasync", fdatasync),
];

/// The largest file that is read at once. Node's limit is 2 GiB; the engine's memory is smaller.
const LARGEST: u64 = 2 << 30;

fn failed(syscall: &'static str) -> impl Fn(io::Error) -> NativeError {
    move |error| errno::file_error(errno::number(&error), syscall, None, None)
}

/// `open(path, flags, mode)` returns the number of the file.
fn open(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (place, opening) = opening(call, 0, 1, 2)?;
    let descriptors = Descriptors::clone(&call.host.area());
    Ok(Box::new(move || {
        let file = opening.open(&place)?;
        Ok(Plain::Number(f64::from(descriptors.add(file))))
    }))
}

/// Flags and mode of a file to open.
struct Opening {
    flags: OFlags,
    mode: Mode,
    /// The path has no links, and none may appear in it until it is opened.
    is_checked: bool,
}

fn opening(
    call: &mut Request<'_, '_>,
    path: usize,
    flags: usize,
    mode: usize,
) -> Result<(Place, Opening), NativeError> {
    let flags = OFlags::from_bits_retain(call.number(flags)? as u32);
    let mode = Mode::from_raw_mode(call.number(mode)? as u32);
    let writing = OFlags::WRONLY | OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::APPEND;
    let links = if flags.contains(OFlags::NOFOLLOW) { Links::Keep } else { Links::Follow };
    let place = if flags.intersects(writing) {
        call.place(path, FileAccess::Write, links)?
    } else {
        call.place(path, FileAccess::Read, links)?
    };
    Ok((place, Opening { flags, mode, is_checked: !call.host.access.is_trusted() }))
}

impl Opening {
    fn open(&self, place: &Place) -> Result<File, NativeError> {
        let flags = self.flags | OFlags::CLOEXEC;
        let opened = if self.is_checked {
            open_checked(place, flags, self.mode)
        } else {
            rustix::fs::open(&place.path, flags, self.mode)
        };
        opened.map(File::from).map_err(io::Error::from).map_err(place.failed("open"))
    }
}

/// Opens a path without links; another process may have put one there since it was checked.
fn open_checked(
    place: &Place,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<std::os::fd::OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, ResolveFlags, openat2};
        // A mode without a new file is an error of this call.
        let creates = flags.intersects(OFlags::CREATE | OFlags::TMPFILE);
        let mode = if creates { mode & Mode::from_raw_mode(0o7777) } else { Mode::empty() };
        match openat2(CWD, &place.path, flags, mode, ResolveFlags::NO_SYMLINKS) {
            // Older kernels, and sandboxes that do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    rustix::fs::open(&place.path, flags | OFlags::NOFOLLOW, mode)
}

/// `close(file)`
fn close(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    call.file(0, "close")?;
    let number = call.number(0)? as i32;
    let descriptors = Descriptors::clone(&call.host.area());
    Ok(Box::new(move || {
        drop(descriptors.remove(number));
        Ok(Plain::Nothing)
    }))
}

/// `read(file, length, position)` returns the bytes; without a position, from the current one.
fn read(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let file = call.file(0, "read")?;
    let length = (call.number(1)?.max(0.0) as u64).min(LARGEST) as usize;
    let position = call.position(2)?;
    Ok(Box::new(move || {
        let mut bytes = vec![0; length];
        let count = match position {
            Some(position) => file.read_at(&mut bytes, position),
            None => (&*file).read(&mut bytes),
        };
        bytes.truncate(count.map_err(failed("read"))?);
        Ok(Plain::Bytes(bytes))
    }))
}

/// `write(file, bytes, position)` returns the number of bytes.
fn write(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let file = call.file(0, "write")?;
    let (bytes, position) = (call.bytes(1)?, call.position(2)?);
    Ok(Box::new(move || {
        let written = match position {
            Some(position) => file.write_all_at(&bytes, position),
            None => (&*file).write_all(&bytes),
        };
        written.map_err(failed("write"))?;
        Ok(Plain::Number(bytes.len() as f64))
    }))
}

/// `readFile(path, flags)` returns the bytes.
fn read_file(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (place, opening) = opening(call, 0, 1, 2)?;
    Ok(Box::new(move || content(&mut opening.open(&place)?).map(Plain::Bytes)))
}

/// `readText(path, flags)` returns the text; invalid bytes become U+FFFD.
fn read_text(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (place, opening) = opening(call, 0, 1, 2)?;
    Ok(Box::new(move || {
        let bytes = content(&mut opening.open(&place)?)?;
        Ok(Plain::Text(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }))
    }))
}

/// `readOpenFile(file)` returns the rest of the file.
fn read_open_file(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let file = call.file(0, "read")?;
    Ok(Box::new(move || content(&mut &*file).map(Plain::Bytes)))
}

/// Reads a file to its end, which a device may not have.
fn content(mut file: impl io::Read) -> Result<Vec<u8>, NativeError> {
    let mut bytes = Vec::new();
    file.by_ref().take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed("read"))?;
    if bytes.len() as u64 > LARGEST {
        let message = "File size is greater than 2 GiB";
        return Err(NativeError::of("RangeError", message).with("code", "ERR_FS_FILE_TOO_LARGE"));
    }
    Ok(bytes)
}

/// `writeFile(path, flags, mode, bytes, sync)`
fn write_file(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (place, opening) = opening(call, 0, 1, 2)?;
    let (bytes, sync) = (call.bytes(3)?, call.flag(4)?);
    Ok(Box::new(move || {
        let mut file = opening.open(&place)?;
        file.write_all(&bytes).map_err(failed("write"))?;
        if sync {
            file.sync_all().map_err(failed("fsync"))?;
        }
        Ok(Plain::Nothing)
    }))
}

/// `truncate(path, length)`
fn truncate(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Follow)?;
    let length = call.position(1)?.unwrap_or(0);
    let opening = Opening {
        flags: OFlags::RDWR,
        mode: Mode::empty(),
        is_checked: !call.host.access.is_trusted(),
    };
    Ok(Box::new(move || {
        let file = opening.open(&place)?;
        file.set_len(length).map_err(place.failed("ftruncate"))?;
        Ok(Plain::Nothing)
    }))
}

/// `ftruncate(file, length)`
fn ftruncate(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let file = call.file(0, "ftruncate")?;
    let length = call.position(1)?.unwrap_or(0);
    Ok(Box::new(move || {
        file.set_len(length).map_err(failed("ftruncate"))?;
        Ok(Plain::Nothing)
    }))
}

fn fsync(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let file = call.file(0, "fsync")?;
    Ok(Box::new(move || {
        file.sync_all().map_err(failed("fsync"))?;
        Ok(Plain::Nothing)
    }))
}

fn fdatasync(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let file = call.file(0, "fdatasync")?;
    Ok(Box::new(move || {
        file.sync_data().map_err(failed("fdatasync"))?;
        Ok(Plain::Nothing)
    }))
}
