//! The record of one file in the cache, and its validity.
//!
//! A file counts as unchanged if its metadata are unchanged, and as grown if the beginning and the
//! end of the part that was read are unchanged. That suffices for files that are appended to or
//! replaced. A program that rewrites the middle of a file and then appends to it goes unnoticed
//! until a search finds a match there.

use std::fs::Metadata;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::text::Block;
use crate::SessionInfo;
use crate::info::{Scan, Summary, milliseconds};
use crate::log::Log;

/// Number of bytes that are compared at both ends of a file.
const SAMPLE: u64 = 4096;
/// The coarsest resolution of time stamps in use: within this time a file may change twice with
/// the same time stamp.
const TICK: Duration = Duration::from_secs(2);

/// The metadata of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stat {
    size: u64,
    /// Time of the last change of the content, in nanoseconds since the epoch.
    modified: u64,
    /// Time of the last change of any kind, in nanoseconds since the epoch.
    changed: u64,
    identity: (u64, u64),
}

impl Stat {
    pub(super) fn new(metadata: &Metadata) -> Self {
        let nanoseconds = |time: SystemTime| {
            let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        };
        let modified = metadata.modified().map_or(0, nanoseconds);
        let (changed, identity) = beyond_std(metadata);
        Self { size: metadata.len(), modified, changed, identity }
    }

    /// Returns true if a further change would have another time stamp.
    fn is_settled(&self) -> bool {
        let last = Duration::from_nanos(self.modified.max(self.changed));
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|now| now > last + TICK)
    }
}

/// Returns the time of the last change of any kind, and the identity of the file.
#[cfg(unix)]
fn beyond_std(metadata: &Metadata) -> (u64, (u64, u64)) {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(metadata.ctime()).unwrap_or_default();
    let nanoseconds = u64::try_from(metadata.ctime_nsec()).unwrap_or_default();
    (seconds.saturating_mul(1_000_000_000) + nanoseconds, (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn beyond_std(metadata: &Metadata) -> (u64, (u64, u64)) {
    let created = metadata.created().map_or(0, milliseconds);
    (0, (0, u64::try_from(created).unwrap_or_default()))
}

/// The state of a file when it was last read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    stat: Stat,
    /// A further change would have another time stamp.
    settled: bool,
    /// Number of bytes that were read.
    end: u64,
    /// The part that was read ends with a line break, so reading can continue there.
    whole: bool,
    sample: u64,
    /// `None` if the file is not a session.
    pub(super) summary: Option<Summary>,
    /// The blocks of the text in the cache; `None` if the text is not in the cache.
    pub(super) text: Option<Vec<Block>>,
}

/// The relation of a record to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheState {
    /// The file is unchanged.
    Same,
    /// The file is unchanged, and a further change would have another time stamp.
    Settled,
    /// The file has to be read.
    Changed,
}

impl Record {
    /// Creates the record of a scan; `stat` are the metadata before the scan.
    pub(super) fn new(stat: Stat, log: &Log, scan: Scan, text: Option<Vec<Block>>) -> Self {
        let last =
            log.read(scan.end.saturating_sub(1)..scan.end, &mut Vec::new()).map(<[u8]>::to_vec);
        Self {
            stat,
            settled: stat.is_settled(),
            end: scan.end,
            whole: last.is_ok_and(|last| last == b"\n"),
            sample: sample(log, scan.end).unwrap_or_default(),
            summary: scan.summary,
            text,
        }
    }

    /// Compares the record with the file. `open` opens the file, which is rarely necessary.
    pub(super) fn check(&mut self, stat: &Stat, open: impl FnOnce() -> Option<Log>) -> CacheState {
        if self.stat != *stat {
            return CacheState::Changed;
        }
        if self.settled {
            return CacheState::Same;
        }
        let same = open().is_some_and(|log| {
            log.len() == self.end && sample(&log, self.end) == Some(self.sample)
        });
        if !same {
            return CacheState::Changed;
        }
        self.settled = stat.is_settled();
        if self.settled { CacheState::Settled } else { CacheState::Same }
    }

    /// Returns the scan to continue if the file has only grown; `None` if that is not certain.
    pub(super) fn resume(&self, stat: &Stat, log: &Log) -> Option<Scan> {
        let grown = self.stat.identity == stat.identity && log.len() > self.end;
        let same = grown
            && self.whole
            && self.summary.is_some()
            && sample(log, self.end) == Some(self.sample);
        same.then(|| Scan { summary: self.summary.clone(), end: self.end })
    }

    /// Returns the facts for a list; `None` if the file is not a session.
    pub(super) fn info(&self, path: PathBuf) -> Option<SessionInfo> {
        let written = SystemTime::UNIX_EPOCH + Duration::from_nanos(self.stat.modified);
        Some(self.summary.as_ref()?.info(path, self.end, milliseconds(written)))
    }
}

/// Returns a digest of both ends of the first `end` bytes.
fn sample(log: &Log, end: u64) -> Option<u64> {
    let len = end.min(SAMPLE);
    let mut buffer = Vec::new();
    let mut bytes = log.read(0..len, &mut buffer).ok()?.to_vec();
    bytes.extend_from_slice(log.read(end - len..end, &mut buffer).ok()?);
    Some(digest(&bytes))
}

/// Returns a digest that detects damage. It need not resist attacks: a program that can write the
/// cache can write the sessions.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |lane: u64, word: u64| (lane ^ word).wrapping_mul(ODD).rotate_left(29);
    // Four lanes, since each step depends on the one before it.
    let mut lanes = [1_u64, 2, 3, 4];
    let (words, rest) = bytes.as_chunks::<8>();
    let (rounds, odd) = words.as_chunks::<4>();
    for round in rounds {
        for (lane, word) in lanes.iter_mut().zip(round) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
    }
    let odd = odd.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    odd.chain(rest).chain(lanes).fold(bytes.len() as u64, mix)
}
