//! The facts about a session that a list shows, from one pass over its file.
//!
//! The pass holds one line at a time and can continue where an earlier pass ended, since files
//! only grow. Lines that cannot be parsed do not count.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pi_protocol::SessionHeader;
use serde::{Deserialize, Serialize};

use crate::log::{Access, Log, LogFile, Span};
use crate::own_words::own_words;
use crate::searchable::Glimpse;
use crate::{SessionError, directory_from_text, files, time};

/// A list shows the beginning of the first message, which may be a pasted file.
const FIRST_MESSAGE_CHARS: usize = 300;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The path of the session file.
    pub path: PathBuf,
    /// The id in the header.
    pub id: String,
    /// The working directory; empty in old files.
    pub cwd: String,
    /// The name that the user gave the session.
    pub name: Option<String>,
    /// The file that the session was forked from.
    pub parent_session: Option<String>,
    /// Time of creation, in milliseconds since the epoch.
    pub created: Option<i64>,
    /// Time of the last message of the user or the model, in milliseconds since the epoch; without
    /// one, the time of creation, or else the time when the file was written.
    pub modified: i64,
    /// Number of messages on all branches and of all roles.
    pub message_count: u64,
    /// Number of system messages among them.
    pub system_message_count: u64,
    /// The beginning of the first message of the user, or `(no messages)`.
    pub first_message: String,
    /// The size of the file, in bytes.
    pub size: u64,
}

impl SessionInfo {
    /// Reads a session file.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        let metadata = std::fs::metadata(path).map_err(SessionError::io("read", path))?;
        let written = metadata.modified().map_err(SessionError::io("read", path))?;
        let log = open(path)?;
        let mut scan = Scan::default();
        scan.run(&log, |_, _| {})?;
        match scan.summary {
            Some(summary) => Ok(summary.info(path.to_owned(), log.len(), milliseconds(written))),
            None => Err(SessionError::NotASession(path.to_owned())),
        }
    }
}

/// Opens a session file for reading.
pub(crate) fn open(path: &Path) -> Result<Log, SessionError> {
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    LogFile::open(path, Access::Read)?
        .map(Log::File)
        .ok_or_else(|| SessionError::io("open", path)(missing()))
}

/// Converts a time to milliseconds since the epoch.
pub(crate) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The facts that the lines of a session add up to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Summary {
    id: String,
    cwd: String,
    name: Option<String>,
    parent: Option<String>,
    created: Option<i64>,
    /// Time of the last message of the user or the model.
    active: Option<i64>,
    messages: u64,
    system_messages: u64,
    first: Option<String>,
}

impl Summary {
    fn new(header: SessionHeader) -> Self {
        Self {
            created: time::parse_ms(&header.timestamp),
            id: header.id,
            cwd: header.cwd,
            name: None,
            parent: header.parent_session,
            active: None,
            messages: 0,
            system_messages: 0,
            first: None,
        }
    }

    fn add(&mut self, line: &Glimpse) {
        self.messages += u64::from(line.is_message);
        self.system_messages += u64::from(line.is_system);
        if line.is_name {
            self.name = line.text.as_ref().map(|(_, name)| name.clone());
        }
        if !line.is_conversation {
            return;
        }
        self.active = self.active.max(line.time.filter(|time| *time > 0));
        if self.first.is_none()
            && let Some((crate::TextKind::User, text)) = &line.text
        {
            self.first = Some(own_words(text).chars().take(FIRST_MESSAGE_CHARS).collect());
        }
    }

    /// Completes the facts with those of the file system.
    pub(crate) fn info(&self, path: PathBuf, size: u64, written: i64) -> SessionInfo {
        SessionInfo {
            path,
            id: self.id.clone(),
            cwd: self.cwd.clone(),
            name: self.name.clone(),
            parent_session: self.parent.clone(),
            created: self.created,
            modified: self.active.or(self.created).unwrap_or(written),
            message_count: self.messages,
            system_message_count: self.system_messages,
            first_message: self.first.clone().unwrap_or_else(|| "(no messages)".to_owned()),
            size,
        }
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        directory_from_text(&self.cwd)
    }
}

/// A pass over a session file, complete or up to `end`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scan {
    /// `None` before the header, and if the file is not a session.
    pub(crate) summary: Option<Summary>,
    /// Offset up to which the file was read.
    pub(crate) end: u64,
}

impl Scan {
    /// Reads the remaining lines, and calls `each` with those that are entries.
    pub(crate) fn run(
        &mut self,
        log: &Log,
        mut each: impl FnMut(Span, &Glimpse),
    ) -> Result<(), SessionError> {
        let summary = &mut self.summary;
        log.lines(self.end, |offset, line| {
            let Some(summary) = summary else {
                return match files::parse_header(line) {
                    None => ControlFlow::Continue(()),
                    Some(None) => ControlFlow::Break(()),
                    Some(Some(header)) => {
                        *summary = Some(Summary::new(header));
                        ControlFlow::Continue(())
                    }
                };
            };
            let Ok(len) = u32::try_from(line.len()) else { return ControlFlow::Continue(()) };
            if let Some(glimpse) = Glimpse::read(line) {
                summary.add(&glimpse);
                each(Span { offset, len }, &glimpse);
            }
            ControlFlow::Continue(())
        })?;
        self.end = log.len();
        Ok(())
    }
}
