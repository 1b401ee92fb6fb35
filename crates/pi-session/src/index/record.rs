//! What is remembered about one file, and how to tell whether it is still true.
//!
//! A file is trusted to be unchanged if the file system says so, and to have only grown if the
//! beginning and the end of what was read before are as they were. That is enough for files that
//! are appended to or replaced; who rewrites the middle of one and appends to it before anybody
//! looks is not noticed until something is found there.

use std::fs::Metadata;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::text::Block;
use crate::SessionInfo;
use crate::info::{Scan, Summary, milliseconds};
use crate::log::Log;

/// How much of both ends of a file is compared.
const SAMPLE: u64 = 4096;
/// Within this time a file may change twice without its time stamps telling. Two seconds are the
/// coarsest in use.
const TICK: Duration = Duration::from_secs(2);

/// What the file system says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stat {
    size: u64,
    /// Nanoseconds since the epoch: content, and anything about the file.
    modified: u64,
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

    /// Enough time has passed that a further change would show.
    fn is_settled(&self) -> bool {
        let last = Duration::from_nanos(self.modified.max(self.changed));
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|now| now > last + TICK)
    }
}

/// The time of the last change of any kind, and what tells one file from another.
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

/// A file, as it was when it was last read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    stat: Stat,
    /// The time stamps of the file were old enough to tell of any further change.
    settled: bool,
    /// How much of the file was read.
    end: u64,
    /// That was the end of a line: the rest can be read on its own.
    whole: bool,
    sample: u64,
    /// `None` if it is not a session.
    pub(super) summary: Option<Summary>,
    /// Where its text is; `None` if it was not kept.
    pub(super) text: Option<Vec<Block>>,
}

/// How a record relates to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheState {
    /// Nothing happened.
    Same,
    /// Nothing happened, and that is certain now.
    Settled,
    /// To be looked at.
    Changed,
}

impl Record {
    /// A record of what `scan` found in a file that was `stat` before it was read.
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

    /// Whether the file is as it was. `open` opens it, which is rarely needed.
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

    /// Where to go on reading a file that has only grown; `None` if it is not certain that it has.
    pub(super) fn resume(&self, stat: &Stat, log: &Log) -> Option<Scan> {
        let grown = self.stat.identity == stat.identity && log.len() > self.end;
        let same = grown
            && self.whole
            && self.summary.is_some()
            && sample(log, self.end) == Some(self.sample);
        same.then(|| Scan { summary: self.summary.clone(), end: self.end })
    }

    /// What a list shows; `None` if the file is not a session.
    pub(super) fn info(&self, path: PathBuf) -> Option<SessionInfo> {
        let written = SystemTime::UNIX_EPOCH + Duration::from_nanos(self.stat.modified);
        Some(self.summary.as_ref()?.info(path, self.end, milliseconds(written)))
    }
}

/// A digest of both ends of the first `end` bytes.
fn sample(log: &Log, end: u64) -> Option<u64> {
    let len = end.min(SAMPLE);
    let mut buffer = Vec::new();
    let mut bytes = log.read(0..len, &mut buffer).ok()?.to_vec();
    bytes.extend_from_slice(log.read(end - len..end, &mut buffer).ok()?);
    Some(digest(&bytes))
}

/// A digest that any damage changes. Not for adversaries: who can write here can write there.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |lane: u64, word: u64| (lane ^ word).wrapping_mul(ODD).rotate_left(29);
    // Several at once, since each step has to wait for the one before it.
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
