//! Processes that are meant to outlive the call that starts them: a server, a watcher.
//!
//! They are managed: each has a handle, all can be listed, read and stopped, and none outlives
//! the [`Background`] that started it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_agent::ToolError;
use tokio::io::AsyncReadExt;

use crate::bash::{self, Output};
use crate::executor::{Lease, Process};
use crate::truncate::Truncation;
use crate::workspace::Workspace;

/// The handle of a background process. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackgroundId(u64);

impl fmt::Display for BackgroundId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is known about a background process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundInfo {
    /// Its handle.
    pub id: BackgroundId,
    /// The command, as it was given.
    pub command: String,
    /// It runs.
    pub running: bool,
    /// The exit code of a process that ended by itself, where it is known.
    pub exit_code: Option<i32>,
}

/// The background processes of one agent. Dropping it ends them all.
#[derive(Debug, Default)]
pub struct Background {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    last: u64,
    by_id: BTreeMap<BackgroundId, Entry>,
}

#[derive(Debug)]
struct Entry {
    command: String,
    state: Arc<Mutex<State>>,
    /// Gone once it was stopped.
    lease: Option<Lease>,
}

#[derive(Debug, Default)]
struct State {
    output: Output,
    /// Set when it has ended: its code, where that is known.
    ended: Option<Option<i32>>,
}

impl Background {
    /// Starts a command, with the settings of the workspace.
    pub async fn start(
        &self,
        workspace: &Workspace,
        command: &str,
    ) -> Result<BackgroundId, ToolError> {
        let process = bash::start(workspace, command).await?;
        let state = Arc::new(Mutex::new(State::default()));
        let Process { output, exit, lease } = process;
        tokio::spawn(watch(Arc::clone(&state), output, exit));
        let entry = Entry { command: command.to_owned(), state, lease: Some(lease) };
        let mut entries = lock(&self.entries);
        entries.last += 1;
        let id = BackgroundId(entries.last);
        entries.by_id.insert(id, entry);
        Ok(id)
    }

    /// All that were started and not removed, in the order of their start.
    pub fn list(&self) -> Vec<BackgroundInfo> {
        let entries = lock(&self.entries);
        let info = |(id, entry): (&BackgroundId, &Entry)| {
            let ended = lock(&entry.state).ended;
            BackgroundInfo {
                id: *id,
                command: entry.command.clone(),
                running: ended.is_none() && entry.lease.is_some(),
                exit_code: ended.flatten(),
            }
        };
        entries.by_id.iter().map(info).collect()
    }

    /// The end of what a process has written so far.
    pub fn output(&self, id: BackgroundId) -> Option<Truncation> {
        let entries = lock(&self.entries);
        let entry = entries.by_id.get(&id)?;
        Some(lock(&entry.state).output.tail())
    }

    /// Ends a process with all it has started. Its output can still be read. False if there is no
    /// such process.
    pub async fn stop(&self, id: BackgroundId) -> bool {
        let lease = match lock(&self.entries).by_id.get_mut(&id) {
            Some(entry) => entry.lease.take(),
            None => return false,
        };
        if let Some(lease) = lease {
            lease.end().await;
        }
        true
    }

    /// Ends a process and forgets it.
    pub async fn remove(&self, id: BackgroundId) -> bool {
        let stopped = self.stop(id).await;
        lock(&self.entries).by_id.remove(&id);
        stopped
    }
}

/// Takes in what a process writes, until it has ended and its output has too.
async fn watch(
    state: Arc<Mutex<State>>,
    mut output: impl tokio::io::AsyncRead + Unpin,
    exit: impl Future<Output = std::io::Result<Option<i32>>>,
) {
    let read = async {
        let mut chunk = Vec::with_capacity(bash::CHUNK);
        while let Ok(1..) = output.read_buf(&mut chunk).await {
            lock(&state).output.push(&chunk);
            chunk.clear();
        }
    };
    let wait = async {
        let code = exit.await.ok().flatten();
        lock(&state).ended = Some(code);
    };
    tokio::join!(read, wait);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
