//! The tree of a session, including files with inconsistent links.

use std::path::Path;

use pi_protocol::EntryBody;
use pi_session::{OpenOptions, Session};
use serde_json::{Value, json};

use crate::compat::FIXTURES;

fn fixture(name: &str) -> Session {
    let file = Path::new(FIXTURES).join("sessions").join(name).with_extension("jsonl");
    Session::open(file, &OpenOptions::read()).unwrap()
}

#[test]
fn a_cycle_is_cut_and_every_entry_is_shown_once() {
    // The nodes with their depths, and the path to the last entry.
    let cases = [
        ("self-parent", json!([["s1", 0], ["s2", 1]]), json!(["s1", "s2"])),
        ("circle-leaf", json!([["p0", 0], ["p2", 0], ["p1", 1]]), json!(["p1", "p2"])),
        ("orphans", json!([["o1", 0], ["o4", 1], ["o2", 0], ["o3", 1]]), json!(["o1", "o4"])),
        ("forward-reference", json!([["f1", 0], ["f2", 1], ["f3", 2]]), json!(["f1", "f2", "f3"])),
    ];
    for (name, nodes, path) in cases {
        let mut session = fixture(name);
        assert_eq!(shown(&mut session), nodes, "{name}");
        assert_eq!(json!(session.branch_ids(None).unwrap()), path, "{name}");
    }
    for name in ["circle", "circle-two", "duplicate-ids", "duplicate-ids-sequence"] {
        let mut session = fixture(name);
        let shown = shown(&mut session).as_array().unwrap().len();
        assert_eq!(shown, session.len(), "{name}");
        session.context().unwrap();
        assert_eq!(
            session.abandoned_entries(None).unwrap().len(),
            session.branch_ids(None).unwrap().len()
        );
    }
}

#[test]
fn a_cycle_through_a_damaged_line_is_cut() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("circle.jsonl");
    let line = |id: &str, parent: &str, data: &str| {
        format!(
            "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"\",\"data\":{data}}}\n"
        )
    };
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"x\"}\n".to_owned();
    let cases = [
        (
            line("a", "b", "1") + &line("b", "a", "[") + &line("c", "a", "1"),
            json!([["a", 0], ["c", 1]]),
        ),
        (
            line("a", "b", "1") + &line("b", "c", "[") + &line("c", "a", "1"),
            json!([["c", 0], ["a", 1]]),
        ),
    ];
    for (lines, expected) in cases {
        std::fs::write(&path, header.clone() + &lines).unwrap();
        let mut session = Session::open(&path, &OpenOptions::read()).unwrap();
        assert_eq!(shown(&mut session), expected, "{lines}");
    }
}

fn shown(session: &mut Session) -> Value {
    let tree = session.tree().unwrap();
    tree.nodes().map(|node| json!([node.id, node.depth])).collect()
}

#[test]
fn the_tree_as_json_has_entries_children_and_labels() {
    let mut json = Vec::new();
    fixture("labels").tree().unwrap().write_json(&mut json).unwrap();
    let roots: Value = serde_json::from_slice(&json).unwrap();
    let first = &roots[0];
    assert_eq!((&first["entry"]["id"], &first["label"]), (&json!("a1"), &json!("A2")));
    // The time of the label is that of its last change.
    let session = fixture("labels");
    assert_eq!(first["labelTimestamp"], session.entry("l3").unwrap().timestamp);
    let second = &first["children"][0];
    assert_eq!((&second["entry"]["id"], &second["label"]), (&json!("a2"), &json!("B2")));
    assert!(second["children"][0].get("label").is_some_and(|label| label == "  padded "));
}

#[test]
fn abandoned_entries_begin_after_the_last_common_entry() {
    let mut session = fixture("sibling-order");
    let ids = |session: &Session, target: Option<&str>| -> Vec<String> {
        session.abandoned_entries(target).unwrap().into_iter().map(|entry| entry.id).collect()
    };
    session.branch("b2").unwrap();
    assert_eq!(ids(&session, Some("b1")), ["b2"]);
    assert_eq!(ids(&session, Some("r")), ["b2"]);
    assert_eq!(ids(&session, Some("q")), ["r", "b2"]);
    assert_eq!(ids(&session, None), ["r", "b2"]);
    assert_eq!(ids(&session, Some("b2")), [""; 0]);
}

#[test]
fn a_fork_replaces_a_label_as_the_first_kept_entry_of_a_compaction() {
    let session = fixture("labels-kept");
    let directory = tempfile::TempDir::new().unwrap();
    let copy = pi_session::NewSession::default().directory(directory.path());
    let copy = Session::fork_from(&session, copy).unwrap();
    let fork = copy.clone_branch().unwrap();
    let kept = |id: &str| match fork.entry(id).unwrap().body {
        EntryBody::Compaction(compaction) => compaction.first_kept_entry_id,
        other => panic!("{other:?}"),
    };
    // The label l1 precedes a5, and l3 precedes c2 itself.
    assert_eq!((kept("c1"), kept("c2")), ("a5".to_owned(), "c2".to_owned()));
    assert_eq!(fork.context_at(Some("c1")).unwrap(), session.context_at(Some("c1")).unwrap());
}
