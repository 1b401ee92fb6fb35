//! Directories and names: make, list, rename, links.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _};
use std::path::Path;

use super::Prepare;
use super::request::{Request, Work, failed_to};
use crate::access::{FileAccess, Links};
use crate::error::NativeError;
use crate::value::Plain;

pub(super) const OPERATIONS: &[(&str, Prepare)] = &[
    ("mkdir", mkdir),
    ("mkdtemp", mkdtemp),
    ("readdir", readdir),
    ("rename", rename),
    ("link", link),
    ("symlink", symlink),
    ("readlink", readlink),
    ("realpath", realpath),
];

/// `mkdir(path, isRecursive, mode)` returns the first directory that it made, if it is recursive.
fn mkdir(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Follow)?;
    let (recursive, mode) = (call.flag(1)?, call.number(2)? as u32);
    Ok(Box::new(move || {
        let make = |path: &Path| fs::DirBuilder::new().mode(mode).create(path);
        if !recursive {
            make(&place.path).map_err(place.failed("mkdir"))?;
            return Ok(Plain::Nothing);
        }
        // A part of the path may not be a directory, or appear at the same time.
        let missing: Vec<&Path> =
            place.path.ancestors().take_while(|path| !path.exists()).collect();
        if missing.is_empty() && !place.path.is_dir() {
            let exists = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(place.failed("mkdir")(exists));
        }
        let first = missing.last().map(|path| path.to_string_lossy().into_owned());
        for path in missing.iter().rev() {
            match make(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
                made => made.map_err(place.failed("mkdir"))?,
            }
        }
        Ok(first.map_or(Plain::Nothing, Plain::Text))
    }))
}

/// `mkdtemp(prefix)` returns the path: the prefix as it was given, and six random characters.
fn mkdtemp(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.write(0, Links::Keep)?;
    Ok(Box::new(move || {
        let mut given = place.clone();
        given.given.push_str("XXXXXX");
        for _ in 0..100 {
            let random = random_name().map_err(given.failed("mkdtemp"))?;
            let mut path = place.path.clone().into_os_string();
            // The path of a prefix that ends in a separator has lost it.
            if place.given.ends_with('/') && !place.path.to_string_lossy().ends_with('/') {
                path.push("/");
            }
            path.push(&random);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    made.map_err(given.failed("mkdtemp"))?;
                    return Ok(Plain::Text(format!("{}{random}", place.given)));
                }
            }
        }
        Err(given.failed("mkdtemp")(io::ErrorKind::AlreadyExists.into()))
    }))
}

fn random_name() -> io::Result<String> {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut bytes = [0_u8; 6];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
    let letter = |byte: u8| LETTERS.get(usize::from(byte) % LETTERS.len()).copied().unwrap_or(b'x');
    Ok(bytes.iter().map(|byte| char::from(letter(*byte))).collect())
}

/// `readdir(path, isRecursive)` returns the entries.
fn readdir(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (place, recursive) = (call.read(0, Links::Follow)?, call.flag(1)?);
    Ok(Box::new(move || {
        let mut entries = Vec::new();
        let mut open = vec![String::new()];
        while let Some(parent) = open.pop() {
            let listed = list(&place.path.join(&parent), &parent);
            let listed = listed.map_err(place.failed("scandir"))?;
            for entry in listed {
                if recursive && entry.kind == DIRECTORY {
                    open.push(below(&parent, &entry.name));
                }
                entries.push(entry);
            }
        }
        Ok(entries.into_iter().map(Entry::json).collect::<serde_json::Value>().into())
    }))
}

/// The type of a directory, as in its mode.
const DIRECTORY: u32 = 0o040_000;

/// An entry of a directory.
struct Entry {
    name: String,
    /// Type of the file, as in the mode of its properties.
    kind: u32,
    /// Directory of the entry, relative to the one that was listed.
    parent: String,
}

impl Entry {
    fn json(self) -> serde_json::Value {
        serde_json::json!([self.name, self.kind, self.parent])
    }
}

fn list(path: &Path, parent: &str) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_or(0, kind);
        entries.push(Entry { name, kind, parent: parent.to_owned() });
    }
    // The order of the system is random; Node's users see mostly sorted names.
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

fn below(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
}

fn kind(kind: fs::FileType) -> u32 {
    if kind.is_file() {
        0o100_000
    } else if kind.is_dir() {
        DIRECTORY
    } else if kind.is_symlink() {
        0o120_000
    } else if kind.is_fifo() {
        0o010_000
    } else if kind.is_socket() {
        0o140_000
    } else if kind.is_char_device() {
        0o020_000
    } else {
        0o060_000
    }
}

/// `rename(from, to)`
fn rename(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (from, to) = (call.write(0, Links::Keep)?, call.write(1, Links::Keep)?);
    Ok(Box::new(move || {
        fs::rename(&from.path, &to.path).map_err(failed_to(&from, &to, "rename"))?;
        Ok(Plain::Nothing)
    }))
}

/// `link(existing, new)`. The new name gives the rights to write the existing file.
fn link(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (from, to) = (call.write(0, Links::Keep)?, call.write(1, Links::Keep)?);
    Ok(Box::new(move || {
        fs::hard_link(&from.path, &to.path).map_err(failed_to(&from, &to, "link"))?;
        Ok(Plain::Nothing)
    }))
}

/// `symlink(target, path)`. The target is a text; what is read through the link is checked then.
fn symlink(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let target = call.text(0)?;
    let place = call.place(1, FileAccess::Write, Links::Keep)?;
    Ok(Box::new(move || {
        let mut from = place.clone();
        from.given.clone_from(&target);
        let made = std::os::unix::fs::symlink(&target, &place.path);
        made.map_err(failed_to(&from, &place, "symlink"))?;
        Ok(Plain::Nothing)
    }))
}

/// `readlink(path)` returns the target as it was written.
fn readlink(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.read(0, Links::Keep)?;
    Ok(Box::new(move || {
        let target = fs::read_link(&place.path).map_err(place.failed("readlink"))?;
        Ok(Plain::Text(target.to_string_lossy().into_owned()))
    }))
}

/// `realpath(path)` returns the path without links.
fn realpath(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let place = call.read(0, Links::Follow)?;
    Ok(Box::new(move || {
        let real = fs::canonicalize(&place.path).map_err(place.failed("lstat"))?;
        Ok(Plain::Text(real.to_string_lossy().into_owned()))
    }))
}
