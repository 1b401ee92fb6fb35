//! A session that is not open in this server: followed from its file, read-only.
//!
//! The position of an entry in its file is its sequence number in every process, so a reader
//! continues here where the feed of this server ended, and the other way round. Events of the
//! moment are not in the file.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_fs::FileError;
use pi_session::{OpenOptions, Session, SessionError, is_locked};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Pause between two looks at a file.
const LOOK: Duration = Duration::from_millis(200);

/// Looks at a file between two looks at its lock.
const LOCK: u32 = 10;

/// Entries that are read at a time.
const BATCH: u64 = 64;

/// Follows the file of a session.
pub(crate) struct FileReader {
    path: PathBuf,
    log: Session,
    /// The next entry.
    next: u64,
    ready: VecDeque<(u64, Arc<str>)>,
    is_used: bool,
    looks: u32,
    clock: Interval,
}

/// A step of a [`FileReader`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// An entry with its sequence number.
    Entry(u64, Arc<str>),
    /// The file was exchanged: entries follow from the first one.
    Exchanged,
    /// Another program has opened the session, or has closed it.
    Used(bool),
    /// Nothing happened for a moment.
    Quiet,
    /// The file is gone.
    Deleted,
}

impl FileReader {
    /// Opens a file before the entry `next`. On a thread of its own: a long file is read once.
    pub(crate) async fn open(path: PathBuf, next: u64) -> Result<Self, SessionError> {
        let opening = tokio::task::spawn_blocking(move || {
            let log = Session::open(&path, &OpenOptions::follow())?;
            Ok::<_, SessionError>((is_locked(&path), log, path))
        });
        let (is_used, log, path) = match opening.await {
            Ok(opened) => opened?,
            Err(error) => return Err(FileError::at("read", PathBuf::new())(error.into())),
        };
        let mut clock = interval(LOOK);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { path, log, next, ready: VecDeque::new(), is_used, looks: 0, clock })
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> u64 {
        self.log.len() as u64
    }

    /// Continues with another entry.
    pub(crate) fn skip_to(&mut self, next: u64) {
        self.next = next;
        self.ready.clear();
    }

    /// Returns true if another program has the session open.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Reads lines that precede the next entry, for a renderer.
    pub(crate) fn before(&self, count: u64) -> Vec<String> {
        let range = size(self.next.saturating_sub(count))..size(self.next);
        self.log.raw_entries(range).filter_map(|line| Some(line.ok()?.1)).collect()
    }

    /// Returns the next step. Waits at most a moment.
    pub(crate) async fn step(&mut self) -> Result<Step, SessionError> {
        if let Some((sequence, line)) = self.ready.pop_front() {
            return Ok(Step::Entry(sequence, line));
        }
        if self.next < self.len() {
            self.fill()?;
            return Ok(Step::Quiet);
        }
        self.clock.tick().await;
        match self.log.refresh() {
            Ok(true) => self.fill()?,
            Ok(false) => {}
            Err(SessionError::Replaced(_)) if !self.path.exists() => return Ok(Step::Deleted),
            Err(SessionError::Replaced(_)) => return self.exchange().await,
            Err(error) => return Err(error),
        }
        self.looks += 1;
        if self.looks >= LOCK {
            self.looks = 0;
            let path = self.path.clone();
            let looking = tokio::task::spawn_blocking(move || is_locked(&path)).await;
            let is_used = looking.unwrap_or(self.is_used);
            if is_used != self.is_used {
                self.is_used = is_used;
                return Ok(Step::Used(is_used));
            }
        }
        Ok(Step::Quiet)
    }

    /// Reads a file that took the place of the one before.
    async fn exchange(&mut self) -> Result<Step, SessionError> {
        *self = Self::open(self.path.clone(), 0).await?;
        Ok(Step::Exchanged)
    }

    fn fill(&mut self) -> Result<(), SessionError> {
        let end = self.len().min(self.next.saturating_add(BATCH));
        for line in self.log.raw_entries(size(self.next)..size(end)) {
            let (position, line) = line?;
            self.ready.push_back((position as u64, line.into()));
        }
        self.next = self.next.max(end);
        Ok(())
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
