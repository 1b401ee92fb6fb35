//! The programs that rules restrict, recognized by their files: under any name, behind links, and as
//! copies. Which rules there are is not known here.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use pi_base::lock;
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use sha2::{Digest, Sha256};

use super::super::program_files::ProgramFiles;
use super::elf::Elf;
use crate::programs;
use crate::word::base_name;

/// The name under which every loader is known.
const LOADER: &str = "ld.so";
/// The most files whose content is remembered.
const MOST_FILES: usize = 4096;
/// The bytes that are read at a time.
const CHUNK: usize = 64 * 1024;
/// The usual paths of loaders. Those of other programs are read from their files.
const LOADERS: &[&str] = &[
    "ld-linux-x86-64.so.2",
    "ld-linux.so.2",
    "ld-linux-x32.so.2",
    "ld-linux-aarch64.so.1",
    "ld-linux-armhf.so.3",
    "ld-linux.so.3",
    "ld-musl-x86_64.so.1",
    "ld-musl-i386.so.1",
    "ld-musl-x32.so.1",
    "ld-musl-aarch64.so.1",
    "ld-musl-armhf.so.1",
];

/// A file under any of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    pub(super) device: u64,
    pub(super) number: u64,
}

/// A file with one content. Every change of the content changes the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Version {
    pub(super) file: FileId,
    size: u64,
    changed: (i64, i64),
    is_regular: bool,
}

impl FileId {
    pub(super) fn of(path: &Path) -> Option<Self> {
        Version::of(path).map(|version| version.file)
    }
}

impl Version {
    pub(super) fn of(path: &Path) -> Option<Self> {
        rustix::fs::stat(path).ok().map(|found| Self::new(&found))
    }

    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss)] // The types differ by architecture.
    fn new(found: &rustix::fs::Stat) -> Self {
        Self {
            file: FileId { device: found.st_dev as u64, number: found.st_ino as u64 },
            size: found.st_size as u64,
            changed: (found.st_ctime as i64, found.st_ctime_nsec as i64),
            is_regular: FileType::from_raw_mode(found.st_mode) == FileType::RegularFile,
        }
    }
}

/// A file that was found by a path, and stays the same if the path leads to another.
pub(super) struct Found {
    pub(super) version: Version,
    /// The path without links, as far as this process sees it.
    pub(super) real: PathBuf,
    descriptor: OwnedFd,
}

impl Found {
    pub(super) fn at(path: &Path) -> Option<Self> {
        let descriptor = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let version = Version::new(&fstat(&descriptor).ok()?);
        let real = fs::read_link(by_descriptor(descriptor.as_fd())).ok()?;
        Some(Self { version, real: without_mark(real), descriptor })
    }
}

fn by_descriptor(descriptor: BorrowedFd<'_>) -> PathBuf {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into()
}

/// Removes what the kernel adds to the path of a file that has none any more.
pub(super) fn without_mark(path: PathBuf) -> PathBuf {
    let name = path.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    name.map(PathBuf::from).unwrap_or(path)
}

/// The programs that a file is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    /// Names under which rules know the file.
    pub(super) names: Vec<String>,
    /// The file is no program for the processor, so it takes another to run it.
    pub(super) is_script: bool,
}

type Digested = [u8; 32];

/// A file of a program that rules restrict.
struct Known {
    name: String,
    path: PathBuf,
    version: Version,
    /// `None` if the file is a script.
    elf: Option<Elf>,
    /// Computed when another file has the same size.
    digest: OnceLock<Option<Digested>>,
    /// The file has an unrelated name of its own, so it may be another program under each name that
    /// leads to it.
    is_dispatched: bool,
}

/// The programs that rules restrict.
pub(super) struct Programs {
    files: ProgramFiles,
    known: Vec<Known>,
    by_file: HashMap<FileId, Vec<usize>>,
    by_build_id: HashMap<Vec<u8>, Vec<usize>>,
    /// Files without a build id, which are compared with others of the same size.
    by_size: HashMap<u64, Vec<usize>>,
    identified: Mutex<HashMap<Version, Arc<Identity>>>,
    /// The time from which on commands are watched.
    pub(super) started: SystemTime,
}

impl Programs {
    /// Recognizes these files by name, and loaders.
    pub(super) fn new(programs: Vec<(String, PathBuf)>, files: ProgramFiles) -> Self {
        // One file that is many programs is each of them by its name only.
        let multi_call: HashSet<FileId> = programs::multi_call_names()
            .flat_map(|name| files.named(name))
            .filter_map(|path| FileId::of(&path))
            .collect();
        let mut known = Vec::new();
        let mut loaders = Vec::new();
        for (name, path) in programs {
            let Some(version) = Version::of(&path).filter(|version| version.is_regular) else {
                continue;
            };
            if multi_call.contains(&version.file) {
                continue;
            }
            let elf = read_elf(&path);
            loaders.extend(elf.as_ref().and_then(|elf| elf.interpreter.clone()));
            let own = path.file_name().map(|own| own.to_string_lossy().to_lowercase());
            let is_dispatched = !own.is_some_and(|own| own.contains(&name.to_lowercase()));
            let digest = OnceLock::new();
            known.push(Known { name, path, version, elf, digest, is_dispatched });
        }
        loaders.extend(read_elf(Path::new("/proc/self/exe")).and_then(|elf| elf.interpreter));
        for directory in ["/lib64", "/lib", "/lib32", "/libx32"] {
            loaders.extend(LOADERS.iter().map(|name| Path::new(directory).join(name)));
        }
        for path in loaders {
            let Some(version) = Version::of(&path) else { continue };
            if !known.iter().any(|known| known.name == LOADER && known.version == version) {
                let (name, elf, digest) = (LOADER.to_owned(), read_elf(&path), OnceLock::new());
                known.push(Known { name, path, version, elf, digest, is_dispatched: false });
            }
        }
        let mut by_file: HashMap<FileId, Vec<usize>> = HashMap::new();
        let (mut by_build_id, mut by_size) = (HashMap::new(), HashMap::new());
        for (at, known) in known.iter().enumerate() {
            by_file.entry(known.version.file).or_default().push(at);
            let build_id = known.elf.as_ref().and_then(|elf| elf.build_id.clone());
            let same: &mut Vec<usize> = match build_id {
                _ if known.is_dispatched => continue,
                Some(id) => by_build_id.entry(id).or_default(),
                None => by_size.entry(known.version.size).or_default(),
            };
            same.push(at);
        }
        let (identified, started) = (Mutex::default(), SystemTime::UNIX_EPOCH);
        Self { files, known, by_file, by_build_id, by_size, identified, started }
    }

    /// Returns true if a file is known that another program interprets.
    pub(super) fn has_scripts(&self) -> bool {
        self.known.iter().any(|known| known.elf.is_none())
    }

    /// Returns the names under which a file is known.
    pub(super) fn names_of(&self, file: FileId) -> impl Iterator<Item = &String> {
        let known = self.by_file.get(&file).into_iter().flatten();
        known.filter_map(|at| self.known.get(*at)).map(|known| &known.name)
    }

    /// Returns the programs that a file is, called by this name.
    pub(super) fn identify(&self, found: &Found, called: Option<&str>) -> Arc<Identity> {
        if !found.version.is_regular {
            return Arc::default();
        }
        let Some(known) = self.by_file.get(&found.version.file) else {
            return self.identify_content(found);
        };
        let known = known.iter().filter_map(|at| self.known.get(*at));
        let is_other = |known: &&Known| {
            let called = called.map(base_name).filter(|name| *name != known.name);
            known.is_dispatched && called.is_some_and(|name| self.is_installed(name, found.version))
        };
        let (mut names, mut is_script) = (Vec::new(), false);
        for known in known.filter(|known| !is_other(known)) {
            is_script |= known.elf.is_none();
            if !names.contains(&known.name) {
                names.push(known.name.clone());
            }
        }
        Arc::new(Identity { names, is_script })
    }

    /// Returns true if the name stands for this file, by a link that no watched command created.
    fn is_installed(&self, name: &str, version: Version) -> bool {
        self.files.installed(name).any(|path| {
            FileId::of(&path) == Some(version.file)
                && [rustix::fs::lstat(&path), rustix::fs::stat(&path)].iter().all(|found| {
                    found.as_ref().is_ok_and(|found| self.is_older(Version::new(found)))
                })
        })
    }

    fn is_older(&self, version: Version) -> bool {
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(started.as_secs()).unwrap_or(i64::MAX);
        version.changed <= (seconds, i64::from(started.subsec_nanos()))
    }

    /// Recognizes a copy.
    fn identify_content(&self, found: &Found) -> Arc<Identity> {
        if let Some(identity) = lock(&self.identified).get(&found.version) {
            return Arc::clone(identity);
        }
        let identity = Arc::new(self.read_identity(found).unwrap_or_default());
        let mut identified = lock(&self.identified);
        if identified.len() >= MOST_FILES {
            identified.clear();
        }
        identified.insert(found.version, Arc::clone(&identity));
        identity
    }

    fn read_identity(&self, found: &Found) -> Option<Identity> {
        let file = File::open(by_descriptor(found.descriptor.as_fd())).ok()?;
        let elf = Elf::read(&file);
        let is_script = elf.is_none();
        let known = |same: Option<&Vec<usize>>| -> Vec<&Known> {
            same.into_iter().flatten().filter_map(|at| self.known.get(*at)).collect()
        };
        let same = match elf.and_then(|elf| elf.build_id) {
            Some(id) => known(self.by_build_id.get(&id)),
            None => {
                let mut alike = known(self.by_size.get(&found.version.size));
                if !alike.is_empty() {
                    let own = digest(file);
                    alike.retain(|known| own.is_some() && known.digest() == own);
                }
                alike
            }
        };
        let mut names: Vec<String> = Vec::new();
        for known in same {
            if !names.contains(&known.name) {
                names.push(known.name.clone());
            }
        }
        // Programs that only look at their name are alike, as the shims of version managers.
        let own = found.real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !names.is_empty() && self.is_installed(own, found.version) {
            names.clear();
        }
        Some(Identity { names, is_script })
    }
}

impl Known {
    fn digest(&self) -> Option<Digested> {
        *self.digest.get_or_init(|| File::open(&self.path).ok().and_then(digest))
    }
}

fn read_elf(path: &Path) -> Option<Elf> {
    Elf::read(&File::open(path).ok()?)
}

fn digest(mut file: File) -> Option<Digested> {
    let (mut digest, mut chunk) = (Sha256::new(), vec![0; CHUNK]);
    loop {
        let count = file.read(&mut chunk).ok()?;
        if count == 0 {
            return Some(digest.finalize().into());
        }
        digest.update(chunk.get(..count)?);
    }
}
