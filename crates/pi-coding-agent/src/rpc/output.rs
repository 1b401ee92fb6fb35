//! The output: lines are gathered while the reader is busy, and writers wait when it does not read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_agent::BoxFuture;
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use crate::session::{SessionEvent, SessionListener};

/// Writers wait while more bytes than this are unwritten.
const MOST_UNWRITTEN: usize = 1024 * 1024;

/// The output was closed by its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the output was closed")]
pub struct OutputClosed;

/// A writer of lines. Clones write to the same output.
#[derive(Debug, Clone, Default)]
pub struct LineWriter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when there is something to write.
    filled: Notify,
    /// Notified when something was written.
    emptied: Notify,
}

#[derive(Debug, Default)]
struct State {
    unwritten: Vec<u8>,
    closed: bool,
    finished: bool,
}

impl LineWriter {
    /// Waits while the reader is far behind.
    pub async fn ready(&self) -> Result<(), OutputClosed> {
        loop {
            let emptied = self.0.emptied.notified();
            {
                let state = self.state();
                if state.closed {
                    return Err(OutputClosed);
                }
                if state.unwritten.len() < MOST_UNWRITTEN {
                    return Ok(());
                }
            }
            emptied.await;
        }
    }

    /// Adds a record without waiting.
    pub fn add(&self, record: &impl Serialize) -> Result<(), OutputClosed> {
        {
            let mut state = self.state();
            if state.closed {
                return Err(OutputClosed);
            }
            let start = state.unwritten.len();
            if serde_json::to_writer(&mut state.unwritten, record).is_err() {
                // Never half a record.
                state.unwritten.truncate(start);
                return Ok(());
            }
            state.unwritten.push(b'\n');
        }
        self.0.filled.notify_one();
        Ok(())
    }

    /// Writes all lines until [`LineWriter::finish`]. Fails when the output cannot be written.
    pub async fn drain(&self, mut out: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        loop {
            let batch = {
                let mut state = self.state();
                std::mem::take(&mut state.unwritten)
            };
            if batch.is_empty() {
                if self.state().finished {
                    return Ok(());
                }
                self.0.filled.notified().await;
                continue;
            }
            let written = async {
                out.write_all(&batch).await?;
                out.flush().await
            };
            let written = written.await;
            self.state().closed |= written.is_err();
            self.0.emptied.notify_waiters();
            written?;
        }
    }

    /// Ends [`LineWriter::drain`] when all lines are written.
    pub fn finish(&self) {
        self.state().finished = true;
        self.0.filled.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes every event of a session that is a record.
impl SessionListener for LineWriter {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if !event.is_record() {
            return Box::pin(std::future::ready(()));
        }
        let added = self.add(event);
        Box::pin(async move {
            if added.is_ok() {
                // A closed output ends `drain`, which reports it.
                let _ = self.ready().await;
            }
        })
    }
}
