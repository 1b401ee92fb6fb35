//! List and search through the index agree with the files, with any state of the cache.

use std::fs;
use std::path::{Path, PathBuf};

use pi_protocol::{
    AgentMessage, BranchSummary, Compaction, CustomEntryMessage, Message, MessageContent,
};
use pi_session::{
    BashExecution, ListOptions, NewSession, OpenOptions, SearchHit, Session, SessionIndex,
    SessionInfo, TextKind,
};
use tempfile::TempDir;

use crate::listing;
use crate::log::answer;

pub(crate) fn new_session(directory: &Path, cwd: &str, first: &str) -> Session {
    let mut session = Session::create(NewSession::new(cwd).directory(directory)).unwrap();
    session.append_message(Message::user(first)).unwrap();
    session
}

fn list(index: &mut SessionIndex) -> Vec<SessionInfo> {
    index.list(&ListOptions::default()).sessions
}

fn search(index: &mut SessionIndex, query: &str) -> Vec<SearchHit> {
    index.search(query, &ListOptions::default()).hits
}

fn marked(hit: &SearchHit) -> String {
    let mut text = hit.snippet.text.clone();
    for range in hit.snippet.matches.iter().rev() {
        text.insert(range.end, ']');
        text.insert(range.start, '[');
    }
    text
}

#[test]
fn hostile_files_are_listed_and_searched() {
    let (fixture, cache) = (listing::fixture(), TempDir::new().unwrap());
    let mut expected: Vec<SessionInfo> = Vec::new();
    let mut rejected: Vec<PathBuf> = Vec::new();
    for directory in [fixture.path().to_owned(), fixture.path().join("--proj-a--")] {
        for path in pi_session::session_files(&directory).unwrap() {
            match SessionInfo::read(&path) {
                Ok(info) => expected.push(info),
                Err(_) => rejected.push(path),
            }
        }
    }
    expected.sort_by(|a, b| {
        b.modified.cmp(&a.modified).then_with(|| a.path.as_os_str().cmp(b.path.as_os_str()))
    });
    // With an empty cache, a filled cache, another index on it, and without a cache.
    let cached = || SessionIndex::new(fixture.path(), Some(cache.path().join("new/index")));
    let mut first = cached();
    for mut index in [cached(), cached(), SessionIndex::new(fixture.path(), None)] {
        for index in [&mut first, &mut index] {
            let listing = index.list(&ListOptions::default());
            assert_eq!(listing.sessions, expected);
            assert_eq!(listing.problems.len(), rejected.len(), "{:?}", listing.problems);
        }
        for (file, session) in listing::observed() {
            let text = session["allMessagesText"].as_str().unwrap().replace('\u{fffd}', " ");
            // Files that the TypeScript pi lists and this crate does not.
            if matches!(file.as_str(), "id-number.jsonl" | "scalar.jsonl") {
                continue;
            }
            // See the table of differences in listing.rs.
            if file == "duplicate-fields.jsonl" {
                continue;
            }
            let path = fixture.path().join(&file);
            for word in text.split_whitespace().take(20) {
                let hits = search(&mut index, word);
                assert!(hits.iter().any(|hit| hit.session.path == path), "{word} of {file}");
            }
        }
        for not_indexed in ["secret", "hm", "sys"] {
            assert_eq!(search(&mut index, not_indexed), [], "{not_indexed}");
        }
    }
}

#[test]
fn every_kind_of_searchable_text_is_found() {
    let (root, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut session = new_session(&root.path().join("--proj--"), "/proj", "Fix parse_header()");
    session.append_message(answer("See crates/pi-session/src/Log.rs: 日本語のコメント")).unwrap();
    let command = BashExecution {
        command: "cargo nextest".to_owned(),
        output: "unsearchable".to_owned(),
        ..BashExecution::default()
    };
    session.append_message(AgentMessage::custom(&command).unwrap()).unwrap();
    session
        .append_custom_message(CustomEntryMessage {
            custom_type: "x".into(),
            content: MessageContent::Text("shown note".into()),
            display: true,
            details: None,
        })
        .unwrap();
    session
        .append_custom_message(CustomEntryMessage {
            custom_type: "x".into(),
            content: MessageContent::Text("hidden note".into()),
            display: false,
            details: None,
        })
        .unwrap();
    session.append_name("Header work").unwrap();
    let compaction = Compaction { summary: "All about lexers".into(), ..Compaction::default() };
    let compaction = session.append_compaction(compaction).unwrap();
    let summary = BranchSummary { summary: "A dead end".into(), ..BranchSummary::default() };
    session.branch_with_summary(None, summary).unwrap();
    session.append_message(answer("Log.rs again")).unwrap();
    // The newer session comes first, so the two must not be of the same millisecond.
    let last = pi_protocol::now_ms();
    while pi_protocol::now_ms() <= last {
        std::hint::spin_loop();
    }
    new_session(root.path(), "/else", "Another log.rs, another HEADER");

    let cases: &[(&str, &[(TextKind, &str)])] = &[
        (
            "header",
            &[
                (TextKind::User, "Another log.rs, another [HEADER]"),
                (TextKind::Name, "[Header] work"),
            ],
        ),
        (
            "SRC/LOG.RS",
            &[(TextKind::Assistant, "See crates/pi-session/[src/Log.rs]: 日本語のコメント")],
        ),
        ("日本", &[(TextKind::Assistant, "See crates/pi-session/src/Log.rs: [日本]語のコメント")]),
        ("nextest", &[(TextKind::Command, "cargo [nextest]")]),
        ("unsearchable", &[]),
        ("note", &[(TextKind::Extension, "shown [note]")]),
        ("hidden", &[]),
        ("LEXERS", &[(TextKind::Summary, "All about [lexers]")]),
        ("\"dead end\"", &[(TextKind::Summary, "A [dead end]")]),
        ("\"end dead\"", &[]),
        // Both words in one entry rank higher than in two.
        (
            "log.rs header",
            &[
                (TextKind::User, "Another [log.rs], another [HEADER]"),
                (TextKind::Assistant, "[Log.rs] again"),
            ],
        ),
        ("log.rs lexers nothing", &[]),
        ("", &[]),
    ];
    for cache in [Some(cache.path().to_owned()), None] {
        let mut index = SessionIndex::new(root.path(), cache);
        for (query, expected) in cases {
            let hits = search(&mut index, query);
            let found: Vec<_> = hits.iter().map(|hit| (hit.kind, marked(hit))).collect();
            let expected: Vec<_> =
                expected.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect();
            assert_eq!(found, expected, "{query}");
        }
        let hit = &search(&mut index, "lexers")[0];
        assert_eq!(hit.entry_id.as_deref(), Some(&*compaction));
        assert_eq!(Some(&*hit.session.path), session.path());
        assert!(hit.timestamp.is_some_and(|time| time >= hit.session.created.unwrap()));
        let options = ListOptions::default().limit(1);
        assert_eq!(index.search("log.rs", &options).hits.len(), 1);
        let options = ListOptions::default().cwd("/proj/");
        assert_eq!(index.search("header", &options).hits.len(), 1);
        let options = ListOptions::default().cwd("/else").limit(5);
        assert_eq!(index.list(&options).sessions.len(), 1);
        let options = ListOptions::default().limit(1);
        assert_eq!(index.list(&options).sessions.len(), 1);
    }
}

#[test]
fn an_update_reads_and_writes_only_appended_lines() {
    let (root, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut session = new_session(root.path(), "/proj", &"long ".repeat(100_000));
    let mut index = SessionIndex::new(root.path(), Some(cache.path().to_owned()));
    list(&mut index);
    let text = cache.path().join("text");
    let size = || fs::metadata(&text).unwrap().len();
    let before = size();
    assert!(before > 400_000);
    for number in 0..200 {
        session.append_message(answer(&format!("addition {number}."))).unwrap();
        assert_eq!(list(&mut index)[0].message_count, 2 + number);
        let hits = search(&mut index, &format!("\"addition {number}.\""));
        assert_eq!(hits.len(), 1, "{number}");
        assert!(number > 0 || size() < before + 1000);
    }
    // Small blocks are merged, and unused ones are removed.
    assert!(size() < 6 * before, "{before} bytes became {}", size());
    // The file is rewritten from the middle on, and longer than before.
    drop(session);
    let path = list(&mut index)[0].path.clone();
    let content = fs::read_to_string(&path).unwrap();
    fs::write(&path, content.replace("addition 7", "changed place 7")).unwrap();
    assert_eq!(search(&mut index, "\"changed place 7.\"").len(), 1);
    assert_eq!(search(&mut index, "\"addition 7.\""), []);
}

#[test]
fn an_unusable_cache_is_ignored() {
    let (root, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut session = new_session(root.path(), "/proj", "one");
    let file = cache.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let full = cache.path().join("full");
    fs::create_dir_all(&full).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/dev/full", full.join("text")).unwrap();
    let directories = cache.path().join("directories");
    fs::create_dir_all(directories.join("text")).unwrap();
    fs::create_dir_all(directories.join("catalog")).unwrap();
    for (number, bad) in [file.join("below"), full, directories].into_iter().enumerate() {
        let mut index = SessionIndex::new(root.path(), Some(bad));
        assert_eq!(list(&mut index).len(), 1);
        session.append_message(answer(&format!("more {number}"))).unwrap();
        assert_eq!(search(&mut index, &format!("\"more {number}\"")).len(), 1);
        assert_eq!(list(&mut index)[0].message_count, 2 + number as u64);
    }
    let mut nowhere = SessionIndex::new(root.path().join("missing"), None);
    assert!(nowhere.list(&ListOptions::default()).problems.is_empty());
}

#[test]
fn a_catalog_of_another_directory_or_an_older_one_is_ignored() {
    let cache = TempDir::new().unwrap();
    let roots = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    for (number, root) in roots.iter().enumerate() {
        new_session(root.path(), "/proj", &format!("root {number}"));
    }
    for _ in 0..2 {
        for (number, root) in roots.iter().enumerate() {
            let mut index = SessionIndex::new(root.path(), Some(cache.path().to_owned()));
            assert_eq!(list(&mut index)[0].first_message, format!("root {number}"));
            assert_eq!(search(&mut index, "root").len(), 1);
        }
    }
    let (catalog, text) = (cache.path().join("catalog"), cache.path().join("text"));
    let old = fs::read(&catalog).unwrap();
    let mut index = SessionIndex::new(roots[1].path(), Some(cache.path().to_owned()));
    let path = list(&mut index)[0].path.clone();
    let mut session = Session::open(&path, &OpenOptions::append()).unwrap();
    session.append_message(answer("later")).unwrap();
    assert_eq!(search(&mut index, "later").len(), 1);
    // The old catalog with the new text, and then a catalog without the text.
    fs::write(&catalog, &old).unwrap();
    assert_eq!(search(&mut index, "later root").len(), 1);
    fs::remove_file(&text).unwrap();
    assert_eq!(search(&mut index, "later root").len(), 1);
    assert!(text.exists());
}

#[test]
fn processes_share_a_cache() {
    let (root, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (root, cache) = (root.path(), cache.path());
            scope.spawn(move || {
                let mut index = SessionIndex::new(root, Some(cache.to_owned()));
                for number in 0..20 {
                    let text = format!("writer{writer} number{number}.");
                    let mut session = new_session(root, "/proj", &text);
                    assert_eq!(search(&mut index, &text).len(), 1, "{text}");
                    session.append_message(answer("appended")).unwrap();
                    let own = format!("writer{writer} appended");
                    assert_eq!(search(&mut index, &own).len(), number + 1, "{text}");
                }
            });
        }
    });
    let mut index = SessionIndex::new(root.path(), Some(cache.path().to_owned()));
    assert_eq!(list(&mut index), list(&mut SessionIndex::new(root.path(), None)));
    assert_eq!(search(&mut index, "appended").len(), 60);
}

#[test]
fn an_incomplete_line_counts_once_it_is_complete() {
    let (root, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = new_session(root.path(), "/proj", "one").path().unwrap().to_owned();
    let mut index = SessionIndex::new(root.path(), Some(cache.path().to_owned()));
    let line = r#"{"type":"message","id":"x","message":{"role":"user","content":"two words"}}"#;
    let content = fs::read(&path).unwrap();
    for at in [1, 30, line.len() - 1, line.len()] {
        for (end, expected) in [(at, at == line.len()), (line.len(), true)] {
            fs::write(&path, [&content, &line.as_bytes()[..end]].concat()).unwrap();
            assert_eq!(list(&mut index)[0].message_count, 1 + u64::from(expected), "{at} {end}");
            assert_eq!(search(&mut index, "\"two words\"").len(), usize::from(expected));
        }
    }
    fs::write(&path, [&content, line.as_bytes(), b"x\n"].concat()).unwrap();
    assert_eq!(list(&mut index)[0].message_count, 1);
    assert_eq!(search(&mut index, "words"), []);
}
