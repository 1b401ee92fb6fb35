//! The log of one session, as readers of a feed reach it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use pi_coding_agent::AgentSession;
use pi_coding_agent::session::WeakAgentSession;
use pi_session::{OpenOptions, Session, SessionError};

/// A session whose entries are read. It does not keep the session open: the log of a replaced
/// session is read from its file, which another program may use.
pub(super) struct Source {
    pub(super) id: String,
    pub(super) file: Option<PathBuf>,
    live: WeakAgentSession,
}

/// Lines of entries, with their sequence numbers.
pub(super) type Lines = Vec<(u64, Arc<str>)>;

impl Source {
    pub(super) fn of(session: &AgentSession) -> Arc<Self> {
        Arc::new(Self { id: session.id(), file: session.file(), live: session.downgrade() })
    }

    /// Returns true if this is the log of a session.
    pub(super) fn is(&self, session: &AgentSession) -> bool {
        self.live.upgrade().is_some_and(|live| live.is(session))
    }

    /// Returns the number of entries; 0 if they cannot be read any more.
    pub(super) fn length(&self) -> u64 {
        self.with(|log| log.len() as u64).unwrap_or_default()
    }

    /// Reads the lines of a range of entries.
    pub(super) fn lines(&self, range: Range<u64>) -> Result<Lines, SessionError> {
        let [start, end] =
            [range.start, range.end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        self.with(|log| {
            let lines = log.raw_entries(start..end);
            lines.map(|line| line.map(|(at, line)| (at as u64, line.into()))).collect()
        })?
    }

    fn with<T>(&self, access: impl FnOnce(&Session) -> T) -> Result<T, SessionError> {
        if let Some(session) = self.live.upgrade() {
            return Ok(session.with_log(|log| access(log)));
        }
        match &self.file {
            // A file that was never written has no entries that could be missing.
            Some(file) if file.exists() => {
                Session::open(file, &OpenOptions::read()).map(|log| access(&log))
            }
            _ => Ok(access(&Session::in_memory(PathBuf::new()))),
        }
    }
}
