//! Tests of the rows, the filters and the order of the session selector.

use std::path::PathBuf;

use pi_session::SessionInfo;

use super::age::age;
use super::matching::Query;
use super::sessions::Sessions;

/// Writes a session file and reads its facts.
fn info(dir: &std::path::Path, id: &str, text: &str, cwd: &str, minute: u32) -> SessionInfo {
    let path = dir.join(format!("{id}.jsonl"));
    let time = format!("2026-01-01T00:{minute:02}:00.000Z");
    let lines = [
        serde_json::json!({"type": "session", "version": 3, "id": id, "timestamp": time, "cwd": cwd}),
        serde_json::json!({"type": "message", "id": "a", "parentId": null, "timestamp": time,
            "message": {"role": "user", "content": text, "timestamp": 1_767_225_600_000_i64 + i64::from(minute) * 60_000}}),
    ];
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    SessionInfo::read(&path).unwrap()
}

struct Fixture {
    _directory: tempfile::TempDir,
    sessions: Sessions,
    paths: Vec<PathBuf>,
}

/// Sessions: 0 is a fork of 2, 1 a fork of 0, 3 is in another directory and named.
fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut all = vec![
        info(path, "d", "Write a benchmark", "/work", 40),
        info(path, "c", "Why is it slow?\nThe second line", "/work", 30),
        info(path, "b", "Parse the header", "/work", 20),
        info(path, "a", "Translate the readme", "/other", 10),
    ];
    all[0].parent_session = Some(all[2].path.display().to_string());
    all[1].parent_session = Some(all[0].path.display().to_string());
    all[3].name = Some("Documents".to_owned());
    let paths = all.iter().map(|session| session.path.clone()).collect();
    let mut sessions = Sessions::new("/work".into(), None, "/home".into());
    sessions.set(all, true);
    Fixture { _directory: directory, sessions, paths }
}

fn ids(sessions: &Sessions) -> Vec<String> {
    let row = |at| sessions.row(at).map(|(row, one)| format!("{}{}", row.guides, one.id));
    (0..sessions.len()).filter_map(row).collect()
}

#[test]
fn forks_are_below_their_origin() {
    let Fixture { mut sessions, .. } = fixture();
    assert_eq!(ids(&sessions), ["b", "   └─ d", "      └─ c"]);
    sessions.toggle_scope();
    assert_eq!(ids(&sessions), ["b", "   └─ d", "      └─ c", "a"]);
    sessions.cycle_sort();
    assert_eq!(ids(&sessions), ["d", "c", "b", "a"]);
    sessions.toggle_named();
    assert_eq!(ids(&sessions), ["a"]);
}

#[test]
fn sessions_that_name_each_other_as_parents_are_roots() {
    let directory = tempfile::tempdir().unwrap();
    let mut a = info(directory.path(), "a", "one", "/work", 1);
    let mut b = info(directory.path(), "b", "two", "/work", 2);
    let mut c = info(directory.path(), "c", "three", "/work", 3);
    a.parent_session = Some(b.path.display().to_string());
    b.parent_session = Some(a.path.display().to_string());
    c.parent_session = Some(b.path.display().to_string());
    let mut sessions = Sessions::new("/work".into(), None, "/home".into());
    sessions.set(vec![c, b, a], true);
    assert_eq!(sessions.len(), 3);
}

#[test]
fn queries_find_names_before_texts_before_gaps() {
    let cases: &[(&str, &[&str])] = &[
        ("", &["b", "   └─ d", "      └─ c", "a"]),
        ("the", &["c", "b", "a"]),
        ("\"the second\"", &["c"]),
        ("\"slow? the\"", &["c"]),
        ("docu", &["a"]),
        ("/other", &["a"]),
        ("re:^w", &["d", "c"]),
        ("re:(", &[]),
        ("wrbn", &["d"]),
        ("\"wrbn\"", &[]),
    ];
    for (query, expected) in cases {
        let Fixture { mut sessions, .. } = fixture();
        sessions.toggle_scope();
        sessions.set_query(Query::parse(query));
        assert_eq!(ids(&sessions), *expected, "{query}");
    }
}

#[test]
fn messages_that_the_index_finds_count_for_their_query_only() {
    let Fixture { mut sessions, paths, .. } = fixture();
    sessions.set_query(Query::parse("lexer"));
    assert!(sessions.is_searching());
    sessions.set_found("lex", [paths[1].clone()].into());
    assert!(sessions.is_searching(), "the result belongs to an older query");
    sessions.set_found("lexer", [paths[1].clone()].into());
    assert_eq!(ids(&sessions), ["c"]);
    assert!(!sessions.is_searching());
}

#[test]
fn the_selected_session_stays_selected() {
    let Fixture { mut sessions, paths, .. } = fixture();
    sessions.selection.select(2);
    assert_eq!(sessions.selected().unwrap().id, "c");
    sessions.cycle_sort();
    assert_eq!(sessions.selected().unwrap().id, "c");
    sessions.rename(&paths[1], "New name");
    assert_eq!(sessions.selected().unwrap().name.as_deref(), Some("New name"));
    sessions.remove(&paths[1]);
    assert_eq!(ids(&sessions), ["d", "b"]);
}

#[test]
fn ages_are_short() {
    const DAY: i64 = 86_400;
    let cases = [
        (0, "now"),
        (59, "now"),
        (60, "1m"),
        (3600, "1h"),
        (DAY, "1d"),
        (7 * DAY, "1w"),
        (30 * DAY, "1mo"),
        (364 * DAY, "12mo"),
        (365 * DAY, "1y"),
        (-100, "now"),
    ];
    for (seconds, expected) in cases {
        assert_eq!(age(0, seconds * 1000), expected, "{seconds}");
    }
}
