//! Written files equal those of the TypeScript pi byte for byte, except for ids and times.
//!
//! `fixtures/written` holds a script with every kind of step, and the file that pi 1.5.0 wrote for
//! it.

use std::fs;
use std::path::Path;

use pi_protocol::Message;
use pi_session::{NewSession, Session, session_directory};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::script::perform;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/written");

#[test]
fn every_kind_of_entry_is_written_as_by_the_typescript_pi() {
    let fixture = |name: &str| fs::read_to_string(Path::new(FIXTURES).join(name)).unwrap();
    let script: Vec<Value> =
        fixture("script.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let directory = TempDir::new().unwrap();
    let mut session = new_in(directory.path());
    assert_eq!(perform(&mut session, &script).failed, [0_usize; 0]);
    let ours = masked(&fs::read_to_string(session.path().unwrap()).unwrap());
    let theirs = masked(&fixture("pi-1.5.0.jsonl"));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn files_are_named_after_their_time_and_id() {
    let directory = TempDir::new().unwrap();
    let mut session = new_in(directory.path());
    session.append_message(Message::user("hello")).unwrap();
    let header = session.header();
    let time = header.timestamp.replace([':', '.'], "-");
    assert_eq!(time.len(), "2026-11-15T06-50-19-065Z".len(), "{time}");
    let name = session.path().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(name, format!("{time}_{}.jsonl", header.id));
    // A UUID of version 7.
    assert_eq!((header.id.len(), &header.id[14..15]), (36, "7"), "{}", header.id);
    let fork = session.clone_branch().unwrap();
    assert_eq!(fork.header().parent_session.as_deref(), session.path().unwrap().to_str());
    assert_eq!(fork.path().unwrap().parent(), session.path().unwrap().parent());
    assert_ne!(fork.id(), session.id());
}

#[cfg(unix)]
#[test]
fn new_files_and_directories_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new().unwrap();
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let new = NewSession::new("/proj").directory(directory.path().join("a/b"));
    let mut session = Session::create(new).unwrap();
    session.append_message(Message::user("hello")).unwrap();
    let file = session.path().unwrap();
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
    assert_eq!(mode(directory.path()), 0o755, "existing directories keep their mode");
    let fork = session.clone_branch().unwrap();
    assert_eq!(mode(fork.path().unwrap()), 0o600);
    // So do existing files.
    let file = file.to_owned();
    drop(session);
    fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let mut session = Session::open(&file, &pi_session::OpenOptions::append()).unwrap();
    session.append_message(Message::user("again")).unwrap();
    assert_eq!(mode(&file), 0o644);
}

#[test]
fn directories_are_named_after_the_working_directory() {
    // Recorded from pi 1.5.0.
    for (cwd, name) in
        [("/tmp/proj x", "--tmp-proj x--"), ("/", "----"), ("/a:b/c\\d", "--a-b-c-d--")]
    {
        let directory = session_directory(Path::new("/agent"), Path::new(cwd));
        assert_eq!(directory, Path::new("/agent/sessions").join(name), "{cwd}");
    }
}

#[test]
fn entry_ids_are_short_and_unique() {
    let mut session = Session::in_memory("/proj");
    let mut ids = std::collections::HashSet::new();
    for _ in 0..20_000 {
        let id = session.append_custom("t", None).unwrap();
        assert!(id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        assert!(ids.insert(id));
    }
}

#[test]
fn custom_entries_are_those_of_a_type_on_the_branch() {
    let mut session = Session::in_memory("/proj");
    let first = session.append_custom("kept", Some(json!(1))).unwrap();
    session.append_custom("other", Some(json!(2))).unwrap();
    session.append_custom("kept", Some(json!(3))).unwrap();
    session.append_custom("kept", None).unwrap();
    let read = |session: &Session| -> Vec<Value> {
        session.custom_entries("kept").map(Result::unwrap).collect()
    };
    assert_eq!(read(&session), [json!(1), json!(3)]);
    session.branch(&first).unwrap();
    assert_eq!(read(&session), [json!(1)]);
}

fn new_in(directory: &Path) -> Session {
    Session::create(NewSession::new("/proj").directory(directory)).unwrap()
}

/// Returns the lines of a file, with ids numbered and times removed.
fn masked(text: &str) -> Vec<String> {
    let mut text = text.to_owned();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (number, line) in lines.iter().enumerate() {
        text = text.replace(line["id"].as_str().unwrap(), &format!("#{number}"));
        text = text.replace(line["timestamp"].as_str().unwrap(), "T");
        if let Some(time) = line["systemMessage"]["timestamp"].as_u64() {
            text = text.replace(&time.to_string(), "0");
        }
    }
    text.lines().map(str::to_owned).collect()
}
