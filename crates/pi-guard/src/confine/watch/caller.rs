//! Reading which program a process would start, or has become.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use pi_exec_watch::{Call, Event};

use crate::policy::Exec;

/// Limits of what is read before a program starts. Longer arguments are read when it has started,
/// at once.
const LONGEST_PATH: usize = 4096;
const MOST_ARGUMENTS: usize = 1024;
const MOST_BYTES: usize = 128 * 1024;
/// The bytes that are read at a time: most arguments are short.
const CHUNK: usize = 256;

/// A file, whatever its name.
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

/// Returns the program of a call and its file. The caller must check afterwards that the call still
/// waits.
pub(super) fn read(event: &Event) -> io::Result<(Exec, Option<FileId>)> {
    let process = PathBuf::from(format!("/proc/{}", event.thread));
    let cwd = fs::read_link(process.join("cwd"))?;
    match event.call {
        Call::Started => {
            let program = process.join("exe");
            let path = fs::read_link(&program)?;
            let file = FileId::of(&program).ok_or(io::ErrorKind::NotFound)?;
            let line = fs::read(process.join("cmdline"))?;
            let line = line.strip_suffix(b"\0").unwrap_or(&line);
            let arguments = line.split(|byte| *byte == 0).map(text).collect();
            Ok((Exec::new(without_mark(path), arguments, cwd), Some(file)))
        }
        Call::Exec { directory, path, arguments, pointer } => {
            let memory = Memory { file: File::open(process.join("mem"))?, pointer };
            let path =
                PathBuf::from(std::ffi::OsString::from_vec(memory.string(path, LONGEST_PATH)?));
            let arguments = memory.strings(arguments)?;
            let file = |from: &str| FileId::of(&process.join(from).join(&path));
            let (program, file) = match directory {
                _ if path.is_absolute() => {
                    let in_root = path.strip_prefix("/").unwrap_or(&path);
                    let file = FileId::of(&process.join("root").join(in_root));
                    (path, file)
                }
                None => {
                    let file = file("cwd");
                    (path, file)
                }
                Some(descriptor) => {
                    let from = format!("fd/{descriptor}");
                    let opened = fs::read_link(process.join(&from))?;
                    // An empty path means the descriptor itself.
                    let is_itself = path.as_os_str().is_empty();
                    let found =
                        if is_itself { FileId::of(&process.join(&from)) } else { file(&from) };
                    let program = if is_itself { without_mark(opened) } else { opened.join(&path) };
                    (program, found)
                }
            };
            Ok((Exec::new(program, arguments, cwd), file))
        }
    }
}

/// Removes what the kernel adds to the path of a file that has none any more.
fn without_mark(path: PathBuf) -> PathBuf {
    let name = path.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    name.map(PathBuf::from).unwrap_or(path)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The memory of another process.
struct Memory {
    file: File,
    /// The bytes of an address.
    pointer: usize,
}

impl Memory {
    /// Reads a text up to its zero byte.
    fn string(&self, mut address: u64, longest: usize) -> io::Result<Vec<u8>> {
        let mut read = Vec::new();
        let mut chunk = [0; CHUNK];
        loop {
            let count = self.file.read_at(&mut chunk, address)?;
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

    /// Reads the texts of a list of addresses, which ends in zero.
    fn strings(&self, list: u64) -> io::Result<Vec<String>> {
        let mut strings = Vec::new();
        let mut left = MOST_BYTES;
        let mut addresses = [0; 64 * 8];
        let mut at = list;
        // No list is an empty one.
        if list == 0 {
            return Ok(strings);
        }
        loop {
            let count = self.file.read_at(&mut addresses, at)?;
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
                let string = self.string(address, left)?;
                left = left.saturating_sub(string.len());
                strings.push(text(&string));
                if strings.len() > MOST_ARGUMENTS || left == 0 {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
            at += whole as u64;
        }
    }
}
