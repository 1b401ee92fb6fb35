//! Directories, names and lookup of session files.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pi_fs::if_exists;
use pi_protocol::SessionHeader;
use pi_protocol::json::from_str_repairing;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{SessionError, directory_from_text};

/// Number of bytes of a file in which a header is searched.
const HEADER_LIMIT: usize = 1024 * 1024;
/// Number of bytes that are read at a time to find a header.
const HEADER_CHUNK: usize = 4096;

/// Returns the directory for sessions that run in `cwd`, an absolute path.
pub fn session_directory(agent_directory: &Path, cwd: &Path) -> PathBuf {
    let cwd = cwd.to_string_lossy();
    let relative = cwd.strip_prefix(['/', '\\']).unwrap_or(&cwd);
    let name = relative.replace(['/', '\\', ':'], "-");
    agent_directory.join("sessions").join(format!("--{name}--"))
}

/// Returns the file name of a session.
pub(crate) fn file_name(header: &SessionHeader) -> String {
    let time = header.timestamp.replace([':', '.'], "-");
    format!("{time}_{}.jsonl", header.id)
}

/// Rejects ids that cannot be part of file names.
pub(crate) fn check_session_id(id: String) -> Result<String, SessionError> {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if edge(id.chars().next()) && edge(id.chars().next_back()) && id.chars().all(inner) {
        Ok(id)
    } else {
        Err(SessionError::InvalidId(id))
    }
}

/// Returns a new entry id: eight characters, or a whole UUID if those keep colliding.
pub(crate) fn new_entry_id(taken: impl Fn(&str) -> bool) -> String {
    let random = || uuid::Uuid::new_v4().to_string();
    (0..100).map(|_| random()[..8].to_owned()).find(|id| !taken(id)).unwrap_or_else(random)
}

/// Reads a line as a header. `None` if the line is not JSON, so that the next line decides;
/// `Some(None)` if it is not a header.
pub(crate) fn parse_header(line: &[u8]) -> Option<Option<SessionHeader>> {
    // Invalid UTF-8 is replaced, as everywhere else: a line that is an entry after a migration
    // must not be overlooked before it.
    let text = String::from_utf8_lossy(line);
    serde_json::from_str::<IgnoredAny>(&text).ok()?;
    let value: Value = from_str_repairing(&text).ok().filter(|value| *value != Value::Null)?;
    let is_header = value.get("type").and_then(Value::as_str) == Some("session");
    Some(is_header.then(|| lenient_header(value)).flatten())
}

/// Reads a header in which only the id has to be valid.
fn lenient_header(value: Value) -> Option<SessionHeader> {
    let Value::Object(mut fields) = value else { return None };
    fields.get("id")?.as_str()?;
    let version = version_of(fields.get("version"));
    fields.insert("version".to_owned(), version.into());
    let wrong = |name: &str, value: &Value| match name {
        "timestamp" | "cwd" | "parentSession" => !value.is_string(),
        _ => false,
    };
    fields.retain(|name, value| !wrong(name, value));
    serde_json::from_value(Value::Object(fields)).ok()
}

/// Returns the version that a header names; 1 without one. A version that is not a number counts as
/// current, so that no file is migrated by mistake.
pub(crate) fn version_of(version: Option<&Value>) -> u64 {
    let number = match version {
        None | Some(Value::Null) => Some(1.0),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(other) => other.as_f64(),
    };
    // The cast rounds down and stays in range.
    number.map_or(SessionHeader::VERSION, |number| number as u64)
}

/// Reads the header of a session file, and no more of it than needed.
pub fn read_header(path: &Path) -> Option<SessionHeader> {
    let mut file = File::open(path).ok()?;
    let mut bytes = Vec::new();
    let mut looked_at = 0;
    while bytes.len() < HEADER_LIMIT {
        let read = file.by_ref().take(HEADER_CHUNK as u64).read_to_end(&mut bytes).ok()?;
        while let Some(end) = memchr::memchr(b'\n', &bytes[looked_at..]) {
            if let Some(first) = parse_header(&bytes[looked_at..looked_at + end]) {
                return first;
            }
            looked_at += end + 1;
        }
        if read == 0 {
            return parse_header(&bytes[looked_at..]).flatten();
        }
    }
    None
}

/// Returns the session files in a directory, in no particular order; none if the directory does not
/// exist.
pub fn session_files(directory: &Path) -> Result<Vec<PathBuf>, SessionError> {
    let entries = if_exists(std::fs::read_dir(directory));
    let entries = entries.map_err(SessionError::io("list", directory))?.into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect())
}

/// Returns the session file that was written last. With `cwd`, only sessions that run there count.
pub fn most_recent(directory: &Path, cwd: Option<&Path>) -> Result<Option<PathBuf>, SessionError> {
    let mut files: Vec<(SystemTime, PathBuf)> = session_files(directory)?
        .into_iter()
        .filter_map(|path| Some((std::fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    files.sort_unstable_by(|a, b| b.cmp(a));
    Ok(files.into_iter().map(|(_, path)| path).find(|path| {
        read_header(path)
            .is_some_and(|header| cwd.is_none_or(|cwd| directory_from_text(&header.cwd) == cwd))
    }))
}

/// Returns the files that are newer than the session of [`most_recent`] and cannot be read, because
/// their first line is damaged or missing.
pub fn newer_unreadable(directory: &Path, latest: Option<&Path>) -> Vec<PathBuf> {
    let modified = |path: &Path| std::fs::metadata(path).ok()?.modified().ok();
    let newest = latest.and_then(modified);
    let files = session_files(directory).unwrap_or_default().into_iter();
    let newer = files.filter(|path| {
        Some(path.as_path()) != latest && newest.is_none_or(|newest| modified(path) >= Some(newest))
    });
    newer.filter(|path| read_header(path).is_none()).collect()
}

/// Returns the session file with exactly this id.
pub fn find_by_id(directory: &Path, id: &str) -> Result<Option<PathBuf>, SessionError> {
    let mut files = session_files(directory)?;
    // The id is in the name, unless the file was renamed: try those first.
    files.sort_by_key(|path| !path.to_string_lossy().contains(id));
    Ok(files.into_iter().find(|path| read_header(path).is_some_and(|header| header.id == id)))
}
