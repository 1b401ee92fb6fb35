//! `pi sessions` with session files on disk.

use std::path::Path;

use serde_json::Value;

use crate::test_env::TestEnv;

const ONE: &str = "0193aaaa-1111-7000-8000-000000000001";
const TWO: &str = "0193aabb-2222-7000-8000-000000000002";
const SKY: &str = "Why\u{1b}[31m is the sky\nblue?";
const ELSEWHERE: &str = "0193cccc-3333-7000-8000-000000000003";

/// Creates two sessions of the project and one of another directory.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    env.session(ONE, &env.project(), "How does the parser work?");
    env.session(TWO, &env.project(), SKY);
    env.session(ELSEWHERE, Path::new("/elsewhere"), "Where is the parser?");
    env
}

#[test]
fn list_shows_sessions() {
    let env = setup();
    insta::assert_snapshot!("list_here", env.stable(&env.out(&["sessions", "list"])));
    // The sessions have the same time, so their order is undefined.
    let all = env.stable(&env.out(&["sessions", "list", "--all"]));
    let mut all: Vec<&str> = all.lines().collect();
    all.sort_unstable();
    insta::assert_snapshot!(
        "list_all",
        all.join(
            "
"
        )
    );
    let all: Vec<Value> =
        serde_json::from_str(&env.out(&["sessions", "list", "-a", "--json"])).unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!(all[0]["messageCount"], 2);
    assert_eq!(all[0]["modified"], "2026-01-02T03:04:06.678Z");
    let first: Vec<Value> =
        serde_json::from_str(&env.out(&["sessions", "list", "--limit=1", "--json"])).unwrap();
    assert_eq!(first.len(), 1);
}

#[test]
fn missing_sessions_are_reported() {
    let env = TestEnv::new();
    let output = env.pi(&["sessions", "list"]);
    assert!(output.status.success() && output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        stderr,
        "pi: no sessions of this directory found\n\
         hint: list the sessions of all directories with --all\n"
    );
    assert_eq!(env.out(&["sessions", "list", "--json"]), "[]\n");
    let (code, message) = env.failure(&["sessions", "show", "0193"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        message,
        "pi: No session found matching '0193'\n\
         hint: list all sessions with `pi sessions list --all`\n"
    );
}

#[test]
fn search_finds_sessions() {
    let env = setup();
    let found = env.out(&["sessions", "search", "parser", "work"]);
    assert!(found.starts_with(&format!("{}  2026-01-02 03:04  How does", &ONE[..8])), "{found}");
    assert!(found.contains("    user: How does the parser work?"), "{found}");
    let everywhere = env.out(&["sessions", "search", "--all", "--json", "parser"]);
    let hits: Vec<Value> = serde_json::from_str(&everywhere).unwrap();
    assert_eq!(hits.len(), 2);
    assert_eq!(hits[0]["entryId"], "aaaa0001");
    // An argument with spaces is a phrase.
    assert_eq!(env.pi(&["sessions", "search", "parser work"]).status.code(), Some(0));
    assert_eq!(env.pi(&["sessions", "search", "work parser"]).status.code(), Some(1));
    let (code, message) = env.failure(&["sessions", "search", "no such phrase"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        message,
        "pi: nothing found\nhint: search the sessions of all directories with --all\n"
    );
}

#[test]
fn sessions_are_found_by_prefix_id_and_path() {
    let env = setup();
    let shown = |reference: &str| env.out(&["sessions", "show", reference]);
    assert!(shown(&ONE[..8]).contains("How does the parser work?"));
    assert!(shown(TWO).contains("is the sky"));
    // The only match belongs to another directory.
    assert!(shown("0193cc").contains("Where is the parser?"));
    let path = env.session(ONE, &env.project(), "How does the parser work?");
    assert!(shown(path.to_str().unwrap()).contains("How does the parser work?"));
    let (code, message) = env.failure(&["sessions", "show", "0193aa"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("'0193aa' matches 2 sessions:"), "{message}");
    assert!(message.contains(ONE) && message.contains(TWO), "{message}");
    assert!(message.ends_with("\nhint: give more characters of the id\n"), "{message}");
    for (reference, error) in [
        ("", "No session found matching ''"),
        ("nowhere.jsonl", "cannot read "),
        ("./", "not a valid pi session"),
    ] {
        let (code, message) = env.failure(&["sessions", "show", reference]);
        assert_eq!(code, Some(1), "{reference}: {message}");
        assert!(message.contains(error), "{reference}: {message}");
    }
    assert!(!env.project().join("nowhere.jsonl").exists(), "no file is created");
}

#[test]
fn show_prints_a_session() {
    let env = setup();
    // The size depends on the length of the paths.
    let size = std::fs::metadata(env.session(TWO, &env.project(), SKY)).unwrap().len();
    let shown = env.stable(&env.out(&["sessions", "show", TWO]));
    insta::assert_snapshot!("show", shown.replace(&format!("{size} bytes"), "[SIZE] bytes"));
    let object: Value =
        serde_json::from_str(&env.out(&["sessions", "show", ONE, "--json"])).unwrap();
    assert_eq!(object["id"], ONE);
    assert_eq!(object["stats"]["totalMessages"], 2);
    assert_eq!(object["branch"][1]["id"], "aaaa0002");
    assert_eq!(object["problems"], serde_json::json!([]));
}

#[test]
fn export_writes_all_formats() {
    let env = setup();
    let read = |name: &str| std::fs::read_to_string(env.project().join(name)).unwrap();
    let name = format!("pi-session-2026-01-02T03-04-05-678Z_{ONE}.html");
    assert_eq!(env.out(&["sessions", "export", ONE]), format!("{name}\n"));
    assert!(read(&name).starts_with("<!"));
    env.out(&["sessions", "export", ONE, "out.md"]);
    assert!(read("out.md").contains("An answer."));
    env.out(&["sessions", "export", ONE, "out.txt", "-f", "markdown"]);
    assert_eq!(read("out.txt"), read("out.md"));
    assert_eq!(env.out(&["sessions", "export", ONE, "-", "--format=markdown"]), read("out.md"));
    env.out(&["sessions", "export", ONE, "out.jsonl"]);
    assert_eq!(read("out.jsonl").lines().count(), 3);
    // Existing files are overwritten only with --force.
    std::fs::write(env.project().join("mine.html"), "mine").unwrap();
    let (code, message) = env.failure(&["sessions", "export", ONE, "mine.html"]);
    assert!(code == Some(1) && message.contains("it already exists"), "{message}");
    assert_eq!(read("mine.html"), "mine");
    env.out(&["sessions", "export", ONE, "mine.html", "--force"]);
    assert!(read("mine.html").starts_with("<!"));
    let (code, message) = env.failure(&["sessions", "export", ONE, "no/such/place.html"]);
    assert!(code == Some(1) && message.contains("place.html: "), "{message}");
}

#[test]
fn the_export_option_never_overwrites_a_session() {
    let env = setup();
    let session = env.session(ONE, &env.project(), "How does the parser work?");
    std::fs::copy(&session, env.project().join("s.jsonl")).unwrap();
    assert_eq!(env.out(&["--export", "s.jsonl"]), "Exported to: pi-session-s.html\n");
    assert_eq!(env.out(&["--export", "s.jsonl", "out.html"]), "Exported to: out.html\n");
    assert_eq!(env.out(&["--export=s.jsonl", "out.html"]), "Exported to: out.html\n");
    let before = std::fs::read(&session).unwrap();
    let cases = [
        (vec!["--export", "none.jsonl"], "pi: File not found: [ROOT]/project/none.jsonl\n"),
        (
            vec!["--export", "s.jsonl", "s.jsonl"],
            "pi: cannot write [ROOT]/project/s.jsonl: it is a session file; choose another name\n",
        ),
        (
            vec!["--export", "out.html"],
            "pi: Session file is not a valid pi session: [ROOT]/project/out.html\n",
        ),
    ];
    for (line, expected) in cases {
        let (code, message) = env.failure(&line);
        assert_eq!((code, env.stable(&message).as_str()), (Some(1), expected), "{line:?}");
    }
    assert_eq!(std::fs::read(env.project().join("s.jsonl")).unwrap(), before);
}

#[test]
fn fork_copies_a_session() {
    let env = setup();
    let fork: Value =
        serde_json::from_str(&env.out(&["sessions", "fork", ELSEWHERE, "--json"])).unwrap();
    let text = std::fs::read_to_string(fork["path"].as_str().unwrap()).unwrap();
    assert!(text.contains("Where is the parser?"), "{text}");
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["id"], fork["id"]);
    assert_eq!(header["cwd"], env.project().to_str().unwrap());
    assert!(header["parentSession"].as_str().unwrap().contains(ELSEWHERE));
    let out = env.out(&["sessions", "fork", ONE, "--at", "aaaa0001"]);
    let fork = std::fs::read_to_string(out.lines().nth(1).unwrap()).unwrap();
    assert!(fork.contains("aaaa0001") && !fork.contains("aaaa0002"), "{fork}");
    let (code, message) = env.failure(&["sessions", "fork", ONE, "--at", "nothing"]);
    assert_eq!((code, message.as_str()), (Some(1), "pi: Entry ID not found: nothing\n"));
}

#[test]
fn rm_removes_exactly_the_given_sessions() {
    let env = setup();
    let path = env.session(ONE, &env.project(), "How does the parser work?");
    let checkpoints = env.agent().join("checkpoints").join(ONE);
    std::fs::create_dir_all(&checkpoints).unwrap();
    // Without a terminal, --yes is required.
    let (code, message) = env.failure(&["sessions", "rm", ONE]);
    assert_eq!(code, Some(2));
    assert_eq!(
        message,
        "pi: cannot ask for confirmation without a terminal\n\
         hint: add --yes to remove permanently\n"
    );
    // If a session does not exist, none is removed.
    let (code, _) = env.failure(&["sessions", "rm", "--yes", ONE, "unknown"]);
    assert_eq!(code, Some(1));
    assert!(path.exists());
    // Other files are not removed.
    std::fs::write(env.project().join("precious.jsonl"), "data").unwrap();
    assert_eq!(env.failure(&["sessions", "rm", "--yes", "precious.jsonl"]).0, Some(1));
    assert!(env.project().join("precious.jsonl").exists());
    let out = env.out(&["sessions", "rm", "--yes", &ONE[..8]]);
    assert!(out.starts_with("removed ") && out.contains(ONE), "{out}");
    assert!(!path.exists() && !checkpoints.exists());
    assert_eq!(env.out(&["sessions", "list", "--all", "--json"]).matches("\"id\"").count(), 2);
}

#[test]
fn a_locked_session_is_not_removed() {
    let env = setup();
    let path = env.session(ONE, &env.project(), "How does the parser work?");
    let open = pi_session::Session::open(&path, &pi_session::OpenOptions::append()).unwrap();
    let (code, message) = env.failure(&["sessions", "rm", "--yes", ONE]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("is open in another pi"), "{message}");
    assert!(path.exists());
    drop(open);
}

#[test]
fn the_session_directory_can_be_chosen() {
    let env = setup();
    let flat = env.project().join("flat");
    std::fs::create_dir(&flat).unwrap();
    let session = env.session(ONE, &env.project(), "How does the parser work?");
    std::fs::copy(session, flat.join("a.jsonl")).unwrap();
    let count = |line: &[&str], variable: &str| {
        let mut command = env.command(line);
        let output = command.env("PI_CODING_AGENT_SESSION_DIR", variable).output().unwrap();
        String::from_utf8(output.stdout).unwrap().matches("\"id\"").count()
    };
    let line = ["sessions", "list", "--all", "--json"];
    assert_eq!(count(&line, ""), 3);
    assert_eq!(count(&line, flat.to_str().unwrap()), 1);
    assert_eq!(count(&[&line[..], &["--session-dir", "flat"]].concat(), "nowhere"), 1);
}

#[test]
fn files_that_are_not_sessions_are_reported() {
    let env = setup();
    std::fs::write(env.agent().join("sessions/notes.jsonl"), "{}\n").unwrap();
    let output = env.pi(&["sessions", "list"]);
    assert!(output.status.success());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("skipped: ") && stderr.contains("notes.jsonl"), "{stderr}");
}

#[test]
fn unwritable_directories_do_not_prevent_reading() {
    let env = setup();
    std::fs::write(env.agent().join("cache"), "in the way").unwrap();
    assert!(env.out(&["sessions", "list"]).contains("How does the parser work?"));
    assert!(env.out(&["sessions", "search", "parser"]).contains("How does the parser work?"));
    let file = env.project().join("file");
    std::fs::write(&file, "").unwrap();
    // The session directory is a file.
    let session = env.session(ONE, &env.project(), "How does the parser work?");
    let line = ["sessions", "fork", session.to_str().unwrap(), "--session-dir", "file"];
    let (code, message) = env.failure(&line);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("file"), "{message}");
    let (code, message) = env.failure(&["sessions", "list", "--session-dir", "nowhere"]);
    assert_eq!(code, Some(0), "{message}");
}
