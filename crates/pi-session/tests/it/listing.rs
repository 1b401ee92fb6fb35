//! Comparison of session lists with the TypeScript pi.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_session::{SessionError, SessionInfo};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The time stamp of headers, 2026-01-02T03:04:05.678Z.
const HEADER_TIME: i64 = 1_767_323_045_678;

/// Deliberate differences: the fields of this crate, or `null` if it does not list the file.
fn differences() -> Vec<(&'static str, Value)> {
    // The times of headers, entries and files.
    let (header, entry, file) = (HEADER_TIME, 1_767_326_400_000_i64, 1_700_000_000_250_i64);
    vec![
        // The id of a session is a string. Such a file cannot be opened either.
        ("id-number.jsonl", Value::Null),
        // A date is not a point in time.
        ("time-date-only.jsonl", json!({"created": null, "modified": file})),
        // An invalid date is replaced by the next best time.
        ("time-huge.jsonl", json!({"modified": entry})),
        // Half a surrogate pair is not a character.
        ("surrogate.jsonl", json!({"firstMessage": "lone  end"})),
        // A message that begins as a tool result is not parsed, even if a later field changes its
        // role.
        ("duplicate-fields.jsonl", json!({"modified": header, "firstMessage": "(no messages)"})),
        ("parent-number.jsonl", json!({"parentSessionPath": null})),
        ("long-first.jsonl", json!({"firstMessage": "word ".repeat(60)})),
        // One invalid entry does not hide a session.
        ("name-number.jsonl", session("name-number", 1_767_400_000_000, 1, "x")),
        ("odd-late.jsonl", session("odd-late", 1_767_400_000_001, 3, "ok")),
        ("odd-messages.jsonl", session("odd-messages", entry, 11, "good")),
    ]
}

fn session(id: &str, modified: i64, messages: u64, first: &str) -> Value {
    json!({
        "id": id, "cwd": "/proj/a", "created": HEADER_TIME, "modified": modified,
        "messageCount": messages, "firstMessage": first,
    })
}

/// Copies the fixture, with the times that its files had during the observation.
pub(crate) fn fixture() -> TempDir {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/listing/files");
    let copy = TempDir::new().unwrap();
    copy_files(&source, copy.path());
    copy
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if from.is_dir() {
            copy_files(&from, &to);
            continue;
        }
        fs::copy(&from, &to).unwrap();
        let written = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
        File::options().append(true).open(&to).unwrap().set_modified(written).unwrap();
    }
}

/// Returns the recorded list of the TypeScript pi by file, with times in milliseconds.
pub(crate) fn observed() -> BTreeMap<String, Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/listing/observed.jsonl");
    // Half a surrogate pair is valid JSON for the TypeScript pi and not for serde.
    let text = fs::read_to_string(path).unwrap().replace("\\ud83d ", "\u{fffd} ");
    let mut sessions = BTreeMap::new();
    for line in text.lines() {
        let mut session: Value = serde_json::from_str(line).unwrap();
        for name in ["created", "modified"] {
            let time = session[name]
                .as_str()
                .map(|time| time.parse::<jiff::Timestamp>().unwrap().as_millisecond());
            session[name] = json!(time);
        }
        sessions.insert(session["path"].as_str().unwrap().to_owned(), session);
    }
    sessions
}

fn fields(info: &SessionInfo) -> Value {
    json!({
        "id": info.id, "cwd": info.cwd, "name": info.name,
        "parentSessionPath": info.parent_session, "created": info.created,
        "modified": info.modified, "messageCount": info.message_count,
        "firstMessage": info.first_message,
    })
}

#[test]
fn every_field_equals_that_of_the_typescript_pi_or_is_a_known_difference() {
    let fixture = fixture();
    let mut expected = observed();
    for (file, difference) in differences() {
        let Value::Object(difference) = difference else {
            assert!(expected.remove(file).is_some(), "{file} is no difference");
            continue;
        };
        let session = expected.entry(file.to_owned()).or_insert(json!({}));
        for (name, value) in difference {
            assert_ne!(session[&name], value, "{file}: {name} is no difference");
            session[name] = value;
        }
    }
    let mut files = 0;
    for entry in fs::read_dir(fixture.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() || !name.ends_with(".jsonl") {
            continue;
        }
        files += 1;
        let ours = SessionInfo::read(&path);
        let Some(expected) = expected.get(name) else {
            assert!(matches!(ours, Err(SessionError::NotASession(_))), "{name}: {ours:?}");
            continue;
        };
        let ours = ours.unwrap();
        assert_eq!(ours.path, path);
        assert_eq!(ours.size, fs::metadata(&path).unwrap().len());
        for (field, value) in fields(&ours).as_object().unwrap() {
            assert_eq!(value, expected.get(field).unwrap_or(&Value::Null), "{name}: {field}");
        }
    }
    assert_eq!(files, 62);
    let missing = SessionInfo::read(&PathBuf::from("no such file"));
    assert!(matches!(missing, Err(SessionError::Io { .. })), "{missing:?}");
}
