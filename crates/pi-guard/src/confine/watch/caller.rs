//! Reading which program a process would start, or has become.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use pi_exec_watch::{Call, Event, read_memory};

use super::identity::{FileId, Found, Version, without_mark};

/// Limits of what is read before a program starts. Longer arguments are read when it has started,
/// at once.
const LONGEST_PATH: usize = 4096;
const MOST_ARGUMENTS: usize = 1024;
const MOST_BYTES: usize = 128 * 1024;
/// The bytes that are read at a time: most arguments are short.
const CHUNK: usize = 256;
/// The same for the arguments of a program that has started.
const LINE: usize = 4096;
/// The most links that lead to a file.
const MOST_LINKS: usize = 40;

/// Directories that a command may see differently.
const PRIVATE: [&str; 4] = ["/dev", "/proc", "/run", "/tmp"];

/// A program that a process would become, or has become.
pub(super) struct Image {
    pub(super) version: Version,
    pub(super) path: PathBuf,
    /// The arguments, each with a zero byte at its end.
    pub(super) line: Vec<u8>,
    /// The file, before the program starts.
    pub(super) found: Option<Found>,
}

impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version && self.line == other.line
    }
}

impl Image {
    pub(super) fn arguments(&self) -> Vec<String> {
        split(&self.line)
    }
}

fn split(line: &[u8]) -> Vec<String> {
    let line = line.strip_suffix(b"\0").unwrap_or(line);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    line.split(|byte| *byte == 0).map(text).collect()
}

/// Returns the path of the program that a thread runs.
pub(super) fn program(thread: u32) -> PathBuf {
    format!("/proc/{thread}/exe").into()
}

/// Returns the working directory of a thread.
pub(super) fn cwd(thread: u32) -> PathBuf {
    fs::read_link(format!("/proc/{thread}/cwd")).unwrap_or_else(|_| "/".into())
}

/// Returns the arguments of the program that a thread runs.
pub(super) fn arguments(thread: u32) -> io::Result<Vec<String>> {
    Ok(split(&line(thread)?))
}

/// Returns true if a variable that begins like this is set for the program that a thread runs. A
/// program whose variables cannot be read counts as one with it.
pub(super) fn has_variable(thread: u32, begins: &[u8]) -> bool {
    let Ok(variables) = fs::read(format!("/proc/{thread}/environ")) else { return true };
    variables.split(|byte| *byte == 0).any(|variable| variable.starts_with(begins))
}

/// Returns the files that a thread has mapped as code, except for the program.
pub(super) fn mapped(thread: u32) -> Vec<(FileId, PathBuf)> {
    let maps = fs::read(format!("/proc/{thread}/maps")).unwrap_or_default();
    let mut mapped: Vec<(FileId, PathBuf)> = Vec::new();
    for line in maps.split(|byte| *byte == b'\n') {
        let mut fields = line.splitn(6, |byte| *byte == b' ');
        let mut next = || fields.next().unwrap_or_default();
        let (_, rights, _, device, number, path) = (next(), next(), next(), next(), next(), next());
        let path = Path::new(OsStr::from_bytes(path.trim_ascii_start()));
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        let (device, number) = (text(device), text(number));
        let device = device.split_once(':').and_then(|(major, minor)| {
            let number = |text| u32::from_str_radix(text, 16).ok();
            Some(rustix::fs::makedev(number(major)?, number(minor)?))
        });
        if rights.get(2) == Some(&b'x')
            && let (Some(device), Ok(number)) = (device, number.parse())
            && number != 0
            && !mapped.iter().any(|(_, other)| other == path)
        {
            mapped.push((FileId { device, number }, path.to_owned()));
        }
    }
    mapped
}

/// Returns the file of a call that opens a file or looks for one, as the process sees it.
pub(super) fn used_path(thread: u32, directory: Option<i32>, path: u64) -> Option<PathBuf> {
    let memory = Memory { thread, pointer: 0 };
    let path = memory.string(path, LONGEST_PATH).ok()?;
    let path = PathBuf::from(OsString::from_vec(path));
    // An empty path means the descriptor itself.
    if path.is_absolute() || path.as_os_str().is_empty() {
        return path.is_absolute().then_some(path);
    }
    let from = match directory {
        None => cwd(thread),
        Some(descriptor) => fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?,
    };
    Some(from.join(path))
}

/// Returns the program of a call. The caller must check afterwards that the call still waits. If
/// the program is the `expected` one, its path is not looked up again.
pub(super) fn read(event: &Event, expected: Option<&Image>) -> io::Result<Image> {
    let thread = event.thread;
    let (directory, path, arguments, pointer) = match event.call {
        Call::Started => return started(thread, expected),
        Call::File { .. } | Call::Change { .. } => return Err(io::ErrorKind::InvalidInput.into()),
        Call::Exec { directory, path, arguments, pointer } => (directory, path, arguments, pointer),
    };
    let memory = Memory { thread, pointer };
    let path = memory.string(path, LONGEST_PATH)?;
    let path = PathBuf::from(OsString::from_vec(path));
    let line = memory.strings(arguments)?;
    let process = || PathBuf::from(format!("/proc/{thread}"));
    let (path, seen) = match directory {
        _ if path.is_absolute() => {
            let seen = of_process(thread, &path);
            (path, seen)
        }
        None => {
            let seen = process().join("cwd").join(&path);
            (path, seen)
        }
        Some(descriptor) => {
            let from = process().join(format!("fd/{descriptor}"));
            let opened = fs::read_link(&from)?;
            // An empty path means the descriptor itself.
            if path.as_os_str().is_empty() {
                (without_mark(opened), from)
            } else {
                (opened.join(&path), from.join(&path))
            }
        }
    };
    let found = Found::at(&seen).ok_or(io::ErrorKind::NotFound)?;
    Ok(Image { version: found.version, path, line, found: Some(found) })
}

/// Returns a path of this process for an absolute path of another.
fn of_process(thread: u32, path: &Path) -> PathBuf {
    // The same file in the view of a command.
    if !PRIVATE.iter().any(|place| path.starts_with(place)) {
        return path.to_owned();
    }
    let own = |start: &str| path.strip_prefix(start).ok();
    if let Some(rest) = own("/proc/self").or_else(|| own("/proc/thread-self")) {
        return Path::new("/proc").join(thread.to_string()).join(rest);
    }
    let inside = path.strip_prefix("/").unwrap_or(path);
    Path::new("/proc").join(thread.to_string()).join("root").join(inside)
}

/// Returns the program that a thread has become.
fn started(thread: u32, expected: Option<&Image>) -> io::Result<Image> {
    let program = program(thread);
    let version = Version::of(&program).ok_or(io::ErrorKind::NotFound)?;
    let line = line(thread)?;
    let path = match expected {
        Some(expected) if expected.version == version && expected.line == line => {
            expected.path.clone()
        }
        _ => without_mark(fs::read_link(program)?),
    };
    Ok(Image { version, path, line, found: None })
}

fn line(thread: u32) -> io::Result<Vec<u8>> {
    let mut opened = File::open(format!("/proc/{thread}/cmdline"))?;
    let mut line = vec![0; LINE];
    let count = opened.read(&mut line)?;
    line.truncate(count);
    if count == LINE {
        opened.read_to_end(&mut line)?;
    }
    Ok(line)
}

/// Finds the file that an argument of a process names, along the links that the process sees: other
/// than the path of a call, it is not looked at again when the program has started.
pub(super) fn argument_file(thread: u32, argument: &str) -> Option<Found> {
    if argument.is_empty() || argument.len() > LONGEST_PATH {
        return None;
    }
    let process = PathBuf::from(format!("/proc/{thread}"));
    let text = Path::new(argument);
    // Most arguments are no files.
    if !text.is_absolute() && fs::symlink_metadata(process.join("cwd").join(text)).is_err() {
        return None;
    }
    let start = if text.is_absolute() { PathBuf::new() } else { cwd(thread) };
    let mut pending: VecDeque<OsString> = VecDeque::new();
    let names = |path: &Path| -> Vec<OsString> {
        let skipped = |part: &Component<'_>| matches!(part, Component::RootDir | Component::CurDir);
        let names = path.components().filter(|part| !skipped(part));
        names.map(|part| part.as_os_str().to_owned()).collect()
    };
    pending.extend(names(&start.join(text)));
    // The resolved part, relative to the root.
    let (mut resolved, mut links) = (PathBuf::new(), 0);
    let place = |resolved: &Path| {
        let own = ["proc/self", "proc/thread-self"].iter();
        // The process has another number there.
        match own.filter_map(|own| resolved.strip_prefix(own).ok()).next() {
            Some(rest) => process.join(rest),
            None => process.join("root").join(resolved),
        }
    };
    while let Some(name) = pending.pop_front() {
        if name == ".." {
            resolved.pop();
            continue;
        }
        resolved.push(&name);
        let here = place(&resolved);
        let is_own =
            resolved == Path::new("proc/self") || resolved == Path::new("proc/thread-self");
        let Some(target) = fs::read_link(&here).ok().filter(|_| !is_own) else { continue };
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        // A descriptor may be open on a file without a name.
        if pending.is_empty() && resolved.starts_with("proc") {
            return Found::at(&here);
        }
        resolved.pop();
        if target.is_absolute() {
            resolved.clear();
        }
        for name in names(&target).into_iter().rev() {
            pending.push_front(name);
        }
    }
    Found::at(&place(&resolved))
}

/// The memory of another process.
struct Memory {
    thread: u32,
    /// The bytes of an address.
    pointer: usize,
}

impl Memory {
    /// Reads a text up to its zero byte.
    fn string(&self, mut address: u64, longest: usize) -> io::Result<Vec<u8>> {
        let mut read = Vec::new();
        let mut chunk = [0; CHUNK];
        loop {
            let count = read_memory(self.thread, address, &mut chunk)?;
            let chunk = chunk.get(..count).unwrap_or_default();
            if let Some(end) = memchr::memchr(0, chunk) {
                read.extend_from_slice(&chunk[..end]);
                return Ok(read);
            }
            read.extend_from_slice(chunk);
            if count == 0 || read.len() > longest {
                return Err(io::ErrorKind::InvalidData.into());
            }
            address += count as u64;
        }
    }

    /// Reads the texts of a list of addresses, which ends in zero; each gets a zero byte at its
    /// end.
    fn strings(&self, list: u64) -> io::Result<Vec<u8>> {
        let mut strings = Vec::new();
        let mut addresses = [0; 16 * 8];
        let (mut at, mut number) = (list, 0);
        // No list is an empty one.
        if list == 0 {
            return Ok(strings);
        }
        loop {
            let count = read_memory(self.thread, at, &mut addresses)?;
            let whole = count - count % self.pointer;
            if whole == 0 {
                return Err(io::ErrorKind::InvalidData.into());
            }
            for address in addresses[..whole].chunks_exact(self.pointer) {
                let mut bytes = [0; 8];
                bytes[..self.pointer].copy_from_slice(address);
                let address = u64::from_le_bytes(bytes);
                if address == 0 {
                    return Ok(strings);
                }
                strings.extend(self.string(address, MOST_BYTES)?);
                strings.push(0);
                number += 1;
                if number > MOST_ARGUMENTS || strings.len() > MOST_BYTES {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
            at += whole as u64;
        }
    }
}
