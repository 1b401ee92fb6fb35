//! Comparison with the TypeScript pi on session files of all kinds.
//!
//! `observed-sessions.jsonl` in the fixtures records what pi 1.5.0 reads from each file. This crate
//! must read the same, except for the differences in `DIFFERENT`, which have reasons.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pi_protocol::json::from_str_repairing;
use pi_session::{OpenOptions, Session, SessionStats};
use serde_json::Value;

use crate::observe::{difference, normalize, observe};

pub(crate) const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// Files that are read differently on purpose: name, first difference, reason.
const DIFFERENT: &[(&str, &str, &str)] = &[
    (
        "compaction-no-summary-text",
        r#"at context.messages.0.summary: ours "", theirs null"#,
        "a field of the wrong type counts as absent",
    ),
    (
        "compaction-text-tokens",
        r#"at context.messages.0.tokensBefore: ours 0.0, theirs "many""#,
        "a field of the wrong type counts as absent",
    ),
    (
        "compaction-odd-system",
        r#"at context.messages.0.role: ours "compactionSummary", theirs "user""#,
        "only a system message has the role of one",
    ),
    (
        "damaged-middle-closed",
        r#"at context.messages.0.content: ours "one", theirs "three""#,
        "a damaged line with a valid head still links its neighbors",
    ),
    ("header-minimal", r#"at header.cwd: ours "", theirs null"#, "absent is empty"),
    ("header-wrong-types", r#"at header.cwd: ours "", theirs null"#, "absent is empty"),
    ("header-version-text", r#"at header.version: ours 3.0, theirs "3""#, "a version is a number"),
    (
        "message-shapes",
        "at points.1.context.model: ours null, theirs {}",
        "an answer without a model does not set the model",
    ),
    (
        "no-id-field",
        r##"at copy.2.id: ours "#2", theirs null"##,
        "what has no id is no entry: nothing could follow it",
    ),
    (
        "no-id-leaf",
        r#"at context.messages.2: ours null, theirs {"content":"no id","role":"user","timestamp":1.0}"#,
        "what has no id is no entry: nothing could follow it",
    ),
    (
        "no-timestamps",
        "at context.messages.1.timestamp: ours 0.0, theirs null",
        "a time that cannot be read is 0",
    ),
    (
        "null-contents",
        r#"at context.messages.3.content: ours [], theirs """#,
        "absent content is an empty list of blocks for every role",
    ),
    (
        "numeric-ids",
        r#"at context.messages.0: ours null, theirs {"content":"x","role":"user","timestamp":1.0}"#,
        "an id is a string",
    ),
    ("odd-lines", r##"at copy.1: ours {"id":"#1"}, theirs 7.0"##, "an entry is an object"),
    ("v1-odd-lines", "theirs fails", "a line that is not an object is skipped"),
    ("wrong-shapes", "theirs fails", "an entry of the wrong shape is ignored"),
    (
        "wrong-shapes-plain",
        r#"at context.messages.1.content: ours "roleless", theirs []"#,
        "an entry of the wrong shape is ignored",
    ),
    ("circle", "theirs does not end", "a cycle is cut"),
    ("circle-leaf", "theirs does not end", "a cycle is cut"),
    ("circle-two", "theirs does not end", "a cycle is cut"),
    ("duplicate-ids", "theirs does not end", "a cycle is cut"),
    ("duplicate-ids-sequence", "theirs does not end", "a cycle is cut"),
    ("self-parent", "theirs does not end", "a cycle is cut"),
];

#[test]
fn every_file_is_read_as_by_the_typescript_pi() {
    let observed = observations();
    let files = files();
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let found = compare(file, observed.get(&name));
        let expected = DIFFERENT.iter().find(|(file, ..)| *file == name);
        if found.as_deref() != expected.map(|(_, difference, _)| *difference) {
            wrong.push(format!("{name}: {}", found.as_deref().unwrap_or("no longer differs")));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    for name in observed.keys().map(String::as_str).chain(DIFFERENT.iter().map(|row| row.0)) {
        assert!(files.iter().any(|file| file.file_stem().unwrap() == name), "{name} has no file");
    }
}

/// Statistics recorded from `getSessionStats` of pi 1.5.0.
#[test]
fn statistics_equal_those_of_the_typescript_pi() {
    // Messages of the user, of the assistant, tool calls, tool results, all messages; and the
    // number of usages, which are 1, 2, 3 and 4 tokens for 0.3 dollars each.
    let rows: &[(&str, [u64; 5], u64)] = &[
        ("written/pi-1.5.0", [3, 1, 1, 1, 8], 5),
        ("sessions/edits", [2, 2, 0, 0, 4], 2),
        ("sessions/compaction-extra", [4, 3, 0, 0, 9], 4),
        ("sessions/null-contents", [1, 1, 0, 1, 5], 1),
        ("sessions/models", [1, 1, 0, 0, 2], 2),
        ("sessions/sibling-order", [7, 0, 0, 0, 7], 0),
        ("sessions/damaged-middle-closed", [2, 1, 0, 0, 3], 1),
    ];
    for (name, counts, usages) in rows {
        let file = Path::new(FIXTURES).join(format!("{name}.jsonl"));
        let stats = Session::open(file, &OpenOptions::read()).unwrap().stats().unwrap();
        let SessionStats { tokens, cost, .. } = &stats;
        let seen = [
            stats.user_messages,
            stats.assistant_messages,
            stats.tool_calls,
            stats.tool_results,
            stats.total_messages,
        ];
        assert_eq!(seen, *counts, "{name}");
        let seen =
            [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.total];
        assert_eq!(seen, [1, 2, 3, 4, 10].map(|tokens| tokens * usages), "{name}");
        assert!((cost - 0.3 * *usages as f64).abs() < 1e-9, "{name}: {cost}");
    }
}

fn compare(file: &Path, observed: Option<&Value>) -> Option<String> {
    let ours = normalize(observe(file));
    let theirs = observed.cloned().map(normalize);
    let opened = |view: &Value| view.get("ids").is_some();
    match theirs {
        None if opened(&ours) => Some("theirs does not end".to_owned()),
        Some(theirs) if opened(&ours) && !opened(&theirs) => Some("theirs fails".to_owned()),
        theirs => difference(&ours, &theirs.unwrap_or_default()),
    }
}

/// Returns the recorded observations of pi 1.5.0 by file.
fn observations() -> BTreeMap<String, Value> {
    let text = fs::read_to_string(Path::new(FIXTURES).join("observed-sessions.jsonl")).unwrap();
    // Not `lines`, since some files contain other line separators.
    let lines = text.split('\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let mut line: Value = from_str_repairing(line).unwrap();
            (line["file"].as_str().unwrap().to_owned(), line["observed"].take())
        })
        .collect()
}

/// Returns all session files of the fixtures.
pub(crate) fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(FIXTURES).join("sessions")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    files
}
