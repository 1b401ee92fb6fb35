//! The objects of repositories, kept so that commits that a run made unreachable can come back after
//! `git gc`: hard links, or copies on another file system.
//!
//! One directory for each directory of objects, shared by all sessions. Directories of objects whose
//! time has not changed are not listed again. Git writes each object once and never changes it, so a
//! link keeps it; a program that overwrites the file of an object in place destroys both.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pi_base::text::hex;
use pi_fs::if_exists;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Maximum size of the copies of a repository that cannot be linked.
const MOST_COPIED: u64 = 256 * 1024 * 1024;
/// A directory that changed this recently may change again without a new time.
const TICK: Duration = Duration::from_secs(2);
const RECORD: &str = "record.json";
const LOCK: &str = "lock";

/// What is known about the objects of a repository.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// Names of the sessions that need it.
    sessions: BTreeSet<String>,
    /// Times of the directories that were listed.
    listed: BTreeMap<String, u128>,
    /// Files that the repository has no longer, with the time when that was noticed.
    gone: BTreeMap<String, u64>,
    /// Size of the copies.
    copied: u64,
}

/// The result of keeping objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    /// Bytes that were copied.
    pub(super) copied: u64,
    /// Number of kept files that the repository has no longer.
    pub(super) gone: u64,
}

/// The kept objects of one repository.
#[derive(Debug)]
pub(super) struct Mirror {
    /// The directory of objects of the repository.
    origin: PathBuf,
    kept: PathBuf,
}

impl Mirror {
    pub(super) fn new(mirrors: &Path, origin: &Path) -> Self {
        let digest = Sha256::digest(origin.as_os_str().as_encoded_bytes());
        Self { origin: origin.to_owned(), kept: mirrors.join(hex(&digest[..16])) }
    }

    /// Keeps all objects that the repository has.
    pub(super) fn keep(&self, session: &str, now: SystemTime) -> io::Result<Kept> {
        // Until the end: another process may keep objects of the same repository.
        let _lock = self.lock()?;
        let mut record = read_record(&self.kept);
        let (mut changed, before) = (record.sessions.insert(session.to_owned()), record.copied);
        let mut present = BTreeSet::new();
        for entry in if_exists(fs::read_dir(&self.origin))?.into_iter().flatten() {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_loose = name.len() == 2 && name.bytes().all(|b| b.is_ascii_hexdigit());
            if !is_loose && name != "pack" {
                continue;
            }
            present.insert(name.clone());
            let modified = entry.metadata()?.modified()?;
            let stamp = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            if record.listed.get(&name) == Some(&stamp) {
                continue;
            }
            self.keep_directory(&name, &mut record, now)?;
            changed = true;
            record.listed.remove(&name);
            if now.duration_since(modified).is_ok_and(|age| age > TICK) {
                record.listed.insert(name, stamp);
            }
        }
        for name in names(&self.kept)? {
            let Ok(name) = name.into_string() else { continue };
            if name != RECORD && name != LOCK && !present.contains(&name) {
                let gone = record.gone.len();
                self.keep_directory(&name, &mut record, now)?;
                changed |= record.listed.remove(&name).is_some() || record.gone.len() != gone;
            }
        }
        if changed {
            write_record(&self.kept, &record)?;
        }
        Ok(Kept { copied: record.copied - before, gone: record.gone.len() as u64 })
    }

    fn lock(&self) -> io::Result<fs::File> {
        fs::create_dir_all(&self.kept)?;
        let mut options = fs::OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).open(self.kept.join(LOCK))?;
        file.lock()?;
        Ok(file)
    }

    fn keep_directory(&self, name: &str, record: &mut Record, now: SystemTime) -> io::Result<()> {
        let (from, to) = (self.origin.join(name), self.kept.join(name));
        let there = names(&from)?;
        let kept = names(&to)?;
        if there.iter().any(|file| !kept.contains(file)) {
            fs::create_dir_all(&to)?;
        }
        for file in there.difference(&kept).filter(|file| !is_passing(file)) {
            match keep_file(&from.join(file), &to.join(file), MOST_COPIED - record.copied) {
                Ok(copied) => record.copied += copied,
                // Git removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        for file in &kept {
            let path = format!("{name}/{}", file.to_string_lossy());
            if there.contains(file) {
                record.gone.remove(&path);
            } else {
                record.gone.entry(path).or_insert(seconds);
            }
        }
        Ok(())
    }

    /// Puts objects back that the repository has no longer. Returns true if there were any.
    pub(super) fn put_back(&self) -> io::Result<bool> {
        let mut is_changed = false;
        for directory in names(&self.kept)? {
            let (from, to) = (self.kept.join(&directory), self.origin.join(&directory));
            if !from.is_dir() {
                continue;
            }
            let there = names(&to)?;
            let mut missing: Vec<OsString> = names(&from)?.difference(&there).cloned().collect();
            // A pack before its index, without which git does not use it.
            missing.sort_by_key(|name| name.to_string_lossy().ends_with(".idx"));
            for file in missing {
                fs::create_dir_all(&to)?;
                keep_file(&from.join(&file), &to.join(&file), u64::MAX)?;
                is_changed = true;
            }
        }
        Ok(is_changed)
    }
}

/// Links a file, or copies it if that is not possible. Returns the size of the copy.
fn keep_file(from: &Path, to: &Path, most: u64) -> io::Result<u64> {
    match fs::hard_link(from, to) {
        Ok(()) => return Ok(0),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    let metadata = fs::metadata(from)?;
    if metadata.len() > most {
        return Err(io::Error::other(format!(
            "the objects of the repository are on another file system and exceed {} MB",
            MOST_COPIED / 1024 / 1024
        )));
    }
    let partial = to.with_extension("partial");
    let copied = fs::copy(from, &partial).and_then(|size| {
        fs::rename(&partial, to)?;
        Ok(size)
    });
    if copied.is_err() {
        let _ = fs::remove_file(&partial);
    }
    copied
}

/// Removes what no session needs: the objects of repositories without a session, and those that
/// disappeared before `oldest` (seconds since the epoch).
pub(super) fn prune(
    mirrors: &Path,
    is_session: &dyn Fn(&str) -> bool,
    oldest: u64,
) -> io::Result<()> {
    for name in names(mirrors)? {
        let kept = mirrors.join(name);
        let mut record = read_record(&kept);
        record.sessions.retain(|session| is_session(session));
        if record.sessions.is_empty() {
            fs::remove_dir_all(&kept)?;
            continue;
        }
        let old: Vec<String> = record
            .gone
            .iter()
            .filter(|(_, at)| **at < oldest)
            .map(|(path, _)| path.clone())
            .collect();
        for path in old {
            if_exists(fs::remove_file(kept.join(&path)))?;
            record.gone.remove(&path);
        }
        write_record(&kept, &record)?;
    }
    Ok(())
}

/// Returns the size of the kept objects that no repository has.
pub(super) fn size(mirrors: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for mirror in names(mirrors)? {
        for directory in names(&mirrors.join(&mirror))? {
            let directory = mirrors.join(&mirror).join(directory);
            for file in names(&directory)? {
                let metadata = if_exists(fs::metadata(directory.join(file)))?;
                if let Some(metadata) = metadata.filter(is_only_name) {
                    bytes += metadata.len();
                }
            }
        }
    }
    Ok(bytes)
}

#[cfg(unix)]
fn is_only_name(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.nlink() == 1
}

#[cfg(not(unix))]
fn is_only_name(_: &fs::Metadata) -> bool {
    true
}

/// Returns true for a file that git is writing, or that lists other files and is made again.
fn is_passing(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    let passing = [".lock", ".partial", ".tmp"];
    name.starts_with("tmp_")
        || name.starts_with("multi-pack-index")
        || passing.iter().any(|end| name.ends_with(end))
}

fn names(directory: &Path) -> io::Result<BTreeSet<OsString>> {
    match if_exists(fs::read_dir(directory)) {
        Ok(listed) => {
            listed.into_iter().flatten().map(|entry| entry.map(|entry| entry.file_name())).collect()
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

/// Reads a record. Without a readable one, everything is listed again.
fn read_record(kept: &Path) -> Record {
    let bytes = fs::read(kept.join(RECORD)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn write_record(kept: &Path, record: &Record) -> io::Result<()> {
    fs::create_dir_all(kept)?;
    let bytes = serde_json::to_vec(record)?;
    pi_fs::write(&kept.join(RECORD), pi_fs::Access::Private, &bytes).map(drop)
}
