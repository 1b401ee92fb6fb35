//! Files of the working directory of a session, for reading: one file, and names for completions.
//!
//! A path of a request reaches only what the guard of the session lets its agent read, below the
//! working directory, without links that lead out of it. Secrets are redacted.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use pi_coding_agent::AgentSession;
use pi_guard::Decision;
use pi_guard::policy::PathAccess;
use pi_web::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::sessions::joined;
use super::{Answer, ApiError, Call, json};

/// The largest file that is shown.
const LARGEST: u64 = 2 << 20;

/// Most names of a completion.
const NAMES: usize = 50;

/// The longest time that a completion looks for names.
const PATIENCE: Duration = Duration::from_millis(500);

/// A text file of a working directory.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileText {
    /// Path below the working directory.
    pub path: String,
    /// The text, without secrets.
    pub text: String,
    /// Size of the file in bytes.
    pub size: u64,
}

/// Names of files for a completion.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileNames {
    /// Paths below the working directory.
    pub files: Vec<String>,
}

/// Directories in which sessions can be started.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DirectoryList {
    /// Directories of the server, and those below them that have sessions.
    pub directories: Vec<String>,
}

/// Answers with a file.
pub(crate) async fn file(call: Call) -> Answer {
    let Some(path) = call.query("path") else {
        return Err(ApiError::bad_request("invalid_query", "\"path\" is missing"));
    };
    let session = live(&call)?;
    let reading = tokio::task::spawn_blocking(move || read(&session, &path));
    json(StatusCode::OK, &joined(reading.await)??)
}

fn live(call: &Call) -> Result<AgentSession, ApiError> {
    let id = call.param(0)?;
    match call.state.live(id) {
        Some((_, session)) => Ok(session),
        None => {
            let message = "files are shown for sessions that are open in this server";
            Err(ApiError::new(StatusCode::CONFLICT, "not_open", message))
        }
    }
}

fn read(session: &AgentSession, path: &str) -> Result<FileText, ApiError> {
    // The same answer for everything that is not shown: no client learns what exists.
    let hidden = || {
        let message = format!("there is no file {path:?} that can be shown");
        ApiError::new(StatusCode::NOT_FOUND, "no_file", message)
    };
    let relative = Path::new(path);
    let is_below = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if path.is_empty() || !is_below || path.contains('\0') {
        return Err(hidden());
    }
    let Some(guard) = session.guard() else { return Err(hidden()) };
    let root = session.workspace().cwd().canonicalize().map_err(|_| hidden())?;
    let real = root.join(relative).canonicalize().map_err(|_| hidden())?;
    if !real.starts_with(&root) {
        return Err(hidden());
    }
    let judgment = guard.judge_path(&real, PathAccess::Read);
    if judgment.verdict.decision != Decision::Allow {
        return Err(hidden());
    }
    let mut options = std::fs::OpenOptions::new();
    let file = pi_fs::open_regular_no_follow(options.read(true), &real).map_err(|_| hidden())?;
    let size = file.metadata().map_err(|_| hidden())?.len();
    if size > LARGEST {
        let message = format!("{path:?} has {size} bytes; the limit is {LARGEST}");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(|_| hidden())?;
    let Ok(text) = String::from_utf8(bytes) else {
        let message = format!("{path:?} is not text");
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_text", message));
    };
    let text = session.secrets().redact(&text).into_owned();
    Ok(FileText { path: path.to_owned(), text, size })
}

/// Lists names of files for a completion.
pub(crate) async fn names(call: Call) -> Answer {
    let words = call.query("q").unwrap_or_default().to_lowercase();
    let session = live(&call)?;
    let root = session.workspace().cwd().to_owned();
    let finding = tokio::task::spawn_blocking(move || find(&root, &words));
    json(StatusCode::OK, &FileNames { files: joined(finding.await)? })
}

/// Finds files whose path has the letters in this order. Ignored and hidden files are left out.
fn find(root: &Path, words: &str) -> Vec<String> {
    let start = Instant::now();
    let walk = ignore::WalkBuilder::new(root).follow_links(false).build();
    let mut found: Vec<(usize, String)> = Vec::new();
    for entry in walk.take_while(|_| start.elapsed() < PATIENCE).filter_map(Result::ok) {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Some(path) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else {
            continue;
        };
        let lower = path.to_lowercase();
        let rank = match lower.find(words) {
            Some(_) if lower.rsplit('/').next().is_some_and(|name| name.starts_with(words)) => 0,
            Some(_) => 1,
            None if has_letters(&lower, words) => 2,
            None => continue,
        };
        found.push((rank, path.to_owned()));
    }
    found.sort_by(|(rank, path), (other_rank, other)| {
        (rank, path.len(), path).cmp(&(other_rank, other.len(), other))
    });
    found.into_iter().take(NAMES).map(|(_, path)| path).collect()
}

fn has_letters(text: &str, letters: &str) -> bool {
    let mut rest = text.chars();
    letters.chars().all(|letter| rest.any(|char| char == letter))
}

/// Lists the directories in which sessions can be started: those of the server, and those of stored
/// sessions below them.
pub(crate) async fn directories(call: Call) -> Answer {
    let options = &call.state.options;
    let mut found: Vec<PathBuf> = options.directories.roots().to_vec();
    for info in call.state.host.stored(None).await? {
        let path = PathBuf::from(&info.cwd);
        if !info.cwd.is_empty() && !found.contains(&path) && options.directories.allows(&path) {
            found.push(path);
        }
    }
    let directories = found.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    json(StatusCode::OK, &DirectoryList { directories })
}
