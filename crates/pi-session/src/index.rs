//! List and full-text search of all sessions below a directory.
//!
//! The session files are authoritative; the cache directory only makes answers faster. The cache is
//! updated before every answer: unchanged files are not read again, and files that have grown are
//! read from their old end. The cache may be missing, old, damaged, deleted while in use, not
//! writable, or used by several processes; then answers take longer, but are the same. Without a
//! cache everything is read from the session files.
//!
//! The cache consists of two files: a `catalog` of records and the `text` of all sessions, which is
//! searched from end to end. A linear search at the speed of memory is fast enough, finds any part
//! of any word in any language, and needs no maintenance.

mod catalog;
mod query;
mod record;
mod search;
mod text;
mod walk;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::SessionError;
use crate::info::{self, Scan, SessionInfo};

use catalog::Records;
use record::{CacheState, Record, Stat};
use text::{Pieces, TextReader, TextWriter};

pub use query::Snippet;
pub use search::{SearchHit, SearchResults};

/// Filters of a list of sessions and of a search.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ListOptions {
    /// Includes only sessions that run in this directory.
    pub cwd: Option<PathBuf>,
    /// Maximum number of sessions or hits; `None` for all.
    pub limit: Option<usize>,
}

impl ListOptions {
    /// Includes only sessions that run in this directory.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets the maximum number of sessions or hits.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// A list of sessions.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The sessions, most recently modified first.
    pub sessions: Vec<SessionInfo>,
    /// Errors of files that are not sessions or could not be read.
    pub problems: Vec<SessionError>,
}

/// The sessions below a directory.
#[derive(Debug)]
pub struct SessionIndex {
    root: PathBuf,
    cache: Option<PathBuf>,
    records: Records,
    /// The catalog from which `records` were read, or to which they were written.
    seen: Option<Stat>,
}

/// The differences between the records and the files.
struct Changes {
    /// The catalog has to be written.
    dirty: bool,
    /// Files that have to be read.
    files: Vec<OsString>,
}

/// The data that an answer requires.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Required {
    Records,
    RecordsAndText,
}

impl SessionIndex {
    /// Creates an index of the sessions in `root` and in the directories directly below it. `cache`
    /// is a directory for this index alone, created on demand; its content can be deleted at any
    /// time.
    pub fn new(root: impl Into<PathBuf>, cache: Option<PathBuf>) -> Self {
        Self { root: root.into(), cache, records: Records::default(), seen: None }
    }

    /// Lists the sessions that pass the filters.
    pub fn list(&mut self, options: &ListOptions) -> Listing {
        let mut problems = self.refresh(Required::Records);
        let mut sessions = Vec::new();
        for (path, record) in &self.records {
            let path = self.root.join(path);
            match &record.summary {
                None => problems.push(SessionError::NotASession(path)),
                Some(summary) => {
                    if options.cwd.as_ref().is_none_or(|cwd| summary.cwd() == *cwd) {
                        sessions.extend(record.info(path));
                    }
                }
            }
        }
        sessions.sort_by(SessionInfo::latest_first);
        sessions.truncate(options.limit.unwrap_or(usize::MAX));
        Listing { sessions, problems }
    }

    /// Updates the records and, if possible, the cache. Returns the errors of files that could not
    /// be read.
    fn refresh(&mut self, required: Required) -> Vec<SessionError> {
        let mut problems = Vec::new();
        self.load();
        let want_text = required == Required::RecordsAndText;
        if want_text && self.text_reader().is_none() {
            self.forget_text();
        }
        let files = walk::walk(&self.root, &mut problems);
        let mut changes = self.compare(&files);
        let lacks_text = |record: &Record| want_text && record.text.is_none();
        let lacking = self.records.values().any(lacks_text);
        if !changes.dirty && changes.files.is_empty() && !(lacking && self.cache.is_some()) {
            return problems;
        }
        let mut writer = self.cache_file("text").and_then(|path| TextWriter::open(&path));
        if writer.is_some() {
            // Another process may have updated the cache in the meantime.
            if self.load() {
                changes = self.compare(&files);
            }
            let lacking = self.records.iter().filter(|(_, record)| lacks_text(record));
            changes.files.extend(lacking.map(|(path, _)| path.clone()));
        }
        for path in changes.files {
            let old = self.records.remove(&path).filter(|old| !lacks_text(old));
            let Some(stat) = files.get(&path) else { continue };
            match read(&self.root.join(&path), *stat, old.as_ref(), writer.as_mut()) {
                Ok(record) => drop(self.records.insert(path, record)),
                Err(error) => problems.push(error),
            }
        }
        if let Some(writer) = writer {
            writer.collect(self.records.values_mut());
            self.save();
        }
        problems
    }

    /// Compares the records with the files, and removes the records of files that do not exist.
    fn compare(&mut self, files: &HashMap<OsString, Stat>) -> Changes {
        let before = self.records.len();
        self.records.retain(|path, _| files.contains_key(path));
        let dirty = self.records.len() < before;
        let mut changes = Changes { dirty, files: Vec::new() };
        for (path, stat) in files {
            let state = match self.records.get_mut(path) {
                None => CacheState::Changed,
                Some(record) => record.check(stat, || info::open(&self.root.join(path)).ok()),
            };
            match state {
                CacheState::Same => {}
                CacheState::Settled => changes.dirty = true,
                CacheState::Changed => changes.files.push(path.clone()),
            }
        }
        changes
    }

    /// Reads the catalog if it has changed; returns true in that case.
    fn load(&mut self) -> bool {
        let Some(path) = self.cache_file("catalog") else { return false };
        let there = stat(&path);
        if there.is_none() || there == self.seen {
            return false;
        }
        self.seen = there;
        let Some(records) = catalog::read(&path, &self.root) else { return false };
        self.records = records;
        true
    }

    fn save(&mut self) {
        let Some(path) = self.cache_file("catalog") else { return };
        // A cache that cannot be written is not used.
        if catalog::write(&path, &self.root, &self.records).is_some() {
            self.seen = stat(&path);
        }
    }

    fn forget_text(&mut self) {
        for record in self.records.values_mut() {
            record.text = None;
        }
    }

    fn text_reader(&self) -> Option<TextReader> {
        TextReader::open(&self.cache_file("text")?)
    }

    fn cache_file(&self, name: &str) -> Option<PathBuf> {
        self.cache.as_ref().map(|cache| cache.join(name))
    }
}

impl SessionInfo {
    fn latest_first(&self, other: &Self) -> Ordering {
        other
            .modified
            .cmp(&self.modified)
            .then_with(|| self.path.as_os_str().cmp(other.path.as_os_str()))
    }
}

fn stat(path: &Path) -> Option<Stat> {
    std::fs::metadata(path).ok().map(|metadata| Stat::new(&metadata))
}

/// Reads a file, or the part appended to it, and writes its text to the cache.
fn read(
    path: &Path,
    stat: Stat,
    old: Option<&Record>,
    mut writer: Option<&mut TextWriter>,
) -> Result<Record, SessionError> {
    let log = info::open(path)?;
    let resumed = old.and_then(|old| Some((old.resume(&stat, &log)?, old.text.clone())));
    let (mut scan, mut text) = resumed.unwrap_or((Scan::default(), Some(Vec::new())));
    let mut pieces = Pieces::default();
    let mut keep = |pieces: &mut Pieces| {
        if pieces.is_empty() {
            return;
        }
        let block = writer.as_mut().and_then(|writer| writer.write(pieces));
        match (&mut text, block) {
            (Some(text), Some(block)) => text.push(block),
            // An incomplete text cannot be used.
            _ => text = None,
        }
        pieces.clear();
    };
    scan.run(&log, |line, glimpse| {
        if let Some((_, text)) = &glimpse.text {
            pieces.push(line, text);
            if pieces.is_long() {
                keep(&mut pieces);
            }
        }
    })?;
    keep(&mut pieces);
    if let Some(writer) = writer {
        text = text.map(|text| writer.merge(text));
    }
    Ok(Record::new(stat, &log, scan, text))
}
