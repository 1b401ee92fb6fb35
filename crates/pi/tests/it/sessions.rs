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
    assert!(
        found.starts_with(&format!("{}  2026-01-02 03:04  How does", &ONE[ONE.len() - 8..])),
        "{found}"
    );
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
fn short_ids_are_unique_among_all_sessions() {
    let env = setup();
    // Another session with the same end, in another directory.
    let other = "0193cccc-1111-7000-8000-000000000001";
    env.session(other, Path::new("/elsewhere"), "Another one?");
    let list = env.out(&["sessions", "list", "-n", "5"]);
    for (row, question) in [(ONE, "How does the parser work?"), (TWO, "is the sky")] {
        let line = list.lines().find(|line| line.contains(question)).unwrap();
        let id = line.split(' ').next().unwrap();
        assert!(row.ends_with(id), "{line}");
        assert!(env.out(&["sessions", "show", id]).contains(question), "{id}");
    }
    let (one, two) = (&ONE[7..], &TWO[TWO.len() - 8..]);
    assert!(list.contains(&format!("\n{one}  ")) && list.contains(&format!("\n{two} ")), "{list}");
}

#[test]
fn sessions_are_renamed_and_found_by_name() {
    let env = setup();
    env.out(&["sessions", "rename", &ONE[..8], "My name"]);
    let path = env.out(&["sessions", "list", "--json"]);
    let path: Vec<Value> = serde_json::from_str(&path).unwrap();
    let path = path.iter().find(|session| session["id"] == ONE).unwrap();
    assert_eq!(path["name"], "My name");
    let text = std::fs::read_to_string(path["path"].as_str().unwrap()).unwrap();
    let entry: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&entry["type"], &entry["name"]), (&"session_info".into(), &"My name".into()));
    assert_eq!(entry["parentId"], "aaaa0002");
    assert!(env.out(&["sessions", "show", "My name"]).contains("How does the parser work?"));
    env.out(&["sessions", "export", "My name", "out.md"]);
    // Not the beginning of a name.
    assert_eq!(env.failure(&["sessions", "show", "My nam"]).0, Some(1));
    env.out(&["sessions", "rename", ELSEWHERE, "Far away"]);
    assert!(env.out(&["sessions", "show", "Far away"]).contains("Where is the parser?"));
    let (code, message) = env.failure(&["-p", "--session", "Far away", "hi"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("belongs to another directory: /elsewhere"), "{message}");
    env.out(&["sessions", "rename", TWO, "My name"]);
    let ambiguous = [
        (&["sessions", "show", "My name"][..], "pi: 'My name' matches 2 sessions:"),
        (&["-p", "--session", "My name", "hi"], "pi: 2 sessions are named 'My name'"),
    ];
    for (line, expected) in ambiguous {
        let (code, message) = env.failure(line);
        assert_eq!(code, Some(1), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(message.ends_with("hint: give the id instead of the name\n"), "{message}");
    }
}

#[test]
fn an_unknown_session_has_the_same_exit_code_everywhere() {
    let env = setup();
    let lines: [&[&str]; 8] = [
        &["-p", "--session", "nosuch", "hi"],
        &["-p", "--fork", "nosuch", "hi"],
        &["sessions", "show", "nosuch"],
        &["sessions", "export", "nosuch"],
        &["sessions", "fork", "nosuch"],
        &["sessions", "rename", "nosuch", "x"],
        &["sessions", "rm", "-y", "nosuch"],
        &["undo", "--session", "nosuch"],
    ];
    for line in lines {
        let (code, message) = env.failure(line);
        assert_eq!(code, Some(1), "{line:?}: {message}");
        assert!(message.contains("pi: No session found matching 'nosuch'\n"), "{message}");
    }
}

#[test]
fn prune_removes_old_sessions() {
    let env = setup();
    // Three more: an old one that is in use, and two new ones.
    let used = "0193dddd-4444-7000-8000-000000000004";
    let used_path = env.session(used, &env.project(), "In use");
    let lock = pi_session::Session::open(&used_path, &pi_session::OpenOptions::append()).unwrap();
    for id in ["0193eeee-5555-7000-8000-000000000005", "0193eeee-6666-7000-8000-000000000006"] {
        let path = env.session(id, &env.project(), "New");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("17673230", "40000000")).unwrap();
    }
    let checkpoints = env.agent().join("checkpoints").join(ONE);
    std::fs::create_dir_all(&checkpoints).unwrap();
    std::fs::write(checkpoints.join("object"), vec![0; 5_000_000]).unwrap();
    let count = |all: &[&str]| {
        env.out(&[&["sessions", "list", "--json"], all].concat()).matches("\"id\"").count()
    };
    let dry = env.pi(&["sessions", "prune", "--older-than", "26w", "--dry-run"]);
    let (out, err) =
        (String::from_utf8(dry.stdout).unwrap(), String::from_utf8(dry.stderr).unwrap());
    assert!(out.contains(&format!("would remove {ONE}  2026-01-02 03:04  How does")), "{out}");
    assert!(out.ends_with("2 sessions, would free at least 5.0 MB\n"), "{out}");
    assert!(err.contains("is open in another pi"), "{err}");
    assert_eq!(count(&[]), 5, "nothing is removed");
    let (code, message) = env.failure(&["sessions", "prune", "--older-than", "26w"]);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("hint: add --yes to remove permanently"), "{message}");
    // The latest sessions of the directory are kept: two new ones, one of the old ones.
    let kept = env.out(&["sessions", "prune", "--older-than=26w", "--keep=3", "--yes"]);
    assert!(kept.contains("1 session, freed "), "{kept}");
    let out = env.out(&["sessions", "prune", "--all", "--older-than", "4000h", "-y"]);
    assert!(out.contains("2 sessions, freed "), "{out}");
    assert!(!checkpoints.exists() && used_path.exists());
    assert_eq!(count(&["--all"]), 3);
    drop(lock);
    let output = env.pi(&["sessions", "prune", "--older-than", "4000d", "--yes"]);
    assert_eq!(output.stderr, b"pi: there are no sessions to remove\n");
}

#[test]
fn times_are_those_of_the_time_zone() {
    let env = setup();
    let list = |zone: &str| {
        let output = env.command(&["sessions", "list"]).env("TZ", zone).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    // POSIX names, which need no time zone database.
    for (zone, time) in [
        ("UTC", "2026-01-02 03:04"),
        ("EST5", "2026-01-01 22:04"),
        ("IST-5:30", "2026-01-02 08:34"),
    ] {
        assert!(list(zone).contains(&format!("  {time}  ")), "{zone}: {}", list(zone));
    }
    let mut json = env.command(&["sessions", "list", "--json"]);
    let json = String::from_utf8(json.env("TZ", "EST5").output().unwrap().stdout).unwrap();
    assert!(json.contains("\"modified\": \"2026-01-02T03:04:06.678Z\""), "{json}");
}

#[test]
fn system_prompts_are_not_counted() {
    let env = TestEnv::new();
    let path = env.session(ONE, &env.project(), "Hello?");
    let text = std::fs::read_to_string(&path).unwrap();
    let system = r#"{"type":"message","id":"aaaa0000","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"system","content":"Be brief.","timestamp":1}}"#;
    let (header, rest) = text.split_once('\n').unwrap();
    let rest = rest.replace("\"parentId\":null", "\"parentId\":\"aaaa0000\"");
    std::fs::write(&path, format!("{header}\n{system}\n{rest}")).unwrap();
    let list: Vec<Value> = serde_json::from_str(&env.out(&["sessions", "list", "--json"])).unwrap();
    assert_eq!(list[0]["messageCount"], 2);
    assert!(env.out(&["sessions", "show", ONE]).contains("size      2 messages, 3 entries"));
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
    env.out(&["sessions", "export", ONE, "out.json", "--format", "atif"]);
    let trajectory: serde_json::Value = serde_json::from_str(&read("out.json")).unwrap();
    assert_eq!(trajectory["schema_version"], "ATIF-v1.8");
    assert_eq!(trajectory["steps"][1]["message"], "An answer.");
    // Existing files are overwritten only with --force.
    std::fs::write(env.project().join("mine.html"), "mine").unwrap();
    let (code, message) = env.failure(&["sessions", "export", ONE, "mine.html"]);
    assert!(code == Some(1) && message.contains("it already exists"), "{message}");
    assert_eq!(read("mine.html"), "mine");
    env.out(&["sessions", "export", ONE, "mine.html", "--force"]);
    assert!(read("mine.html").starts_with("<!"));
    let (code, message) = env.failure(&["sessions", "export", ONE, "x.pdf"]);
    assert_eq!(code, Some(2));
    assert!(message.starts_with("pi: unknown format \".pdf\": expected .html"), "{message}");
    assert!(message.contains("--format: html, markdown, jsonl or atif"), "{message}");
    assert!(!env.project().join("x.pdf").exists());
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
