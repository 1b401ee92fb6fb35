//! `pi sandbox`, with real processes, on what the machine offers.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use pi_guard::confine::{ConfinementLevel, Machine};
use serde_json::Value;

use crate::world::World;

/// Whether commands can be confined here. Where they cannot, nothing may run.
fn confined(world: &World) -> bool {
    let rung = Machine::detect().level();
    if rung == ConfinementLevel::None {
        let (code, message) = world.failure(&["sandbox", "--", "touch", "ran"]);
        assert_eq!(code, Some(8), "{message}");
        assert!(!world.project().join("ran").exists());
    }
    rung != ConfinementLevel::None
}

/// A directory in which things can be created on every rung.
fn world() -> World {
    let world = World::new();
    std::fs::create_dir(world.project().join("sub")).unwrap();
    world
}

/// The command lines that begin a confined command: as it is here, and without bubblewrap, which
/// does not work in a sandbox.
fn ladders() -> Vec<Vec<&'static str>> {
    let mut ladders = vec![vec!["sandbox", "-q", "--"]];
    if Machine::detect().level() == ConfinementLevel::Bubblewrap {
        let inner = env!("CARGO_BIN_EXE_pi");
        ladders.push(vec!["sandbox", "-q", "--", inner, "sandbox", "-q", "--"]);
    }
    ladders
}

#[test]
fn the_code_is_that_of_the_command() {
    let world = world();
    if !confined(&world) {
        return;
    }
    std::fs::write(world.project().join("file"), "").unwrap();
    let cases: &[(&[&str], i32)] = &[
        (&["true"], 0),
        (&["sh", "-c", "exit 3"], 3),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["no-such-program"], 127),
        (&["./file"], 126),
    ];
    for ladder in ladders() {
        for (command, code) in cases {
            let output = world.pi(&[&ladder, *command].concat());
            assert_eq!(output.status.code(), Some(*code), "{ladder:?} {command:?}: {output:?}");
        }
    }
}

#[test]
fn only_the_workspace_can_be_written_and_keys_are_not_seen() {
    let world = world();
    if !confined(&world) {
        return;
    }
    let home = world.project().join("../home");
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id"), "key").unwrap();
    std::fs::create_dir_all(world.project().join("../more")).unwrap();
    let script = "echo in > sub/in; echo t > $TMPDIR/t && echo tmp
        echo out > ../home/out; cat ../home/.ssh/id; echo key=$SOME_API_KEY; echo m > ../more/m";
    for ladder in ladders() {
        let mut command = world.command(&[&ladder, &["sh", "-c", script][..]].concat());
        let output = command.env("SOME_API_KEY", "hunter2").output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(out, "tmp\nkey=\n", "{ladder:?}");
        assert!(world.project().join("sub/in").exists(), "{ladder:?}");
        assert!(!home.join("out").exists() && !world.project().join("../more/m").exists());
        std::fs::remove_file(world.project().join("sub/in")).unwrap();
    }
    world.out(&["sandbox", "--add-dir", "../more", "--", "sh", "-c", "echo m > ../more/m"]);
    assert!(world.project().join("../more/m").exists());
    let read_only = ["sandbox", "--sandbox=read-only", "--", "sh", "-c", "echo x > sub/x"];
    assert_ne!(world.pi(&read_only).status.code(), Some(0));
    assert!(!world.project().join("sub/x").exists());
}

#[test]
fn what_holds_is_said_first() {
    let world = world();
    if !confined(&world) {
        return;
    }
    let rung = Machine::detect().level();
    let (code, said) = world.failure(&["sandbox", "--", "true"]);
    assert_eq!(code, Some(0), "{said}");
    let expected = format!("pi: sandbox workspace-write ({rung}), no network");
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(world.failure(&["sandbox", "--quiet", "--", "true"]).1, "");
    let (code, said) = world.failure(&["sandbox", "--require", "bubblewrap", "--", "true"]);
    assert_eq!(code, Some(if rung == ConfinementLevel::Bubblewrap { 0 } else { 8 }), "{said}");
    if rung == ConfinementLevel::Bubblewrap {
        // In there is no second one.
        let inner = env!("CARGO_BIN_EXE_pi");
        let line = ["sandbox", "-q", "--", inner, "sandbox", "--require", "bubblewrap", "--"];
        let (code, said) = world.failure(&[&line[..], &["touch", "sub/ran"]].concat());
        assert_eq!(code, Some(8), "{said}");
        assert!(said.contains("bubblewrap") && said.contains("is required"), "{said}");
        assert!(!world.project().join("sub/ran").exists());
    }
}

#[test]
fn streams_are_inherited() {
    let world = world();
    if !confined(&world) {
        return;
    }
    for ladder in ladders() {
        std::fs::write(world.project().join("input"), "hello").unwrap();
        let input = std::fs::File::open(world.project().join("input")).unwrap();
        let script = "cat; echo problem >&2";
        let mut command = world.command(&[&ladder, &["sh", "-c", script][..]].concat());
        let output = command.stdin(input).output().unwrap();
        assert_eq!(output.stdout, b"hello", "{ladder:?}");
        assert_eq!(output.stderr, b"problem\n", "{ladder:?}");
    }
}

#[test]
fn signals_go_to_the_command() {
    let world = world();
    if !confined(&world) {
        return;
    }
    // A command that waits on a pipe, so that no time has to pass.
    let script = "trap 'echo interrupted; exit 7' INT; trap 'echo ended; exit 9' TERM
        echo ready; while :; do read line || exit 1; done";
    for ladder in ladders() {
        for (signal, word, code) in [("INT", "interrupted", 7), ("TERM", "ended", 9)] {
            let mut command = world.command(&[&ladder, &["sh", "-c", script][..]].concat());
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut out = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n", "{ladder:?}");
            let id = child.id().to_string();
            assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
            // The shell looks at its traps when it has read something.
            line.clear();
            out.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), word, "{ladder:?}");
            assert_eq!(child.wait().unwrap().code(), Some(code), "{ladder:?}");
        }
    }
}

#[test]
fn nothing_is_left_running() {
    let world = world();
    if !confined(&world) {
        return;
    }
    for ladder in ladders() {
        // Whoever is left holds the pipe open, and reading would not end.
        let script = "(setsid sleep 1000 &) ; (sleep 1000 &) ; echo done";
        let mut command = world.command(&[&ladder, &["sh", "-c", script][..]].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), child.wait().unwrap().code()), ("done\n", Some(0)));
    }
    if Machine::detect().level() == ConfinementLevel::Bubblewrap {
        // Not even if nobody can do anything about it any more.
        let mut command =
            world.command(&["sandbox", "-q", "--", "sh", "-c", "echo on; sleep 1000"]);
        // What a killed program leaves behind goes with the world.
        command.env("TMPDIR", world.project().join(".."));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        out.read_line(&mut text).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(out.read_to_string(&mut text).unwrap(), 0);
    }
}

#[test]
fn nothing_is_left_behind() {
    let world = world();
    if !confined(&world) {
        return;
    }
    let tmp = world.project().join("../tmp");
    std::fs::create_dir(&tmp).unwrap();
    for more in [&["-q"], &["--json"]] {
        let line = [&["sandbox"], &more[..], &["--", "true"]].concat();
        let output = world.command(&line).env("TMPDIR", &tmp).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let names = |directory: &std::path::Path| -> Vec<_> {
            std::fs::read_dir(directory).unwrap().map(|one| one.unwrap().file_name()).collect()
        };
        assert_eq!(names(&world.project()), ["sub"], "{more:?}");
        assert!(names(&tmp).is_empty(), "{more:?}");
    }
}

#[test]
fn programs_get_one_object() {
    let world = world();
    if !confined(&world) {
        return;
    }
    std::fs::create_dir_all(world.project().join("../more")).unwrap();
    let script = "echo out; echo problem >&2; touch ../more/x";
    let output = world.pi(&["sandbox", "--json", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(object["output"].as_str().unwrap().starts_with("out\nproblem\n"), "{object}");
    assert_eq!((&object["exitCode"], &object["network"]), (&1.into(), &"off".into()));
    assert_eq!(object["truncated"], false);
    let rung = serde_json::to_value(Machine::detect().level()).unwrap();
    assert_eq!(object["rung"], rung);
    if rung == "landlock" {
        let path = &object["denied"][0]["denied"]["path"];
        assert!(path.as_str().unwrap().ends_with("/more/x"), "{object}");
    }
    let output = world.pi(&["sandbox", "--json", "--", "no-such-program"]);
    assert_eq!(output.status.code(), Some(127));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["exitCode"], 127);
    // Much output is cut at its beginning.
    let script = "head -c 4000000 /dev/zero | tr '\\0' x; echo end";
    let output = world.pi(&["sandbox", "--json", "--", "sh", "-c", script]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = object["output"].as_str().unwrap();
    assert!(text.len() == 1024 * 1024 && text.ends_with("xend\n") && object["truncated"] == true);
}

#[test]
fn hosts_that_are_not_named_are_refused_and_told() {
    let world = world();
    if !confined(&world) {
        return;
    }
    let line = ["sandbox", "--json", "--network=good.example", "--"];
    // Only the proxy is asked: nothing leaves the machine.
    let script = "printf 'CONNECT bad.example:443 HTTP/1.1\\r\\nHost: bad.example:443\\r\\n\\r\\n' \
        >&3; head -n 1 <&3; exit 1";
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}}; {script}");
    let output = world.pi(&[&line[..], &["bash", "-c", &script]].concat());
    if Machine::detect().level() != ConfinementLevel::Bubblewrap {
        assert_eq!(output.status.code(), Some(8), "{output:?}");
        return;
    }
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(object["output"].as_str().unwrap().contains(" 403 "), "{object}");
    assert_eq!(object["denied"][0]["denied"]["host"], "bad.example", "{object}");
    assert_eq!(object["network"]["hosts"][0], "good.example");
}

#[test]
fn a_wrong_command_line_runs_nothing() {
    let world = world();
    let cases: &[(&[&str], &str)] = &[
        (&[], "needs more"),
        (&["--sandbox", "off", "--", "touch", "ran"], "\"off\" is none of"),
        (&["--require", "much", "--", "touch", "ran"], "\"much\" is none of"),
        (&["--nothing", "--", "touch", "ran"], "Unknown option"),
    ];
    for (arguments, expected) in cases {
        let (code, message) = world.failure(&[&["sandbox"], *arguments].concat());
        assert_eq!(code, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    assert!(!world.project().join("ran").exists());
}
