//! Reading which program a process would start, or has become.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pi_exec_watch::{Call, Event, read_memory};

/// Limits of what is read before a program starts. Longer arguments are read when it has started,
/// at once.
const LONGEST_PATH: usize = 4096;
const MOST_ARGUMENTS: usize = 1024;
const MOST_BYTES: usize = 128 * 1024;
/// The bytes that are read at a time: most arguments are short.
const CHUNK: usize = 256;
/// The same for the arguments of a program that has started.
const LINE: usize = 4096;

/// Directories that a command may see differently.
const PRIVATE: [&str; 4] = ["/dev", "/proc", "/run", "/tmp"];

/// A file under any of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self { device: found.dev(), number: found.ino() })
    }

    /// Returns the file of the program that a thread runs.
    pub(super) fn of_program(thread: u32) -> Option<Self> {
        Self::of(Path::new(&format!("/proc/{thread}/exe")))
    }
}

/// A program that a process would become, or has become.
#[derive(PartialEq, Eq)]
pub(super) struct Image {
    pub(super) file: FileId,
    pub(super) path: PathBuf,
    /// The arguments, each with a zero byte at its end.
    pub(super) line: Vec<u8>,
}

impl Image {
    pub(super) fn arguments(&self) -> Vec<String> {
        let line = self.line.strip_suffix(b"\0").unwrap_or(&self.line);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        line.split(|byte| *byte == 0).map(text).collect()
    }
}

/// Returns the working directory of a thread.
pub(super) fn cwd(thread: u32) -> PathBuf {
    fs::read_link(format!("/proc/{thread}/cwd")).unwrap_or_else(|_| "/".into())
}

/// Returns the file of a call that opens a file or looks for one, as the process sees it.
pub(super) fn used_path(thread: u32, directory: Option<i32>, path: u64) -> Option<PathBuf> {
    let memory = Memory { thread, pointer: 0 };
    let path = memory.string(path, LONGEST_PATH).ok()?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
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
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    let line = memory.strings(arguments)?;
    let process = || PathBuf::from(format!("/proc/{thread}"));
    let not_found = || io::Error::from(io::ErrorKind::NotFound);
    let (path, file) = match directory {
        // The same file in the view of a command.
        _ if path.is_absolute() && !PRIVATE.iter().any(|place| path.starts_with(place)) => {
            let file = FileId::of(&path);
            (path, file)
        }
        _ if path.is_absolute() => {
            let in_root = path.strip_prefix("/").unwrap_or(&path);
            let file = FileId::of(&process().join("root").join(in_root));
            (path, file)
        }
        None => {
            let file = FileId::of(&process().join("cwd").join(&path));
            (path, file)
        }
        Some(descriptor) => {
            let from = process().join(format!("fd/{descriptor}"));
            let opened = fs::read_link(&from)?;
            // An empty path means the descriptor itself.
            if path.as_os_str().is_empty() {
                (without_mark(opened), FileId::of(&from))
            } else {
                (opened.join(&path), FileId::of(&from.join(&path)))
            }
        }
    };
    Ok(Image { file: file.ok_or_else(not_found)?, path, line })
}

/// Returns the program that a thread has become.
fn started(thread: u32, expected: Option<&Image>) -> io::Result<Image> {
    let program = format!("/proc/{thread}/exe");
    let file = FileId::of(Path::new(&program)).ok_or(io::ErrorKind::NotFound)?;
    let mut opened = File::open(format!("/proc/{thread}/cmdline"))?;
    let mut line = vec![0; LINE];
    let count = opened.read(&mut line)?;
    line.truncate(count);
    if count == LINE {
        opened.read_to_end(&mut line)?;
    }
    let path = match expected {
        Some(expected) if expected.file == file && expected.line == line => expected.path.clone(),
        _ => without_mark(fs::read_link(program)?),
    };
    Ok(Image { file, path, line })
}

/// Removes what the kernel adds to the path of a file that has none any more.
fn without_mark(path: PathBuf) -> PathBuf {
    let name = path.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    name.map(PathBuf::from).unwrap_or(path)
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
