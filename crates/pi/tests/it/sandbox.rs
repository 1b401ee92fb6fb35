//! `pi sandbox` with real processes, at the isolation that the machine offers.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use pi_guard::confine::{ConfinementLevel, Machine};
use serde_json::Value;

use crate::test_env::TestEnv;

/// Returns true if the machine has a sandbox. Otherwise asserts that no command runs.
fn has_sandbox(env: &TestEnv) -> bool {
    let rung = Machine::detect().level();
    if rung == ConfinementLevel::None {
        let (code, message) = env.failure(&["sandbox", "--", "touch", "ran"]);
        assert_eq!(code, Some(8), "{message}");
        assert!(!env.project().join("ran").exists());
    }
    rung != ConfinementLevel::None
}

/// Creates a subdirectory that is writable at every level of isolation.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join("sub")).unwrap();
    env
}

/// Returns the beginnings of command lines: with the isolation of this machine, and without
/// bubblewrap, which does not work inside a sandbox.
fn prefixes() -> Vec<Vec<&'static str>> {
    let mut prefixes = vec![vec!["sandbox", "-q", "--"]];
    if Machine::detect().level() == ConfinementLevel::Bubblewrap {
        let inner = env!("CARGO_BIN_EXE_pi");
        prefixes.push(vec!["sandbox", "-q", "--", inner, "sandbox", "-q", "--"]);
    }
    prefixes
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let env = setup();
    if !has_sandbox(&env) {
        return;
    }
    std::fs::write(env.project().join("file"), "").unwrap();
    let cases: &[(&[&str], i32)] = &[
        (&["true"], 0),
        (&["sh", "-c", "exit 3"], 3),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["no-such-program"], 127),
        (&["./file"], 126),
    ];
    for prefix in prefixes() {
        for (command, code) in cases {
            let output = env.pi(&[&prefix, *command].concat());
            assert_eq!(output.status.code(), Some(*code), "{prefix:?} {command:?}: {output:?}");
        }
    }
}

#[test]
fn only_the_workspace_is_writable_and_keys_are_hidden() {
    let env = setup();
    if !has_sandbox(&env) {
        return;
    }
    let home = env.project().join("../home");
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id"), "key").unwrap();
    std::fs::create_dir_all(env.project().join("../more")).unwrap();
    let script = "echo in > sub/in; echo t > $TMPDIR/t && echo tmp
        echo out > ../home/out; cat ../home/.ssh/id; echo key=$SOME_API_KEY; echo m > ../more/m";
    for prefix in prefixes() {
        let mut command = env.command(&[&prefix, &["sh", "-c", script][..]].concat());
        let output = command.env("SOME_API_KEY", "hunter2").output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(out, "tmp\nkey=\n", "{prefix:?}");
        assert!(env.project().join("sub/in").exists(), "{prefix:?}");
        assert!(!home.join("out").exists() && !env.project().join("../more/m").exists());
        std::fs::remove_file(env.project().join("sub/in")).unwrap();
    }
    env.out(&["sandbox", "--add-dir", "../more", "--", "sh", "-c", "echo m > ../more/m"]);
    assert!(env.project().join("../more/m").exists());
    let read_only = ["sandbox", "--sandbox=read-only", "--", "sh", "-c", "echo x > sub/x"];
    assert_ne!(env.pi(&read_only).status.code(), Some(0));
    assert!(!env.project().join("sub/x").exists());
}

#[test]
fn the_restrictions_are_printed_first() {
    let env = setup();
    if !has_sandbox(&env) {
        return;
    }
    let rung = Machine::detect().level();
    let (code, stderr) = env.failure(&["sandbox", "--", "true"]);
    assert_eq!(code, Some(0), "{stderr}");
    let expected = format!("pi: sandbox workspace-write ({rung}), no network");
    assert!(stderr.starts_with(&expected), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert_eq!(env.failure(&["sandbox", "--quiet", "--", "true"]).1, "");
    let (code, stderr) = env.failure(&["sandbox", "--require", "bubblewrap", "--", "true"]);
    assert_eq!(code, Some(if rung == ConfinementLevel::Bubblewrap { 0 } else { 8 }), "{stderr}");
    if rung == ConfinementLevel::Bubblewrap {
        // Bubblewrap cannot be nested.
        let inner = env!("CARGO_BIN_EXE_pi");
        let line = ["sandbox", "-q", "--", inner, "sandbox", "--require", "bubblewrap", "--"];
        let (code, stderr) = env.failure(&[&line[..], &["touch", "sub/ran"]].concat());
        assert_eq!(code, Some(8), "{stderr}");
        assert!(stderr.contains("bubblewrap") && stderr.contains("is required"), "{stderr}");
        assert!(!env.project().join("sub/ran").exists());
    }
}

#[test]
fn streams_are_inherited() {
    let env = setup();
    if !has_sandbox(&env) {
        return;
    }
    for prefix in prefixes() {
        std::fs::write(env.project().join("input"), "hello").unwrap();
        let input = std::fs::File::open(env.project().join("input")).unwrap();
        let script = "cat; echo problem >&2";
        let mut command = env.command(&[&prefix, &["sh", "-c", script][..]].concat());
        let output = command.stdin(input).output().unwrap();
        assert_eq!(output.stdout, b"hello", "{prefix:?}");
        assert_eq!(output.stderr, b"problem\n", "{prefix:?}");
    }
}

#[test]
fn signals_are_forwarded() {
    let env = setup();
    if !has_sandbox(&env) {
        return;
    }
    // The command waits on a pipe, so that the test needs no sleep.
    let script = "trap 'echo interrupted; exit 7' INT; trap 'echo ended; exit 9' TERM
        echo ready; while :; do read line || exit 1; done";
    for prefix in prefixes() {
        for (signal, word, code) in [("INT", "interrupted", 7), ("TERM", "ended", 9)] {
            let mut command = env.command(&[&prefix, &["sh", "-c", script][..]].concat());
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut out = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n", "{prefix:?}");
            let id = child.id().to_string();
            assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
            // The shell runs its traps when it has read something.
            line.clear();
            out.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), word, "{prefix:?}");
            assert_eq!(child.wait().unwrap().code(), Some(code), "{prefix:?}");
        }
    }
}

#[test]
fn no_process_remains() {
    let env = setup();
    if !has_sandbox(&env) {
        return;
    }
    for prefix in prefixes() {
        // A remaining process would keep the pipe open, and reading would not end.
        let script = "(setsid sleep 1000 &) ; (sleep 1000 &) ; echo done";
        let mut command = env.command(&[&prefix, &["sh", "-c", script][..]].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), child.wait().unwrap().code()), ("done\n", Some(0)));
    }
    if Machine::detect().level() == ConfinementLevel::Bubblewrap {
        // The same holds if pi is killed with SIGKILL.
        let mut command = env.command(&["sandbox", "-q", "--", "sh", "-c", "echo on; sleep 1000"]);
        // Files of the killed program are removed with the test environment.
        command.env("TMPDIR", env.project().join(".."));
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
fn no_file_remains() {
    let env = setup();
    if !has_sandbox(&env) {
        return;
    }
    let tmp = env.project().join("../tmp");
    std::fs::create_dir(&tmp).unwrap();
    for more in [&["-q"], &["--json"]] {
        let line = [&["sandbox"], &more[..], &["--", "true"]].concat();
        let output = env.command(&line).env("TMPDIR", &tmp).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let names = |directory: &std::path::Path| -> Vec<_> {
            std::fs::read_dir(directory).unwrap().map(|one| one.unwrap().file_name()).collect()
        };
        assert_eq!(names(&env.project()), ["sub"], "{more:?}");
        assert!(names(&tmp).is_empty(), "{more:?}");
    }
}

#[test]
fn json_output_is_one_object() {
    let env = setup();
    if !has_sandbox(&env) {
        return;
    }
    std::fs::create_dir_all(env.project().join("../more")).unwrap();
    let script = "echo out; echo problem >&2; touch ../more/x";
    let output = env.pi(&["sandbox", "--json", "--", "sh", "-c", script]);
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
    let output = env.pi(&["sandbox", "--json", "--", "no-such-program"]);
    assert_eq!(output.status.code(), Some(127));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["exitCode"], 127);
    // Large output is cut at its beginning.
    let script = "head -c 4000000 /dev/zero | tr '\\0' x; echo end";
    let output = env.pi(&["sandbox", "--json", "--", "sh", "-c", script]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = object["output"].as_str().unwrap();
    assert!(text.len() == 1024 * 1024 && text.ends_with("xend\n") && object["truncated"] == true);
}

#[test]
fn unlisted_hosts_are_refused_and_reported() {
    let env = setup();
    if !has_sandbox(&env) {
        return;
    }
    let line = ["sandbox", "--json", "--network=good.example", "--"];
    // The request goes to the proxy only; nothing leaves the machine.
    let script = "printf 'CONNECT bad.example:443 HTTP/1.1\\r\\nHost: bad.example:443\\r\\n\\r\\n' \
        >&3; head -n 1 <&3; exit 1";
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}}; {script}");
    let output = env.pi(&[&line[..], &["bash", "-c", &script]].concat());
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
fn an_invalid_command_line_runs_nothing() {
    let env = setup();
    let cases: &[(&[&str], &str)] = &[
        (&[], "missing argument"),
        (
            &["--sandbox", "off", "--", "touch", "ran"],
            "invalid value \"off\": expected read-only or workspace-write",
        ),
        (
            &["--require", "much", "--", "touch", "ran"],
            "invalid value \"much\": expected none, landlock or bubblewrap",
        ),
        (&["--nothing", "--", "touch", "ran"], "Unknown option"),
    ];
    for (arguments, expected) in cases {
        let (code, message) = env.failure(&[&["sandbox"], *arguments].concat());
        assert_eq!(code, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    assert!(!env.project().join("ran").exists());
}

/// Scripts after which `git status` of the user would run a program, without a sandbox.
const PLANTED: &[&str] = &[
    // The repository uses another one, whose settings cannot be renamed to the usual name.
    "mkdir -p .git/commondir.disabled-by-pi/x evil/.git/config.disabled-by-pi/x; \
     echo ../evil/.git > .git/commondir",
    // The same, and no directory can be listed.
    "echo ../evil/.git > .git/commondir; chmod 311 evil/.git .git",
    "git config core.fsmonitor \"touch $MARK; false\"; chmod 555 .git",
    "mv .git moved; mv evil/.git .git; chmod 111 .git",
];

#[test]
fn what_a_command_plants_for_git_has_no_effect() {
    let prepare = || {
        let env = setup();
        let mark = env.project().join("../mark");
        let setup = "git init -q . && git init -q evil && \
            git -C evil config core.fsmonitor \"touch $MARK; false\"";
        bash(&env, &mark, setup);
        (env, mark)
    };
    for script in PLANTED {
        let (env, mark) = prepare();
        bash(&env, &mark, script);
        bash(&env, &mark, "chmod -R u+rwX .; git status");
        assert!(mark.exists(), "{script}: it has no effect without the sandbox");

        let (env, mark) = prepare();
        if !has_sandbox(&env) {
            return;
        }
        // Its own settings are those of the user; what a command copies is not.
        bash(&env, &mark, "rm -r evil/.git");
        let mark_name = mark.to_str().unwrap();
        let script = format!(
            "export MARK={mark_name}; git init -q evil; \
             git -C evil config core.fsmonitor \"touch $MARK; false\"; {script}"
        );
        let output = env.pi(&["sandbox", "-q", "--", "bash", "-c", &script]);
        bash(&env, &mark, "git status; git -C evil status; git -C moved status");
        bash(&env, &mark, "chmod -R u+rwX .; git status; git -C evil status");
        assert!(!mark.exists(), "{script}: {output:?}");
        for name in [".git/commondir", ".pi", ".agents"] {
            assert!(!env.project().join(name).exists(), "{script}: {name}");
        }
    }
}

/// Runs a script of the user, without the settings of this machine.
fn bash(env: &TestEnv, mark: &std::path::Path, script: &str) {
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(env.project()).env("MARK", mark);
    command.env("HOME", env.project().join("sub")).env("GIT_CONFIG_NOSYSTEM", "1");
    command.output().unwrap();
}
