//! What decides the checks of `pi run`, known by watching them: what they run, read and look for.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::adversary::{run, run_with};
use super::commands;
use crate::scenarios::format::Reply;
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// A benchmark that measures a program.
const BENCH: &str = "#!/usr/bin/env python3\nimport subprocess, sys\n\
    speed = float(subprocess.check_output(['sh', 'work.sh']))\n\
    sys.exit(speed < float(sys.argv[2]))\n";
/// A check in three files.
const CHAIN: &str = "#!/bin/sh\nexec python3 scripts/run.py\n";
const RUN: &str = "import subprocess, sys\n\
    sys.exit(subprocess.call(['python3', 'scripts/compare.py']))\n";
const COMPARE: &str = "import sys\nsys.path.insert(0, '.')\nimport calc\n\
    sys.exit(calc.add(2, 3) != int(open('data/sum').read()))\n";
const BUG: &str = "def add(a, b):\n    return a - b\n";
/// A check that looks for plugins, and for modules in the directory before any other.
const PLUGINS: &str = "import os, sys\nsys.path.insert(0, os.getcwd())\nimport calc, colorsys\n\
    if os.path.exists('plugin.py'):\n    import plugin\n\
    sys.exit(calc.add(2, 3) != 5)\n";

fn project() -> TestEnv {
    let env = TestEnv::new();
    for (name, text) in [
        ("bench", BENCH),
        ("work.sh", "echo 1.0\n"),
        ("accept.sh", CHAIN),
        ("scripts/run.py", RUN),
        ("scripts/compare.py", COMPARE),
        ("look.py", PLUGINS),
        ("calc.py", BUG),
        ("data/sum", "5"),
        ("notes", "-\n"),
    ] {
        let path = env.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    set_executable(&env.project().join("bench"));
    env
}

fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn contract(check: &str, goal: &str) -> Value {
    json!({"goal": goal, "verify": [{"command": check}], "attempts": {"rounds": 1}})
}

const FIX: &str = "sed -i 's/a - b/a + b/' calc.py";
const PATCH: &str = "printf 'import calc\\ncalc.add = lambda a, b: a + b\\n'";

#[test]
fn what_a_check_runs_or_misses_is_a_part_of_it() {
    // A check, the goal, what the agent does, the exit code and a part of the message.
    let cases: &[(&str, &str, &str, i32, &str)] = &[
        (
            "./bench --minimum 2.0",
            "Make the work twice as fast.",
            "printf '#!/bin/sh\\n' > bench",
            10,
            "--may-change bench",
        ),
        ("./bench --minimum 2.0", "Speed up work.sh.", "echo echo 2.5 > work.sh", 0, ""),
        ("sh accept.sh", "Repair add.", "echo > scripts/run.py", 17, "scripts/run.py"),
        ("sh accept.sh", "Repair add.", "echo > scripts/compare.py", 17, "scripts/compare.py"),
        ("sh accept.sh", "Repair add.", "printf -- -1 > data/sum", 17, "data/sum"),
        ("sh accept.sh", "Correct data/sum.", "printf -- -1 > data/sum", 0, ""),
        ("sh accept.sh", "Repair add.", FIX, 0, ""),
        (
            "python3 look.py",
            "Repair add.",
            &format!("{PATCH} > plugin.py"),
            10,
            "--may-change plugin.py",
        ),
        (
            "python3 look.py",
            "Repair add.",
            &format!("{PATCH} > colorsys.py"),
            10,
            "--may-change colorsys.py",
        ),
        ("python3 look.py", "Repair add.", &format!("{FIX}; touch plugin.py"), 0, ""),
        ("python3 look.py", "Add plugin.py.", &format!("{PATCH} > plugin.py"), 0, ""),
        // A file that the check asks for.
        (
            "python3 hello.py | grep hello",
            "Say hello.",
            "echo 'print(\"hello\")' > hello.py",
            0,
            "",
        ),
        ("python3 -c 'import fresh'", "Go on.", "touch fresh.py", 0, ""),
        ("python3 -c 'print(1)' && grep -q done notes", "Go on.", "echo done > notes", 0, ""),
    ];
    for (check, goal, action, code, message) in cases {
        let env = project();
        let run = run(&env, &[action], contract(check, goal));
        assert_eq!(run.code, Some(*code), "{check}, {action}: {}", run.stderr);
        let said = format!("{}{}", run.failures(), run.stderr);
        assert!(said.contains(message), "{check}, {action}: {said}");
    }
}

#[test]
fn a_check_that_turns_green_by_itself_is_noticed() {
    let env = project();
    let outside = env.project().parent().unwrap().join("outside");
    fs::write(&outside, "").unwrap();
    let check = format!("test -s {}", outside.display());
    // Something outside of the workspace makes the check pass the second time.
    let server = Server::choosing(move |_, index| {
        fs::write(&outside, "x").unwrap();
        match index {
            0 => commands(&[("c", "echo done > notes")]),
            _ => Reply::Text("Done.".to_owned()),
        }
    });
    let run = run_with(&env, server.unwrap(), contract(&check, "Repair add."));
    assert_eq!(run.code, Some(17), "{}", run.stderr);
    assert!(run.stderr.contains("nothing that it uses changed"), "{}", run.stderr);
}

#[test]
fn the_report_says_which_changes_the_checks_read() {
    let env = project();
    let action = format!("{FIX}; echo done > notes");
    let run = run(&env, &[&action], contract("sh accept.sh", "Repair add."));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let files = run.report["files"].as_array().unwrap().iter();
    let read: Vec<_> =
        files.map(|file| (file["path"].as_str().unwrap(), file["readByChecks"] == true)).collect();
    assert_eq!(read, [("calc.py", true), ("notes", false)]);
}
