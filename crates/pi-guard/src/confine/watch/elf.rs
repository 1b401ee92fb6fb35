//! The parts of an executable file that identify it: its interpreter and its build id. Files come
//! from commands, so nothing in them is relied on.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// The bytes that are read from the beginning: headers, and usually the notes.
const HEAD: usize = 4096;
/// The most bytes of notes, and of the path of an interpreter.
const MOST: u64 = 4096;
const PROGRAM_INTERPRETER: u32 = 3;
const NOTES: u32 = 4;
const BUILD_ID: u32 = 3;

/// An executable file in the format ELF.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Elf {
    /// The path of the loader.
    pub(super) interpreter: Option<PathBuf>,
    /// The identity that the linker computed from the content.
    pub(super) build_id: Option<Vec<u8>>,
}

impl Elf {
    /// Reads the headers of a file. Returns `None` if it has another format.
    pub(super) fn read(file: &File) -> Option<Self> {
        let mut head = vec![0; HEAD];
        let count = file.read_at(&mut head, 0).ok()?;
        head.truncate(count);
        let at = |from: u64, length: u64| -> Option<Vec<u8>> {
            let length = usize::try_from(length.min(MOST)).ok()?;
            if let Ok(from) = usize::try_from(from)
                && let Some(bytes) = head.get(from..from.checked_add(length)?)
            {
                return Some(bytes.to_vec());
            }
            let mut bytes = vec![0; length];
            let count = file.read_at(&mut bytes, from).ok()?;
            bytes.truncate(count);
            Some(bytes)
        };
        Self::parse(&head, &at)
    }

    fn parse(head: &[u8], at: &dyn Fn(u64, u64) -> Option<Vec<u8>>) -> Option<Self> {
        if !head.starts_with(b"\x7fELF") {
            return None;
        }
        let is_wide = head.get(4) == Some(&2);
        // Big-endian programs do not run here.
        let (table, size, count) = if is_wide {
            (number(head, 32, 8)?, number(head, 54, 2)?, number(head, 56, 2)?)
        } else {
            (number(head, 28, 4)?, number(head, 42, 2)?, number(head, 44, 2)?)
        };
        let mut elf = Self::default();
        let headers = at(table, size.checked_mul(count)?)?;
        for header in headers.chunks_exact(usize::try_from(size.max(1)).ok()?) {
            let (offset, length) = if is_wide {
                (number(header, 8, 8), number(header, 32, 8))
            } else {
                (number(header, 4, 4), number(header, 16, 4))
            };
            let (Some(offset), Some(length)) = (offset, length) else { break };
            match number(header, 0, 4).and_then(|kind| u32::try_from(kind).ok()) {
                Some(PROGRAM_INTERPRETER) => {
                    let path = at(offset, length)?;
                    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
                    elf.interpreter =
                        path.get(..end).map(|path| OsString::from_vec(path.to_vec()).into());
                }
                Some(NOTES) if elf.build_id.is_none() => {
                    elf.build_id = at(offset, length).and_then(|notes| build_id(&notes));
                }
                _ => {}
            }
        }
        Some(elf)
    }
}

/// Returns the build id in a list of notes.
fn build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let (name, length, kind) =
            (number(notes, 0, 4)?, number(notes, 4, 4)?, number(notes, 8, 4)?);
        let (name, length) = (usize::try_from(name).ok()?, usize::try_from(length).ok()?);
        let padded = |length: usize| length.checked_next_multiple_of(4);
        let from = padded(name)?.checked_add(12)?;
        let content = notes.get(from..from.checked_add(length)?)?;
        // An empty or short id would be that of many files.
        if kind == u64::from(BUILD_ID)
            && notes.get(12..12 + 4) == Some(b"GNU\0".as_slice())
            && length >= 8
        {
            return Some(content.to_vec());
        }
        notes = notes.get(from.checked_add(padded(length)?)?..)?;
    }
}

/// Returns a little-endian number of this many bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_a_loader() {
        let own = Elf::read(&File::open("/proc/self/exe").unwrap()).unwrap();
        if let Some(loader) = own.interpreter {
            assert!(loader.exists(), "{}", loader.display());
        }
        assert_eq!(Elf::read(&File::open("/proc/self/cmdline").unwrap()), None);
    }

    #[test]
    fn broken_files_are_no_trouble() {
        let mut head = std::fs::read("/proc/self/exe").unwrap();
        head.truncate(HEAD);
        for at in 0..head.len().min(512) {
            for value in [0, 1, 0x7f, 0xff] {
                let mut broken = head.clone();
                broken[at] = value;
                let part = |from: u64, length: u64| {
                    let from = usize::try_from(from).ok()?;
                    let end = from.checked_add(usize::try_from(length.min(MOST)).ok()?)?;
                    broken.get(from..end).map(<[u8]>::to_vec)
                };
                let _ = Elf::parse(&broken, &part);
            }
        }
        let notes = b"\x04\0\0\0\x08\0\0\0\x01\0\0\0GNU\x0012345678\
            \x04\0\0\0\x08\0\0\0\x03\0\0\0GNU\0abcdefgh";
        assert_eq!(build_id(notes).as_deref(), Some(b"abcdefgh".as_slice()));
        assert_eq!(build_id(&notes[..40]), None);
        assert_eq!(build_id(b"\xff\xff\xff\xff\xff\xff\xff\xff\x03\0\0\0"), None);
    }
}
