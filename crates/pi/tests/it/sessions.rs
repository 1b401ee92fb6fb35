//! `pi sessions`: over real files.

use std::path::Path;

use serde_json::Value;

use crate::world::World;

const ONE: &str = "0193aaaa-1111-7000-8000-000000000001";
const TWO: &str = "0193aabb-2222-7000-8000-000000000002";
const SKY: &str = "Why\u{1b}[31m is the sky\nblue?";
const ELSEWHERE: &str = "0193cccc-3333-7000-8000-000000000003";

/// Two sessions of the project, and one of another directory.
fn world() -> World {
    let world = World::new();
    world.session(ONE, &world.project(), "How does the parser work?");
    world.session(TWO, &world.project(), SKY);
    world.session(ELSEWHERE, Path::new("/elsewhere"), "Where is the parser?");
    world
}

#[test]
fn lists() {
    let world = world();
    insta::assert_snapshot!("list_here", world.stable(&world.out(&["sessions", "list"])));
    // They are equally old.
    let all = world.stable(&world.out(&["sessions", "list", "--all"]));
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
        serde_json::from_str(&world.out(&["sessions", "list", "-a", "--json"])).unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!(all[0]["messageCount"], 2);
    assert_eq!(all[0]["modified"], "2026-01-02T03:04:06.678Z");
    let first: Vec<Value> =
        serde_json::from_str(&world.out(&["sessions", "list", "--limit=1", "--json"])).unwrap();
    assert_eq!(first.len(), 1);
}

#[test]
fn a_machine_without_sessions_says_so() {
    let world = World::new();
    let output = world.pi(&["sessions", "list"]);
    assert!(output.status.success() && output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        stderr,
        "pi: there are no sessions of this directory; --all shows those of others\n"
    );
    assert_eq!(world.out(&["sessions", "list", "--json"]), "[]\n");
    let (code, message) = world.failure(&["sessions", "show", "0193"]);
    assert_eq!(code, Some(1));
    assert!(message.starts_with("pi: No session found matching '0193'"), "{message}");
}

#[test]
fn searches() {
    let world = world();
    let found = world.out(&["sessions", "search", "parser", "work"]);
    assert!(found.starts_with(&format!("{}  2026-01-02 03:04  How does", &ONE[..8])), "{found}");
    assert!(found.contains("    user: How does the parser work?"), "{found}");
    let everywhere = world.out(&["sessions", "search", "--all", "--json", "parser"]);
    let hits: Vec<Value> = serde_json::from_str(&everywhere).unwrap();
    assert_eq!(hits.len(), 2);
    assert_eq!(hits[0]["entryId"], "aaaa0001");
    // What the shell keeps together is one phrase.
    assert_eq!(world.pi(&["sessions", "search", "parser work"]).status.code(), Some(0));
    assert_eq!(world.pi(&["sessions", "search", "work parser"]).status.code(), Some(1));
    let (code, message) = world.failure(&["sessions", "search", "nobody said this"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("found nothing"), "{message}");
}

#[test]
fn finds_by_beginning_by_id_and_by_path() {
    let world = world();
    let shown = |reference: &str| world.out(&["sessions", "show", reference]);
    assert!(shown(&ONE[..8]).contains("How does the parser work?"));
    assert!(shown(TWO).contains("is the sky"));
    // Not of this directory, but the only one.
    assert!(shown("0193cc").contains("Where is the parser?"));
    let path = world.session(ONE, &world.project(), "How does the parser work?");
    assert!(shown(path.to_str().unwrap()).contains("How does the parser work?"));
    let (code, message) = world.failure(&["sessions", "show", "0193aa"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("'0193aa' may be any of 2 sessions"), "{message}");
    assert!(message.contains(ONE) && message.contains(TWO), "{message}");
    for (reference, complaint) in [
        ("", "No session found matching ''"),
        ("nowhere.jsonl", "cannot read "),
        ("./", "not a valid pi session"),
    ] {
        let (code, message) = world.failure(&["sessions", "show", reference]);
        assert_eq!(code, Some(1), "{reference}: {message}");
        assert!(message.contains(complaint), "{reference}: {message}");
    }
    assert!(!world.project().join("nowhere.jsonl").exists(), "looking creates nothing");
}

#[test]
fn shows() {
    let world = world();
    // Paths are longer or shorter elsewhere.
    let size = std::fs::metadata(world.session(TWO, &world.project(), SKY)).unwrap().len();
    let shown = world.stable(&world.out(&["sessions", "show", TWO]));
    insta::assert_snapshot!("show", shown.replace(&format!("{size} bytes"), "[SIZE] bytes"));
    let facts: Value =
        serde_json::from_str(&world.out(&["sessions", "show", ONE, "--json"])).unwrap();
    assert_eq!(facts["id"], ONE);
    assert_eq!(facts["stats"]["totalMessages"], 2);
    assert_eq!(facts["branch"][1]["id"], "aaaa0002");
    assert_eq!(facts["problems"], serde_json::json!([]));
}

#[test]
fn exports() {
    let world = world();
    let read = |name: &str| std::fs::read_to_string(world.project().join(name)).unwrap();
    let name = format!("pi-session-2026-01-02T03-04-05-678Z_{ONE}.html");
    assert_eq!(world.out(&["sessions", "export", ONE]), format!("{name}\n"));
    assert!(read(&name).starts_with("<!"));
    world.out(&["sessions", "export", ONE, "out.md"]);
    assert!(read("out.md").contains("An answer."));
    world.out(&["sessions", "export", ONE, "out.txt", "-f", "markdown"]);
    assert_eq!(read("out.txt"), read("out.md"));
    assert_eq!(world.out(&["sessions", "export", ONE, "-", "--format=markdown"]), read("out.md"));
    world.out(&["sessions", "export", ONE, "out.jsonl"]);
    assert_eq!(read("out.jsonl").lines().count(), 3);
    // What exists stays, unless it is to be replaced.
    std::fs::write(world.project().join("mine.html"), "mine").unwrap();
    let (code, message) = world.failure(&["sessions", "export", ONE, "mine.html"]);
    assert!(code == Some(1) && message.contains("it exists already"), "{message}");
    assert_eq!(read("mine.html"), "mine");
    world.out(&["sessions", "export", ONE, "mine.html", "--force"]);
    assert!(read("mine.html").starts_with("<!"));
    let (code, message) = world.failure(&["sessions", "export", ONE, "no/such/place.html"]);
    assert!(code == Some(1) && message.contains("place.html: "), "{message}");
}

#[test]
fn the_export_option_writes_pages_and_no_sessions() {
    let world = world();
    let session = world.session(ONE, &world.project(), "How does the parser work?");
    std::fs::copy(&session, world.project().join("s.jsonl")).unwrap();
    assert_eq!(world.out(&["--export", "s.jsonl"]), "Exported to: pi-session-s.html\n");
    assert_eq!(world.out(&["--export", "s.jsonl", "out.html"]), "Exported to: out.html\n");
    assert_eq!(world.out(&["--export=s.jsonl", "out.html"]), "Exported to: out.html\n");
    let before = std::fs::read(&session).unwrap();
    let cases = [
        (vec!["--export", "none.jsonl"], "pi: File not found: [ROOT]/project/none.jsonl\n"),
        (
            vec!["--export", "s.jsonl", "s.jsonl"],
            "pi: cannot write [ROOT]/project/s.jsonl: it is a session, which would be lost; choose another name\n",
        ),
        (
            vec!["--export", "out.html"],
            "pi: Session file is not a valid pi session: [ROOT]/project/out.html\n",
        ),
    ];
    for (line, expected) in cases {
        let (code, message) = world.failure(&line);
        assert_eq!((code, world.stable(&message).as_str()), (Some(1), expected), "{line:?}");
    }
    assert_eq!(std::fs::read(world.project().join("s.jsonl")).unwrap(), before);
}

#[test]
fn forks() {
    let world = world();
    let made: Value =
        serde_json::from_str(&world.out(&["sessions", "fork", ELSEWHERE, "--json"])).unwrap();
    let fork = std::fs::read_to_string(made["path"].as_str().unwrap()).unwrap();
    assert!(fork.contains("Where is the parser?"), "{fork}");
    let header: Value = serde_json::from_str(fork.lines().next().unwrap()).unwrap();
    assert_eq!(header["id"], made["id"]);
    assert_eq!(header["cwd"], world.project().to_str().unwrap());
    assert!(header["parentSession"].as_str().unwrap().contains(ELSEWHERE));
    let out = world.out(&["sessions", "fork", ONE, "--at", "aaaa0001"]);
    let fork = std::fs::read_to_string(out.lines().nth(1).unwrap()).unwrap();
    assert!(fork.contains("aaaa0001") && !fork.contains("aaaa0002"), "{fork}");
    let (code, message) = world.failure(&["sessions", "fork", ONE, "--at", "nothing"]);
    assert_eq!((code, message.as_str()), (Some(1), "pi: Entry ID not found: nothing\n"));
}

#[test]
fn removes_what_it_was_told_to() {
    let world = world();
    let path = world.session(ONE, &world.project(), "How does the parser work?");
    let checkpoints = world.agent().join("checkpoints").join(ONE);
    std::fs::create_dir_all(&checkpoints).unwrap();
    // Nobody is there to ask.
    let (code, message) = world.failure(&["sessions", "rm", ONE]);
    assert_eq!(code, Some(2));
    assert!(message.contains("add --yes"), "{message}");
    // One of them does not exist: none is removed.
    let (code, _) = world.failure(&["sessions", "rm", "--yes", ONE, "nobody"]);
    assert_eq!(code, Some(1));
    assert!(path.exists());
    // Not everything is a session.
    std::fs::write(world.project().join("precious.jsonl"), "data").unwrap();
    assert_eq!(world.failure(&["sessions", "rm", "--yes", "precious.jsonl"]).0, Some(1));
    assert!(world.project().join("precious.jsonl").exists());
    let out = world.out(&["sessions", "rm", "--yes", &ONE[..8]]);
    assert!(out.starts_with("removed ") && out.contains(ONE), "{out}");
    assert!(!path.exists() && !checkpoints.exists());
    assert_eq!(world.out(&["sessions", "list", "--all", "--json"]).matches("\"id\"").count(), 2);
}

#[test]
fn a_session_in_use_is_not_removed() {
    let world = world();
    let path = world.session(ONE, &world.project(), "How does the parser work?");
    let open = pi_session::Session::open(&path, &pi_session::OpenOptions::append()).unwrap();
    let (code, message) = world.failure(&["sessions", "rm", "--yes", ONE]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("is open in another pi"), "{message}");
    assert!(path.exists());
    drop(open);
}

#[test]
fn another_directory_can_be_chosen() {
    let world = world();
    let flat = world.project().join("flat");
    std::fs::create_dir(&flat).unwrap();
    let session = world.session(ONE, &world.project(), "How does the parser work?");
    std::fs::copy(session, flat.join("a.jsonl")).unwrap();
    let count = |line: &[&str], variable: &str| {
        let mut command = world.command(line);
        let output = command.env("PI_CODING_AGENT_SESSION_DIR", variable).output().unwrap();
        String::from_utf8(output.stdout).unwrap().matches("\"id\"").count()
    };
    let line = ["sessions", "list", "--all", "--json"];
    assert_eq!(count(&line, ""), 3);
    assert_eq!(count(&line, flat.to_str().unwrap()), 1);
    assert_eq!(count(&[&line[..], &["--session-dir", "flat"]].concat(), "nowhere"), 1);
}

#[test]
fn files_that_are_no_sessions_are_named() {
    let world = world();
    std::fs::write(world.agent().join("sessions/notes.jsonl"), "{}\n").unwrap();
    let output = world.pi(&["sessions", "list"]);
    assert!(output.status.success());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("left out: ") && stderr.contains("notes.jsonl"), "{stderr}");
}

#[test]
fn places_that_cannot_be_written_do_not_stop_reading() {
    let world = world();
    std::fs::write(world.agent().join("cache"), "in the way").unwrap();
    assert!(world.out(&["sessions", "list"]).contains("How does the parser work?"));
    assert!(world.out(&["sessions", "search", "parser"]).contains("How does the parser work?"));
    let file = world.project().join("file");
    std::fs::write(&file, "").unwrap();
    // Where a directory should be there is a file.
    let session = world.session(ONE, &world.project(), "How does the parser work?");
    let line = ["sessions", "fork", session.to_str().unwrap(), "--session-dir", "file"];
    let (code, message) = world.failure(&line);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("file"), "{message}");
    let (code, message) = world.failure(&["sessions", "list", "--session-dir", "nowhere"]);
    assert_eq!(code, Some(0), "{message}");
}
