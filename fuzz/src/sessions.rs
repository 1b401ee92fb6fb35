//! Session files with arbitrary bytes.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pi_protocol::{Entry, Message, SessionHeader};
use pi_session::{ForkPosition, NewSession, OpenOptions, Session, SessionError, migrate};
use serde_json::value::RawValue;

/// Any file can be read, and appending to it keeps its content and the appended entries.
pub fn session_load(data: &[u8]) {
    let file = directory().join("session.jsonl");
    std::fs::write(&file, data).expect("room for a file");
    let Ok(mut session) = Session::open(&file, &OpenOptions::read()) else { return };
    read_everything(&mut session);
    assert_eq!(std::fs::read(&file).expect("the file"), data, "reading changed the file");
    let entries = session.len();
    drop(session);

    let mut session = match Session::open(&file, &OpenOptions::append()) {
        Ok(session) => session,
        Err(SessionError::TooNew { .. }) => return,
        Err(error) => panic!("can be read but not appended to: {error}"),
    };
    assert!(data.is_empty() || session.len() == entries);
    let opened = std::fs::read(&file).expect("the file");
    let first = session.append_message(Message::user("one")).expect("an append");
    session.append_label(&first, Some("mark")).expect("an append");
    let second = session.append_message(Message::user("two")).expect("an append");
    let appended = std::fs::read(&file).expect("the file");
    assert!(appended.starts_with(&opened), "appending changed earlier bytes");
    assert!(opened.starts_with(data) || is_old(data), "opening lost bytes");
    let expected = session.context().expect("a context");
    read_everything(&mut session);
    drop(session);

    let mut again = Session::open(&file, &OpenOptions::append()).expect("a session again");
    assert_eq!(again.leaf_id(), Some(&*second));
    assert_eq!(again.label(&first), Some("mark"));
    assert_eq!(again.context().expect("a context"), expected);
}

/// Returns true for a file of an old version, which opening for appending rewrites.
fn is_old(data: &[u8]) -> bool {
    migrate(data) != data
}

/// Calls everything that only reads.
fn read_everything(session: &mut Session) {
    let _ = session.context().expect("a context");
    let _ = session.projection().expect("a projection");
    let _ = session.stats().expect("statistics");
    let _ = session.verify().expect("a list of damaged lines");
    let nodes: HashSet<String> =
        session.tree().expect("a tree").nodes().map(|node| node.id.to_owned()).collect();
    let sound: Vec<Entry> = session.entries().filter_map(Result::ok).collect();
    for entry in &sound {
        assert!(nodes.contains(&entry.id), "{} is not in the tree", entry.id);
    }
    let _ = session.tree().expect("a tree").write_json(&mut Vec::new());
    let _ = session.abandoned_entries(None);
    // One entry in the middle suffices, since every fork is written to disk.
    if let Some(entry) = sound.get(sound.len() / 2) {
        let _ = session.context_at(Some(&entry.id));
        let fork = session.fork(&entry.id, ForkPosition::At);
        if let Ok(fork) = fork {
            let path = fork.session.path().map(Path::to_owned);
            drop(fork);
            if let Some(path) = path {
                let _ = std::fs::remove_file(path);
            }
        }
    }
    let copy = Session::fork_from(session, NewSession::default()).expect("a copy in memory");
    assert_eq!(copy.len(), session.entries().count(), "a copy has fewer entries");
}

/// A migrated file has the current version and all its lines, and migration is idempotent.
pub fn session_migrate(data: &[u8]) {
    let migrated = migrate(data);
    assert_eq!(migrate(&migrated), migrated, "migration is not idempotent");
    let before = objects(data);
    let after = objects(&migrated);
    assert_eq!(before.len(), after.len(), "a valid line was lost");
    if migrated == data {
        return;
    }
    let Some(header) = before.iter().find(|line| is_header(line)) else { return };
    let first_version = header.get("version").is_none_or(|version| version.get() == "null");
    let mut previous = "null".to_owned();
    for (old, new) in before.iter().zip(&after) {
        let field = |line: &Line, name: &str| line.get(name).map(|json| json.get().to_owned());
        assert_eq!(field(old, "type"), field(new, "type"));
        if is_header(new) {
            assert_eq!(field(new, "version"), Some(SessionHeader::VERSION.to_string()));
        } else if first_version {
            assert_eq!(field(new, "parentId"), Some(previous), "the chain is broken");
            previous = field(new, "id").expect("an id");
            assert!(previous.starts_with('"'));
        }
    }
}

/// The fields of a line as JSON text.
type Line = BTreeMap<String, Box<RawValue>>;

fn is_header(line: &Line) -> bool {
    let kind = line.get("type").and_then(|kind| serde_json::from_str::<String>(kind.get()).ok());
    kind.as_deref() == Some("session")
}

/// Returns the lines that are objects.
fn objects(content: &[u8]) -> Vec<Line> {
    let text = String::from_utf8_lossy(content);
    text.split('\n').filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns a directory in memory, if the system has one.
fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let directory = parent.join(format!("pi-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        directory
    })
}
