//! Lines on their way out: gathered while the other end is busy, held back when it does not read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_agent::BoxFuture;
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use crate::session::{SessionEvent, SessionListener};

/// Whoever writes waits when this much has not been taken by the other end.
const MOST_UNWRITTEN: usize = 1024 * 1024;

/// The other end does not read any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reader of the output has gone")]
pub struct OutputClosed;

/// Takes lines from anybody, one at a time. Clones write to the same place.
#[derive(Debug, Clone, Default)]
pub struct LineWriter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Something waits to be written.
    filled: Notify,
    /// Something was written.
    emptied: Notify,
}

#[derive(Debug, Default)]
struct State {
    unwritten: Vec<u8>,
    closed: bool,
    finished: bool,
}

impl LineWriter {
    /// Waits while the other end is far behind.
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

    /// Writes what comes until [`LineWriter::finish`], and fails when it cannot be written.
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

    /// Nothing follows: [`LineWriter::drain`] ends when all is written.
    pub fn finish(&self) {
        self.state().finished = true;
        self.0.filled.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes every event of a session.
impl SessionListener for LineWriter {
    fn hear<'a>(&'a self, event: &'a SessionEvent<'a>) -> BoxFuture<'a, ()> {
        let added = self.add(event);
        Box::pin(async move {
            if added.is_ok() {
                // If nobody reads any more, whoever drains it finds out.
                let _ = self.ready().await;
            }
        })
    }
}
