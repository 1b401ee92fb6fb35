//! Reading, searching, renaming and deleting session files, on a thread of its own.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use pi_base::process::{Rights, Variables, command};
use pi_coding_agent::{Environment, session_index};
use pi_session::{ListOptions, OpenOptions, Session, SessionIndex, SessionInfo};
use tokio::sync::Notify;

use pi_host::sessions;

/// Sessions of the directory that are read before the index, so that rows appear at once.
const FIRST: usize = 20;

/// Sessions that a search finds at most.
const MOST_FOUND: usize = 1000;

/// Results of the thread.
pub(super) enum Reply {
    Listed { sessions: Vec<SessionInfo>, is_complete: bool },
    Found { query: String, found: HashSet<PathBuf> },
    Deleted(PathBuf, Result<(), String>),
    Renamed(PathBuf, String, Result<(), String>),
}

enum Request {
    Search(String),
    Delete(SessionInfo),
    Rename(PathBuf, String),
}

/// The thread, which ends with this value.
pub(super) struct Worker {
    requests: Sender<Request>,
    replies: Receiver<Reply>,
    changed: Arc<Notify>,
}

impl Worker {
    /// Starts the thread. It lists all sessions at first.
    pub(super) fn start(environment: &Environment, shared: Option<PathBuf>, cwd: &Path) -> Self {
        let index = session_index(environment, shared.as_ref());
        let agent = environment.agent_directory.clone();
        let first = shared.unwrap_or_else(|| pi_session::session_directory(&agent, cwd));
        let (requests, receiver) = mpsc::channel();
        let (sender, replies) = mpsc::channel();
        let changed = Arc::new(Notify::new());
        let outbox = Outbox { sender, changed: changed.clone() };
        let trash =
            pi_fs::find_program("trash", None, environment.variable("PATH").map(OsStr::new));
        let work = move || run(index, &first, &Places { agent, trash }, &receiver, &outbox);
        // Without a thread the list stays empty, and says that it is loading.
        let _ = std::thread::Builder::new().name("sessions".to_owned()).spawn(work);
        Self { requests, replies, changed }
    }

    pub(super) fn reply(&mut self) -> Option<Reply> {
        self.replies.try_recv().ok()
    }

    /// Returns what is notified after each reply.
    pub(super) fn changed(&self) -> &Notify {
        &self.changed
    }

    pub(super) fn search(&self, query: &str) {
        self.send(Request::Search(query.to_owned()));
    }

    pub(super) fn delete(&self, session: SessionInfo) {
        self.send(Request::Delete(session));
    }

    pub(super) fn rename(&self, path: PathBuf, name: String) {
        self.send(Request::Rename(path, name));
    }

    fn send(&self, request: Request) {
        // The thread lives as long as this value.
        let _ = self.requests.send(request);
    }
}

struct Outbox {
    sender: Sender<Reply>,
    changed: Arc<Notify>,
}

impl Outbox {
    /// Sends a reply; returns false if the panel is gone.
    fn send(&self, reply: Reply) -> bool {
        let sent = self.sender.send(reply).is_ok();
        self.changed.notify_one();
        sent
    }
}

struct Places {
    agent: PathBuf,
    /// The program that moves files to the trash.
    trash: Option<PathBuf>,
}

fn run(
    mut index: SessionIndex,
    first: &Path,
    places: &Places,
    requests: &Receiver<Request>,
    replies: &Outbox,
) {
    replies.send(Reply::Listed { sessions: newest(first), is_complete: false });
    let sessions = index.list(&ListOptions::default()).sessions;
    let mut is_wanted = replies.send(Reply::Listed { sessions, is_complete: true });
    while is_wanted {
        let Ok(request) = requests.recv() else { return };
        is_wanted = match latest(request, requests) {
            (Some(delayed), query) => {
                let reply = change(delayed, places);
                let is_wanted = replies.send(reply);
                match query {
                    Some(query) => replies.send(search(&mut index, query)),
                    None => is_wanted,
                }
            }
            (None, Some(query)) => replies.send(search(&mut index, query)),
            (None, None) => true,
        };
    }
}

/// Returns the next change and the latest query among the waiting requests: the results of older
/// queries are not shown any more.
fn latest(first: Request, requests: &Receiver<Request>) -> (Option<Request>, Option<String>) {
    let mut query = None;
    let mut next = Some(first);
    while let Some(request) = next {
        match request {
            Request::Search(text) => query = Some(text),
            change => return (Some(change), query),
        }
        next = requests.try_recv().ok();
    }
    (None, query)
}

fn search(index: &mut SessionIndex, query: String) -> Reply {
    let results = index.search(&query, &ListOptions::default().limit(MOST_FOUND));
    let found = results.hits.into_iter().map(|hit| hit.session.path).collect();
    Reply::Found { query, found }
}

fn change(request: Request, places: &Places) -> Reply {
    match request {
        Request::Delete(session) => {
            let result = delete(&session, places);
            Reply::Deleted(session.path, result)
        }
        Request::Rename(path, name) => {
            let result = Session::open(&path, &OpenOptions::append())
                .and_then(|mut session| session.append_name(&name))
                .map(drop)
                .map_err(|error| error.to_string());
            Reply::Renamed(path, name, result)
        }
        Request::Search(query) => Reply::Found { query, found: HashSet::new() },
    }
}

/// Deletes a session, unless another process has it open. The file goes to the trash if there is a
/// program for that.
fn delete(session: &SessionInfo, places: &Places) -> Result<(), String> {
    let trash = |path: &Path| {
        let Some(program) = &places.trash else { return std::fs::remove_file(path) };
        let mut command = command(program, None, Variables::Inherited, Rights::User);
        command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status().is_ok_and(|status| status.success()) && !path.exists() {
            return Ok(());
        }
        std::fs::remove_file(path)
    };
    sessions::remove(session, &places.agent, trash).map_err(|error| error.to_string())
}

/// Reads the newest sessions of a directory; the names of the files begin with their time.
fn newest(directory: &Path) -> Vec<SessionInfo> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort_unstable_by(|a, b| b.cmp(a));
    let mut sessions: Vec<SessionInfo> =
        files.iter().take(FIRST).filter_map(|file| SessionInfo::read(file).ok()).collect();
    sessions.sort_by_key(|session| std::cmp::Reverse(session.modified));
    sessions
}
