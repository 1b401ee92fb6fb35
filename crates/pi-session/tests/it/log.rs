//! Session files: writing, reading, and failures of both.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use pi_protocol::{AssistantBlock, AssistantMessage, Message, StopReason};
use pi_session::{ForkPosition, NewSession, OpenOptions, Session, SessionError};
use tempfile::TempDir;

fn new_in(directory: &TempDir) -> Session {
    let new = NewSession::new("/proj").directory(directory.path().join("sessions"));
    Session::create(new).unwrap()
}

pub(crate) fn answer(text: &str) -> Message {
    Message::Assistant(
        AssistantMessage {
            content: vec![AssistantBlock::text(text)],
            provider: "p".to_owned(),
            model: "m".to_owned(),
            stop_reason: StopReason::Stop,
            ..AssistantMessage::default()
        }
        .into(),
    )
}

#[test]
fn the_first_user_message_creates_the_file_and_appends_add_lines() {
    let directory = TempDir::new().unwrap();
    let mut session = new_in(&directory);
    session.append_model("p", "m").unwrap();
    session.append_message(Message::system("be brief")).unwrap();
    let path = session.path().unwrap().to_owned();
    assert!(!path.exists() && !session.is_saved());
    session.append_message(Message::user("hello")).unwrap();
    assert!(session.is_saved());
    let before = fs::read(&path).unwrap();
    assert_eq!(before.split(|byte| *byte == b'\n').count(), 5);
    session.append_message(answer("hi")).unwrap();
    let after = fs::read(&path).unwrap();
    assert!(after.starts_with(&before) && after.ends_with(b"\n"));
    let expected = session.context().unwrap();
    drop(session);
    let mut again = Session::open(&path, &OpenOptions::append()).unwrap();
    assert_eq!(again.context().unwrap(), expected);
    assert_eq!(again.len(), 4);
    assert!(again.damaged_lines().is_empty());
}

#[test]
fn a_second_writer_fails_and_readers_do_not() {
    let directory = TempDir::new().unwrap();
    let mut session = new_in(&directory);
    session.append_message(Message::user("hello")).unwrap();
    let path = session.path().unwrap().to_owned();
    let second = Session::open(&path, &OpenOptions::append());
    assert!(matches!(second, Err(SessionError::Locked(_))), "{second:?}");
    let mut reader = Session::open(&path, &OpenOptions::read()).unwrap();
    assert_eq!(reader.context().unwrap().messages.len(), 1);
    let refused = reader.append_message(Message::user("no"));
    assert!(matches!(refused, Err(SessionError::ReadOnly(_))), "{refused:?}");
    assert_eq!(reader.len(), 1);
    session.append_message(Message::user("here")).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), 2);
}

/// Creates a session with one message, and returns its file.
fn saved_in(directory: &TempDir) -> (Session, PathBuf) {
    let mut session = new_in(directory);
    session.append_message(Message::user("first")).unwrap();
    let path = session.path().unwrap().to_owned();
    (session, path)
}

fn custom_line(id: &str, parent: Option<&str>) -> String {
    let line = serde_json::json!({
        "type": "custom", "customType": "other", "id": id, "parentId": parent,
        "timestamp": "2026-01-02T03:04:05.006Z",
    });
    format!("{line}\n")
}

fn append_raw(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_file_that_cannot_be_created_leaves_the_session_in_memory_until_a_retry() {
    let directory = TempDir::new().unwrap();
    // A file in place of the directory: not even root can create a file in it.
    let obstacle = directory.path().join("sessions");
    fs::write(&obstacle, "in the way").unwrap();
    let mut session = new_in(&directory);
    session.append_model("p", "m").unwrap();
    let before = session.leaf_id().map(str::to_owned);
    for _ in 0..2 {
        let failed = session.append_message(Message::user("hello"));
        assert!(matches!(failed, Err(SessionError::Io { .. })), "{failed:?}");
        assert_eq!((session.len(), session.leaf_id()), (1, before.as_deref()));
        assert!(session.context().unwrap().messages.is_empty() && !session.is_saved());
    }
    fs::remove_file(&obstacle).unwrap();
    session.append_message(Message::user("hello")).unwrap();
    let path = session.path().unwrap().to_owned();
    drop(session);
    assert_eq!(Session::open(path, &OpenOptions::read()).unwrap().len(), 2);
}

#[test]
fn a_file_created_by_another_program_is_not_overwritten() {
    let directory = TempDir::new().unwrap();
    let mut session = new_in(&directory);
    let path = session.path().unwrap().to_owned();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "foreign content").unwrap();
    let failed = session.append_message(Message::user("hello"));
    assert!(matches!(failed, Err(SessionError::Io { .. })), "{failed:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "foreign content");
    assert!(session.is_empty());
}

#[test]
fn appending_to_a_deleted_or_replaced_file_fails_and_changes_nothing() {
    type Fault = fn(&Path);
    let faults: [(&str, Fault); 4] = [
        ("deleted", |path| fs::remove_file(path).unwrap()),
        ("moved", |path| fs::rename(path, path.with_extension("old")).unwrap()),
        ("replaced", |path| {
            let other = path.with_extension("new");
            fs::copy(path, &other).unwrap();
            fs::rename(other, path).unwrap();
        }),
        ("cut short", |path| {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10).unwrap();
        }),
    ];
    for (what, fault) in faults {
        let directory = TempDir::new().unwrap();
        let (mut session, path) = saved_in(&directory);
        let leaf = session.leaf_id().map(str::to_owned);
        fault(&path);
        let after = fs::read(&path).ok();
        let failed = session.append_message(Message::user("second"));
        assert!(matches!(failed, Err(SessionError::Replaced(_))), "{what}: {failed:?}");
        assert_eq!((session.len(), session.leaf_id()), (1, leaf.as_deref()), "{what}");
        assert_eq!(fs::read(&path).ok(), after, "{what}");
    }
}

#[test]
fn lines_appended_by_another_program_become_another_branch() {
    // The appended text, and the number of valid entries in it.
    let cases = [
        (custom_line("other1", None), 1),
        (custom_line("other1", None) + &custom_line("other2", Some("other1")), 2),
        (custom_line("other1", None).trim_end().to_owned(), 1),
        ("{\"type\":\"custom\",\"id\":\"torn\",\"par".to_owned(), 0),
        (custom_line("other1", None) + "{\"type\":\"cus", 1),
        ("\n\n".to_owned(), 0),
        ("not JSON\n".to_owned(), 0),
    ];
    for (text, readable) in cases {
        let directory = TempDir::new().unwrap();
        let (mut session, path) = saved_in(&directory);
        let first = session.leaf_id().unwrap().to_owned();
        append_raw(&path, &text);
        let second = session.append_message(Message::user("second")).unwrap();
        assert_eq!(session.parent_id(&second), Some(&*first), "{text:?}");
        assert_eq!(session.context().unwrap().messages.len(), 2, "{text:?}");
        assert_eq!(session.entries().count(), 2 + readable, "{text:?}");
        drop(session);
        let file = fs::read_to_string(&path).unwrap();
        assert!(file.contains(&text) && file.ends_with('\n'), "{text:?}");
        let mut again = Session::open(&path, &OpenOptions::append()).unwrap();
        assert_eq!(again.leaf_id(), Some(&*second), "{text:?}");
        assert_eq!(again.context().unwrap().messages.len(), 2, "{text:?}");
        again.verify().unwrap();
        assert_eq!(again.entries().count(), 2 + readable, "{text:?}");
    }
}

#[test]
fn an_append_after_a_torn_line_begins_on_a_new_line() {
    let whole = custom_line("whole", None);
    for (end, kept) in
        [("{\"type\":\"mess", false), (whole.trim_end(), true), ("\u{0}\u{0}", false)]
    {
        let directory = TempDir::new().unwrap();
        let (session, path) = saved_in(&directory);
        drop(session);
        append_raw(&path, end);
        let before = fs::read(&path).unwrap();
        // Reading does not change the file.
        drop(Session::open(&path, &OpenOptions::read()).unwrap());
        assert_eq!(fs::read(&path).unwrap(), before);
        let mut session = Session::open(&path, &OpenOptions::append()).unwrap();
        assert_eq!(session.contains("whole"), kept, "{end:?}");
        session.append_message(Message::user("second")).unwrap();
        let after = fs::read(&path).unwrap();
        assert!(after.starts_with(&before) && after[before.len()] == b'\n', "{end:?}");
        assert_eq!(session.len(), 2 + usize::from(kept), "{end:?}");
    }
}

#[test]
fn the_lock_ends_with_the_session() {
    let directory = TempDir::new().unwrap();
    let (session, path) = saved_in(&directory);
    assert!(matches!(Session::open(&path, &OpenOptions::append()), Err(SessionError::Locked(_))));
    drop(session);
    let mut next = Session::open(&path, &OpenOptions::append()).unwrap();
    next.append_message(Message::user("second")).unwrap();
    assert!(matches!(Session::open(&path, &OpenOptions::append()), Err(SessionError::Locked(_))));
}

#[test]
fn missing_directories_are_created_and_a_reopened_session_appends() {
    let directory = TempDir::new().unwrap();
    let new = NewSession::new("/proj").directory(directory.path().join("deep").join("sessions"));
    let mut session = Session::create(new).unwrap();
    session.append_message(Message::user("first")).unwrap();
    session.append_message(answer("second")).unwrap();
    let path = session.path().unwrap().to_owned();
    drop(session);
    let mut session = Session::open(&path, &OpenOptions::append()).unwrap();
    session.append_message(Message::user("third")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
}

#[test]
fn an_empty_file_becomes_a_session_and_a_foreign_file_stays_unchanged() {
    let directory = TempDir::new().unwrap();
    let empty = directory.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    let options = OpenOptions::append().cwd("/here");
    let session = Session::open(&empty, &options).unwrap();
    assert!(
        fs::read_to_string(&empty).unwrap().starts_with("{\"type\":\"session\",\"version\":3,")
    );
    assert_eq!(session.cwd(), Path::new("/here"));
    let header_later = b"{\"type\":\"\xc0\"}\n{\"type\":\"session\",\"id\":\"x\"}\n";
    let contents: [&[u8]; 5] =
        [b"text\n", b"{}\n", b"\n", b"{\"type\":\"message\",\"id\":\"a\"}\n", header_later];
    for content in contents {
        let foreign = directory.path().join("foreign.jsonl");
        fs::write(&foreign, content).unwrap();
        for options in [OpenOptions::read(), OpenOptions::append()] {
            let opened = Session::open(&foreign, &options);
            assert!(matches!(opened, Err(SessionError::NotASession(_))), "{content:?}: {opened:?}");
        }
        assert_eq!(fs::read(&foreign).unwrap(), content);
    }
    // An unpaired surrogate in the header does not prevent opening the session.
    let odd = directory.path().join("odd.jsonl");
    fs::write(&odd, "{\"type\":\"session\",\"version\":3,\"id\":\"x\",\"cwd\":\"/\\ud83d\"}\n")
        .unwrap();
    assert_eq!(Session::open(&odd, &OpenOptions::append()).unwrap().cwd(), Path::new("/"));
}

#[test]
fn a_file_of_a_newer_version_can_be_read_but_not_appended_to() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("new.jsonl");
    let line = custom_line("a", None);
    let content = format!("{{\"type\":\"session\",\"version\":4,\"id\":\"x\"}}\n{line}");
    fs::write(&path, &content).unwrap();
    assert_eq!(Session::open(&path, &OpenOptions::read()).unwrap().len(), 1);
    let refused = Session::open(&path, &OpenOptions::append());
    assert!(matches!(refused, Err(SessionError::TooNew { version: 4, .. })), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), content);
}

#[test]
fn an_entry_too_deep_to_parse_still_links_its_neighbors() {
    let directory = TempDir::new().unwrap();
    let (mut session, path) = saved_in(&directory);
    let first = session.leaf_id().unwrap().to_owned();
    drop(session);
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    append_raw(
        &path,
        &custom_line("deep", Some(&first))
            .replace("\"other\"", &format!("\"other\",\"data\":{deep}")),
    );
    append_raw(&path, &custom_line("after", Some("deep")));
    session = Session::open(&path, &OpenOptions::append()).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), 1);
    assert_eq!(session.branch_ids(None).unwrap()[0], first);
    assert!(matches!(session.entry("deep"), Err(SessionError::Damaged { .. })));
    let fork = session.clone_branch().unwrap();
    assert!(fs::read_to_string(fork.path().unwrap()).unwrap().contains(&deep));
}

#[test]
fn damaged_entries_are_skipped_by_every_reader() {
    let directory = TempDir::new().unwrap();
    let (session, path) = saved_in(&directory);
    let first = session.leaf_id().unwrap().to_owned();
    drop(session);
    // The beginning and the end of the lines are valid.
    let hole = format!(
        "{{\"type\":\"message\",\"id\":\"hole\",\"parentId\":\"{first}\",\"timestamp\":\"2026-01-02T03:04:05.006Z\",\"message\":{{\"role\":\"user\",\"content\":\"\0\0\0\",\"timestamp\":1}}}}\n"
    );
    append_raw(&path, &hole);
    let broken = "{\"type\":\"custom\",\"id\":\"bad\",\"parentId\":\"FIRST\",\"timestamp\":\"2026-01-02T03:04:05.006Z\",\"data\":[}";
    append_raw(
        &path,
        &format!("{}\n{}", broken.replace("FIRST", "hole"), custom_line("after", Some("bad"))),
    );
    let open = || Session::open(&path, &OpenOptions::read()).unwrap();
    let ids = |mut session: Session| -> Vec<String> {
        session.projection().unwrap().into_iter().map(|projected| projected.entry.id).collect()
    };
    assert_eq!(ids(open()), [first.as_str(), "after"]);
    assert_eq!(open().context().unwrap().messages.len(), 1);
    assert_eq!(open().tree().unwrap().nodes().count(), 2);
    assert_eq!(open().stats().unwrap().total_messages, 1);
    assert_eq!(open().verify().unwrap().len(), 2);
}

#[test]
fn two_joined_lines_have_the_id_of_the_first() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("joined.jsonl");
    let line = "{\"type\":\"custom\",\"id\":\"one\",\"parentId\":null,\"timestamp\":\"\",\"x\":1,\"id\":\"two\",\"parentId\":\"gone\",\"customType\":\"c\"}";
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"x\"}";
    fs::write(&path, format!("{header}\n{line}\n{}", custom_line("after", Some("one")))).unwrap();
    let session = Session::open(&path, &OpenOptions::read()).unwrap();
    let ids: Vec<String> = session.entries().map(|entry| entry.unwrap().id).collect();
    assert_eq!(ids, ["one", "after"]);
    assert_eq!(session.branch_ids(None).unwrap(), ["one", "after"]);
    assert_eq!(session.entry("one").unwrap().parent_id, None);
}

#[test]
fn a_branch_of_a_hundred_thousand_entries_is_supported() {
    const DEPTH: usize = 100_000;
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("deep.jsonl");
    let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"deep\"}\n");
    let id = |number: usize| format!("{number:08x}");
    for number in 0..DEPTH {
        let parent = number.checked_sub(1).map_or("null".to_owned(), |n| format!("\"{}\"", id(n)));
        text.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"{}\",\"parentId\":{parent},\"timestamp\":\"2026-01-02T03:04:05.006Z\",\"message\":{{\"role\":\"user\",\"content\":\"x\",\"timestamp\":1}}}}\n",
            id(number)
        ));
    }
    fs::write(&path, text).unwrap();
    let mut session = Session::open(&path, &OpenOptions::append()).unwrap();
    assert_eq!(session.branch_ids(None).unwrap().len(), DEPTH);
    assert_eq!(session.context().unwrap().messages.len(), DEPTH);
    assert_eq!(session.tree().unwrap().nodes().last().unwrap().depth, DEPTH - 1);
    session.tree().unwrap().write_json(&mut std::io::sink()).unwrap();
    let fork = session.fork(&id(DEPTH / 2), ForkPosition::At).unwrap().session;
    assert_eq!(fork.len(), DEPTH / 2 + 1);
    session.branch(&id(0)).unwrap();
    assert_eq!(session.abandoned_entries(Some(&id(0))).unwrap().len(), 0);
    session.append_message(Message::user("a branch at the root")).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), 2);
    drop(fork);
    drop(session);
}

#[test]
fn concurrent_appends_of_two_programs_are_all_kept() {
    let directory = TempDir::new().unwrap();
    let (mut session, path) = saved_in(&directory);
    let other = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let writer = std::thread::spawn(move || {
        for number in 0..2000 {
            let line = custom_line(&format!("other{number}"), None);
            std::io::Write::write_all(&mut &other, line.as_bytes()).unwrap();
        }
    });
    let mut ours = Vec::new();
    while !writer.is_finished() || ours.len() < 100 {
        let text = format!("number {}", ours.len());
        ours.push((session.append_message(Message::user(text.clone())).unwrap(), text));
    }
    writer.join().unwrap();
    assert_eq!(session.context().unwrap().messages.len(), ours.len() + 1);
    drop(session);
    let again = Session::open(&path, &OpenOptions::read()).unwrap();
    assert_eq!((again.len(), again.damaged_lines()), (1 + 2000 + ours.len(), &[][..]));
    for (id, text) in ours {
        assert!(again.raw_entry(&id).unwrap().contains(&format!("\"{text}\"")), "{id}");
    }
}

#[test]
fn a_follower_reads_whole_lines_as_they_are_appended() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("s.jsonl");
    let entry = |number: u32| {
        format!(
            r#"{{"type":"custom","id":"e{number}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"t","data":{number}}}"#
        )
    };
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;
    let whole: String = std::iter::once(header.to_owned())
        .chain((0..40).map(entry))
        .map(|line| line + "\n")
        .collect();
    let whole = whole.into_bytes();
    // At any moment, the file ends anywhere.
    std::fs::write(&path, &whole[..header.len() + 1]).unwrap();
    let mut session = Session::open(&path, &OpenOptions::follow()).unwrap();
    let mut read = Vec::new();
    let mut at = header.len() + 1;
    for step in (1..90).cycle() {
        let end = whole.len().min(at + step);
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, &whole[at..end]).unwrap();
        at = end;
        let before = read.len();
        let has_grown = session.refresh().unwrap();
        for line in session.raw_entries(before..usize::MAX) {
            let (position, line) = line.unwrap();
            assert_eq!(position, read.len());
            read.push(line);
        }
        assert_eq!(has_grown, read.len() > before);
        // A second program that begins here sees the same.
        let late = Session::open(&path, &OpenOptions::follow()).unwrap();
        assert_eq!(late.len(), read.len());
        if at == whole.len() {
            break;
        }
    }
    assert_eq!(read, (0..40).map(entry).collect::<Vec<_>>());
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, &whole).unwrap();
    assert!(matches!(session.refresh(), Err(SessionError::Replaced(_))));
}
