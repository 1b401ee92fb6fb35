//! The cached context equals the one that is built from the entries.

use pi_session::{NewSession, OpenOptions, Session};
use tempfile::TempDir;

use crate::script::{Rng, perform_step, random_script};

#[test]
fn the_cached_context_equals_the_rebuilt_one() {
    for seed in 0..30 {
        let mut rng = Rng(seed);
        let script = random_script(&mut rng, 60);
        let directory = TempDir::new().unwrap();
        let new = NewSession::new("/proj").directory(directory.path());
        let mut session = Session::create(new).unwrap();
        let mut made = Vec::new();
        for (number, step) in script.iter().enumerate() {
            // Sometimes the context is not cached.
            if rng.below(3) > 0 {
                session.context().unwrap();
            }
            made.push(perform_step(&mut session, step, &made).ok().flatten());
            let leaf = session.leaf_id().map(str::to_owned);
            let built = session.context_at(leaf.as_deref()).unwrap();
            assert_eq!(session.context().unwrap(), built, "seed {seed}, step {number}: {step}");
            let projected: Vec<_> = session
                .projection()
                .unwrap()
                .into_iter()
                .flat_map(|entry| entry.messages)
                .collect();
            assert!(projected.iter().eq(built.messages.iter()), "seed {seed}, step {number}");
            let outline = session.outline().unwrap();
            assert_eq!(outline.message_count, built.messages.len(), "seed {seed}, step {number}");
            assert_eq!(outline.model, built.model, "seed {seed}, step {number}");
            assert_eq!(outline.thinking_level, built.thinking_level, "seed {seed}, step {number}");
            let system = built.messages.iter().filter_map(|message| match message {
                pi_protocol::AgentMessage::Llm(message) => Some(message),
                pi_protocol::AgentMessage::Custom(_) => None,
            });
            assert_eq!(outline.declared, pi_protocol::Declarations::replay(system), "seed {seed}");
        }
        let leaf = session.leaf_id().map(str::to_owned);
        let expected = session.context().unwrap();
        let path = session.path().unwrap().to_owned();
        let saved = session.is_saved();
        drop(session);
        if saved && let Some(leaf) = leaf {
            let again = Session::open(path, &OpenOptions::read()).unwrap();
            assert_eq!(again.context_at(Some(&leaf)).unwrap(), expected, "seed {seed}");
        }
    }
}

#[test]
fn a_compaction_keeps_entries_after_a_damaged_first_kept_entry() {
    let line = |id: &str, parent: &str, rest: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-01-02T03:04:05.006Z\",\"message\":{{\"role\":\"user\",\"content\":\"{id}\"{rest}}}}}\n"
        )
    };
    let compaction = "{\"type\":\"compaction\",\"id\":\"c\",\"parentId\":\"after\",\"timestamp\":\"2026-01-02T03:04:05.006Z\",\"summary\":\"S\",\"firstKeptEntryId\":\"kept\"}\n";
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"x\"}\n";
    let whole = |kept: &str, last: &str| {
        [header, &line("one", "", ""), kept, &line("after", "kept", ""), compaction, last].concat()
    };
    let broken = line("kept", "one", ",]");
    let cases = [
        ("sound", whole(&line("kept", "one", ""), ""), 3),
        ("damaged", whole(&broken, ""), 2),
        (
            "its id used again by a damaged line",
            {
                let last = broken.clone() + &line("end", "c", "");
                whole(&line("kept", "one", ""), &last)
            },
            4,
        ),
    ];
    for (name, content, expected) in cases {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("session.jsonl");
        std::fs::write(&path, content).unwrap();
        let mut session = Session::open(&path, &OpenOptions::read()).unwrap();
        assert_eq!(session.context().unwrap().messages.len(), expected, "{name}");
        session.verify().unwrap();
        assert_eq!(session.context().unwrap().messages.len(), expected, "{name}, verified");
    }
}

/// Files that fuzzing found: the context after an append equals the context after reopening.
#[test]
fn the_context_of_a_damaged_file_is_the_same_after_reopening() {
    let line = |id: &str, parent: &str, time: &str, end: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"{time}\",\"message\":{{\"role\":\"user\",\"content\":\"{id} {parent}\"{end}}}}}\n"
        )
    };
    let answer = "{\"type\":\"message\",\"id\":\"answer\",\"parentId\":\"one\",\"timestamp\":\"t\",\"message\":{\"role\":\"assistant\",\"content\":[],\"provider\":\"p\",\"model\":\"m\"}}\n";
    let compaction = "{\"type\":\"compaction\",\"id\":\"c\",\"parentId\":\"again\",\"timestamp\":\"t\",\"summary\":\"S\",\"firstKeptEntryId\":\"\"}\n";
    let files = [
        // A cycle whose last id is used again by a torn line.
        [
            line("a", "c", "t", ""),
            line("b", "a", "t", ""),
            line("c", "b", "t", ""),
            line("c", "b", "t", ",]"),
        ]
        .concat(),
        // An id on the branch that is used again by a torn line without a parent.
        [
            line("one", "", "t", ""),
            answer.to_owned(),
            line("again", "answer", "t", ""),
            compaction.to_owned(),
            line("again", "nothing", "t", ",]"),
        ]
        .concat(),
        // A valid message in an invalid line.
        [line("a", "b", "t", ""), line("b", "", "\u{1a}\u{1a}", ""), line("c", "a", "t", "")]
            .concat(),
    ];
    for content in files {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("session.jsonl");
        let header = "{\"type\":\"session\",\"version\":3,\"id\":\"x\"}\n";
        std::fs::write(&path, format!("{header}{content}")).unwrap();
        let mut session = Session::open(&path, &OpenOptions::append()).unwrap();
        session.append_message(pi_protocol::Message::user("one more")).unwrap();
        let last = session.append_message(pi_protocol::Message::user("and another")).unwrap();
        let expected = session.context().unwrap();
        drop(session);
        let mut again = Session::open(&path, &OpenOptions::append()).unwrap();
        assert_eq!(again.context().unwrap(), expected, "{content}");
        assert_eq!(again.leaf_id(), Some(&*last));
        again.verify().unwrap();
        assert_eq!(again.context().unwrap(), expected, "verified: {content}");
    }
}
