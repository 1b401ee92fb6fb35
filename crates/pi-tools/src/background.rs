//! Processes that are meant to outlive the call that starts them: a server, a watcher.
//!
//! They are managed: each has a handle, all can be listed, read and stopped, and none outlives
//! the [`BackgroundProcesses`] that started it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pi_agent::ToolError;
use tokio::io::AsyncReadExt;
use tokio::sync::{Notify, watch};

use crate::bash::{self, Output};
use crate::executor::{Process, ProcessTree};
use crate::truncate::Truncation;
use crate::workspace::Workspace;

/// The handle of a background process. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackgroundId(u64);

impl BackgroundId {
    /// The handle that a model names by its number.
    pub(crate) fn from_number(number: f64) -> Option<Self> {
        (number >= 1.0 && number.fract() == 0.0).then_some(Self(number as u64))
    }

    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

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
    /// What it does, or did last.
    pub state: BackgroundState,
}

/// How a background process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundState {
    /// It runs.
    Running,
    /// It ended by itself, with this code where it is known. What it has started may still run,
    /// until it is stopped.
    Exited(Option<i32>),
    /// It was ended.
    Stopped,
}

/// The background processes of one agent. Dropping it ends them all.
#[derive(Debug, Default)]
pub struct BackgroundProcesses {
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
    output: Arc<Mutex<Output>>,
    state: watch::Receiver<BackgroundState>,
    /// It ran when it was stopped.
    interrupted: bool,
    /// Gone once it was stopped.
    tree: Option<ProcessTree>,
}

impl Entry {
    fn info(&self, id: BackgroundId) -> BackgroundInfo {
        let state = if self.interrupted { BackgroundState::Stopped } else { *self.state.borrow() };
        BackgroundInfo { id, command: self.command.clone(), state }
    }
}

impl BackgroundProcesses {
    /// Starts a command, with the settings of the workspace.
    pub async fn start(
        &self,
        workspace: &Workspace,
        command: &str,
    ) -> Result<BackgroundId, ToolError> {
        let Process { output: pipe, exit, tree } = bash::start(workspace, command).await?;
        let output = Arc::new(Mutex::new(Output::default()));
        let (ended, state) = watch::channel(BackgroundState::Running);
        tokio::spawn(take_in(Arc::clone(&output), pipe, exit, ended));
        let command = command.to_owned();
        let entry = Entry { command, output, state, interrupted: false, tree: Some(tree) };
        let mut entries = lock(&self.entries);
        entries.last += 1;
        let id = BackgroundId(entries.last);
        entries.by_id.insert(id, entry);
        Ok(id)
    }

    /// Waits until a process has ended, but not longer than this.
    pub(crate) async fn wait(&self, id: BackgroundId, longest: Duration) {
        let state = lock(&self.entries).by_id.get(&id).map(|entry| entry.state.clone());
        let Some(mut state) = state else { return };
        let ended = state.wait_for(|state| *state != BackgroundState::Running);
        let _ = tokio::time::timeout(longest, ended).await;
    }

    /// All that were started and not removed, in the order of their start.
    pub fn list(&self) -> Vec<BackgroundInfo> {
        let entries = lock(&self.entries);
        entries.by_id.iter().map(|(id, entry)| entry.info(*id)).collect()
    }

    /// What is known about one of them.
    pub fn info(&self, id: BackgroundId) -> Option<BackgroundInfo> {
        lock(&self.entries).by_id.get(&id).map(|entry| entry.info(id))
    }

    /// The end of what a process has written so far.
    pub fn output(&self, id: BackgroundId) -> Option<Truncation> {
        let output = lock(&self.entries).by_id.get(&id).map(|entry| Arc::clone(&entry.output))?;
        Some(lock(&output).tail())
    }

    /// Ends a process with all it has started. Its output can still be read. False if there is no
    /// such process.
    pub async fn stop(&self, id: BackgroundId) -> bool {
        let tree = match lock(&self.entries).by_id.get_mut(&id) {
            Some(entry) => {
                let runs = *entry.state.borrow() == BackgroundState::Running;
                entry.interrupted |= runs && entry.tree.is_some();
                entry.tree.take()
            }
            None => return false,
        };
        if let Some(tree) = tree {
            tree.kill().await;
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
async fn take_in(
    output: Arc<Mutex<Output>>,
    mut pipe: impl tokio::io::AsyncRead + Unpin,
    exit: impl Future<Output = std::io::Result<Option<i32>>>,
    ended: watch::Sender<BackgroundState>,
) {
    let all_read = Notify::new();
    let read = async {
        let mut chunk = Vec::with_capacity(bash::CHUNK);
        while let Ok(1..) = pipe.read_buf(&mut chunk).await {
            lock(&output).push(&chunk);
            chunk.clear();
        }
        all_read.notify_one();
    };
    let wait = async {
        let code = exit.await.ok().flatten();
        // Whoever hears of the end wants to see the last words too. What the process has left
        // running may keep the output open for good.
        let _ = tokio::time::timeout(bash::SILENCE, all_read.notified()).await;
        ended.send_replace(BackgroundState::Exited(code));
    };
    tokio::join!(read, wait);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
