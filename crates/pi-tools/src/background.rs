//! Background processes: commands that outlive the call that started them, such as servers.
//!
//! # Life cycle
//!
//! An application creates one [`BackgroundProcesses`] per session and gives it to the workspace
//! ([`Workspace::with_background`](crate::Workspace::with_background)). That adds the parameter `background` to the tool `bash`, and
//! the tool `process` to those that the workspace supports. A process ends when the model stops it,
//! when the session calls [`BackgroundProcesses::stop_all`], when the last reference to the
//! `BackgroundProcesses` is dropped, or when this program ends, however that happens.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_base::lock;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::sync::{Notify, watch};

use crate::executor::{Process, ProcessTree};
use crate::output::{CHUNK, Output, QUIET_PERIOD};
use crate::truncate::Truncation;

/// The number of a background process. No number is used twice in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackgroundId(u64);

impl BackgroundId {
    /// Converts a number that a model wrote.
    pub(crate) fn from_number(number: f64) -> Option<Self> {
        (number >= 1.0 && number.fract() == 0.0).then_some(Self(number as u64))
    }
}

impl fmt::Display for BackgroundId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A background process in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackgroundInfo {
    /// Number of the process.
    pub id: BackgroundId,
    /// Command as it was given.
    pub command: String,
    /// Current state of the process.
    pub state: BackgroundState,
}

/// The state of a background process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackgroundState {
    /// The process is running.
    Running,
    /// The process ended by itself, with this code if it is known. Processes that it started may
    /// still run until it is stopped.
    Exited(Option<i32>),
    /// The process was stopped while it was running.
    Stopped,
}

impl BackgroundInfo {
    /// Describes the process for programs.
    pub(crate) fn data(&self) -> Value {
        let (state, code) = match self.state {
            BackgroundState::Running => ("running", None),
            BackgroundState::Exited(code) => ("exited", code),
            BackgroundState::Stopped => ("stopped", None),
        };
        json!({ "id": self.id.0, "command": self.command, "state": state, "exitCode": code })
    }
}

impl BackgroundState {
    /// Describes the state, as the rest of a sentence about the process.
    pub fn describe(self) -> String {
        match self {
            Self::Running => "is running".to_owned(),
            Self::Exited(Some(code)) => format!("exited with code {code}"),
            Self::Exited(None) => "ended without an exit code".to_owned(),
            Self::Stopped => "was stopped".to_owned(),
        }
    }
}

/// The background processes of one session. Dropping the value kills them.
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
    /// The process was running when it was stopped.
    interrupted: bool,
    /// Absent once the process was stopped.
    tree: Option<ProcessTree>,
}

impl Entry {
    fn info(&self, id: BackgroundId) -> BackgroundInfo {
        let state = if self.interrupted { BackgroundState::Stopped } else { *self.state.borrow() };
        BackgroundInfo { id, command: self.command.clone(), state }
    }
}

impl BackgroundProcesses {
    /// Adds a running command.
    pub(crate) fn add(&self, command: &str, process: Process) -> BackgroundId {
        let Process { output: pipe, exit, tree } = process;
        let output = Arc::new(Mutex::new(Output::default()));
        let (ended, state) = watch::channel(BackgroundState::Running);
        tokio::spawn(collect(Arc::clone(&output), pipe, exit, ended));
        let command = command.to_owned();
        let entry = Entry { command, output, state, interrupted: false, tree: Some(tree) };
        let mut entries = lock(&self.entries);
        entries.last += 1;
        let id = BackgroundId(entries.last);
        entries.by_id.insert(id, entry);
        id
    }

    /// Waits until a process has ended, at most for this long.
    pub(crate) async fn wait(&self, id: BackgroundId, longest: Duration) {
        let state = lock(&self.entries).by_id.get(&id).map(|entry| entry.state.clone());
        let Some(mut state) = state else { return };
        let ended = state.wait_for(|state| *state != BackgroundState::Running);
        let _ = tokio::time::timeout(longest, ended).await;
    }

    /// Returns all processes that were not removed, in the order of their start.
    pub fn list(&self) -> Vec<BackgroundInfo> {
        let entries = lock(&self.entries);
        entries.by_id.iter().map(|(id, entry)| entry.info(*id)).collect()
    }

    /// Returns the number of processes that run.
    pub fn running(&self) -> usize {
        let entries = lock(&self.entries);
        let is_running =
            |id: &BackgroundId, entry: &Entry| entry.info(*id).state == BackgroundState::Running;
        entries.by_id.iter().filter(|(id, entry)| is_running(id, entry)).count()
    }

    /// Returns one process of the list.
    pub fn info(&self, id: BackgroundId) -> Option<BackgroundInfo> {
        lock(&self.entries).by_id.get(&id).map(|entry| entry.info(id))
    }

    /// Returns the end of the output of a process.
    pub fn output(&self, id: BackgroundId) -> Option<Truncation> {
        let output = lock(&self.entries).by_id.get(&id).map(|entry| Arc::clone(&entry.output))?;
        Some(lock(&output).tail())
    }

    /// Kills a process and everything it started. Its output can still be read. Returns false if
    /// the process does not exist.
    pub async fn stop(&self, id: BackgroundId) -> bool {
        let tree = match lock(&self.entries).by_id.get_mut(&id) {
            Some(entry) => {
                let is_running = *entry.state.borrow() == BackgroundState::Running;
                entry.interrupted |= is_running && entry.tree.is_some();
                entry.tree.take()
            }
            None => return false,
        };
        if let Some(tree) = tree {
            tree.kill().await;
        }
        true
    }

    /// Kills all processes and everything they started, and waits until they are gone.
    pub async fn stop_all(&self) {
        for BackgroundInfo { id, .. } in self.list() {
            self.stop(id).await;
        }
    }

    /// Kills a process and removes it from the list.
    pub(crate) async fn remove(&self, id: BackgroundId) {
        self.stop(id).await;
        lock(&self.entries).by_id.remove(&id);
    }
}

/// Collects the output of a process until the process and its output have ended.
async fn collect(
    output: Arc<Mutex<Output>>,
    mut pipe: impl tokio::io::AsyncRead + Unpin,
    exit: impl Future<Output = std::io::Result<Option<i32>>>,
    ended: watch::Sender<BackgroundState>,
) {
    let all_read = Notify::new();
    let read = async {
        let mut chunk = Vec::with_capacity(CHUNK);
        while let Ok(1..) = pipe.read_buf(&mut chunk).await {
            lock(&output).push(&chunk);
            chunk.clear();
        }
        all_read.notify_one();
    };
    let wait = async {
        let code = exit.await.ok().flatten();
        // A reader of the state expects the last output too, but processes that were left running
        // may keep the output open for good.
        let _ = tokio::time::timeout(QUIET_PERIOD, all_read.notified()).await;
        ended.send_replace(BackgroundState::Exited(code));
    };
    tokio::join!(read, wait);
}
