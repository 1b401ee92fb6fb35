//! The text of a transcript: the command line, the streams, the exit code, the requests that reached
//! the model, and the sessions on disk.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::client::Observed;
use super::normal::Normalizer;
use crate::bad_input::ServerEnv;
use crate::converge::runs;

/// Returns the transcript of a run.
pub(super) fn transcript(env: &ServerEnv, arguments: &[&str], observed: &Observed) -> String {
    let mut normal = Normalizer::new(env);
    let mut out = String::new();
    for argument in std::iter::once(&"pi").chain(arguments) {
        let is_plain = argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        let quoted = if is_plain { (*argument).to_owned() } else { format!("{argument:?}") };
        let _ = write!(out, "{} ", normal.text(&quoted));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    let stdin: String = observed.stdin.iter().map(|line| format!("{line}\n")).collect();
    for (name, text) in
        [("stdin", &stdin), ("stdout", &observed.stdout), ("stderr", &observed.stderr)]
    {
        section(&mut out, name, &normal.text(text));
    }
    let exit = observed.exit.map_or("none: ended by a signal".to_owned(), |code| code.to_string());
    let _ = writeln!(out, "--- exit {exit}");
    let requests: String = env.server.requests().iter().map(request).collect();
    section(&mut out, "requests", &normal.text(&requests));
    let mut files = sessions(&env.agent().join("sessions"));
    for run in runs(env) {
        files.extend(sessions(&run.join("sessions")));
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let entries: String = text.lines().map(|line| entry(line) + "\n").collect();
        section(&mut out, "session", &normal.text(&entries));
    }
    out
}

/// Adds a section; an empty one is left out. Control characters are escaped, and a missing line feed
/// at the end is marked.
fn section(out: &mut String, name: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    let _ = writeln!(out, "--- {name}");
    for character in text.chars() {
        match character {
            '\n' => out.push('\n'),
            _ if character.is_control() => out.extend(character.escape_default()),
            _ => out.push(character),
        }
    }
    if !text.ends_with('\n') {
        out.push_str("[no line feed]\n");
    }
}

/// Returns the roles of a request, and its last message.
fn request(body: &Value) -> String {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    let last = messages.last().map_or(&Value::Null, |message| &message["content"]);
    format!("{}: {last}\n", roles.join(" "))
}

/// Returns all session files, oldest first.
fn sessions(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sessions(&path));
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    files
}

/// Summarizes an entry of a session: its type, and the role, text and end of a message.
fn entry(line: &str) -> String {
    let Ok(entry) = serde_json::from_str::<Value>(line) else { return format!("not JSON: {line}") };
    let kind = entry["type"].as_str().unwrap_or("?").to_owned();
    let message = &entry["message"];
    if message.is_null() {
        let names = ["customType", "modelId", "thinkingLevel", "name", "summary"];
        let values = names.iter().filter_map(|name| entry[name].as_str());
        return values.fold(kind, |text, value| format!("{text} {value}"));
    }
    let mut text = format!("{kind} {}", message["role"].as_str().unwrap_or("?"));
    for name in ["toolName", "stopReason", "errorMessage"] {
        if let Some(value) = message[name].as_str() {
            let _ = write!(text, " {name}={value:?}");
        }
    }
    if message["isError"] == true {
        text.push_str(" isError");
    }
    let blocks = match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        text => vec![text.clone()],
    };
    for block in &blocks {
        let _ = match block["type"].as_str() {
            Some("text") => write!(text, " {}", block["text"]),
            Some("toolCall") => write!(text, " call {} {}", block["name"], block["arguments"]),
            Some(kind) => write!(text, " [{kind}]"),
            None => write!(text, " {block}"),
        };
    }
    text
}
