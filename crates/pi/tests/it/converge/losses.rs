//! What a user could lose in a run: edits that other programs make meanwhile, stashes, branches and
//! files of pi.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pi_guard::confine::ConfinementLevel;
use serde_json::{Value, json};

use super::gate::Gate;
use super::project::{bash, command, create, model, shell};
use super::toolchain::search_path;
use super::{configure, run_file, runs};
use crate::guard::rung;
use crate::scenarios::format::{Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

fn sandboxed() -> bool {
    rung() != ConfinementLevel::None
}

fn user_writes(env: &TestEnv, name: &str, content: &str) {
    let path = env.project().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn read(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.project().join(name)).unwrap_or_default()
}

/// Returns the name of the only run.
fn id(env: &TestEnv) -> String {
    runs(env)[0].file_name().unwrap().to_str().unwrap().to_owned()
}

fn spawn(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end of a process and returns its exit code and its stderr.
fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns a contract whose check waits at a gate and then compares the value.
fn contract(gate: &Gate) -> Value {
    let check = format!("{}; grep -q right value", gate.command());
    json!({"verify": [{"command": check}], "attempts": {"rounds": 0}})
}

/// Creates a project whose value is wrong.
fn project() -> TestEnv {
    create(&[
        ("value", "wrong\n"),
        ("mine.txt", "mine\n"),
        ("old.txt", "old\n"),
        (".gitignore", "*.log\n"),
    ])
}

/// Edits that the user makes while a run works, and asserts that they are there.
struct UserEdits;

impl UserEdits {
    fn make(env: &TestEnv, stage: &str) {
        user_writes(env, "mine.txt", &format!("edited {stage}\n"));
        user_writes(env, &format!("notes/{stage}.txt"), stage);
        user_writes(env, &format!("{stage}.log"), stage);
        let _ = fs::remove_file(env.project().join("old.txt"));
    }

    #[track_caller]
    fn assert_kept(env: &TestEnv, stages: &[&str]) {
        let last = stages.last().unwrap();
        assert_eq!(read(env, "mine.txt"), format!("edited {last}\n"));
        for stage in stages {
            assert_eq!(read(env, &format!("notes/{stage}.txt")), *stage);
            assert_eq!(read(env, &format!("{stage}.log")), *stage);
        }
        assert!(!env.project().join("old.txt").exists());
    }
}

#[test]
fn edits_during_the_checks_stay() {
    if !sandboxed() {
        return;
    }
    for (repair, code) in [("right", 0), ("worse", 10)] {
        let env = project();
        let server = model(vec![bash(&format!("echo {repair} > value"))]);
        configure(&env, &server);
        let mut gate = Gate::new();
        let mut child = spawn(command(&env, contract(&gate), &[]));
        let waiting = gate.wait(&mut child).unwrap();
        UserEdits::make(&env, "before");
        waiting.pass();
        let waiting = gate.wait(&mut child).unwrap();
        UserEdits::make(&env, "after");
        waiting.pass();
        let (found, stderr) = ended(child);
        assert_eq!(found, Some(code), "{stderr}");
        UserEdits::assert_kept(&env, &["before", "after"]);
        assert_eq!(read(&env, "value"), format!("{repair}\n"));
    }
}

#[test]
fn edits_after_a_signal_during_the_checks_stay() {
    if !sandboxed() {
        return;
    }
    for (signal, when) in [("KILL", 1), ("KILL", 2), ("TERM", 1), ("TERM", 2)] {
        let env = project();
        let server = model(vec![bash("echo right > value")]);
        configure(&env, &server);
        let mut gate = Gate::new();
        let mut child = spawn(command(&env, contract(&gate), &[]));
        for _ in 1..when {
            gate.let_pass(&mut child);
        }
        let waiting = gate.wait(&mut child).unwrap();
        let pid = child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        assert!(sent.unwrap().success());
        child.wait().unwrap();
        waiting.pass();
        UserEdits::make(&env, "later");
        let id = id(&env);
        let mut resumed = spawn(env.command(&["run", "--resume", &id]));
        // A refusal is an answer, too; a run that goes on makes its checks again.
        while let Some(waiting) = gate.wait(&mut resumed) {
            waiting.pass();
        }
        let (code, stderr) = ended(resumed);
        assert!(matches!(code, Some(0 | 2)), "{signal} {when}: {code:?} {stderr}");
        UserEdits::assert_kept(&env, &["later"]);
    }
}

#[test]
fn edits_stay_when_a_failed_run_is_undone() {
    if !sandboxed() {
        return;
    }
    for (action, attempts) in [("rollback", 1), ("patch", 1), ("keep", 2), ("rollback", 2)] {
        let env = project();
        let made = "echo worse > value; echo made > made.txt";
        let server = model(vec![bash(made)]);
        configure(&env, &server);
        let mut gate = Gate::new();
        let mut contract = contract(&gate);
        contract["on_failure"] = json!(action);
        contract["attempts"] = json!({"rounds": 0, "count": attempts});
        let mut child = spawn(command(&env, contract, &[]));
        gate.let_pass(&mut child);
        let waiting = gate.wait(&mut child).unwrap();
        UserEdits::make(&env, "during");
        waiting.pass();
        for _ in 1..attempts {
            gate.let_pass(&mut child);
        }
        let (code, stderr) = ended(child);
        assert_eq!(code, Some(10), "{action} {attempts}: {stderr}");
        UserEdits::assert_kept(&env, &["during"]);
        let is_undone = action != "keep" || attempts > 1;
        assert_eq!(read(&env, "made.txt").is_empty(), is_undone, "{action} {attempts}: {stderr}");
    }
}

#[test]
fn conflicts_with_edits_of_the_user_are_named() {
    if !sandboxed() {
        return;
    }
    for (mode, action) in [("in-place", "rollback"), ("copy", "keep"), ("worktree", "keep")] {
        let env = project();
        let is_failure = action == "rollback";
        let repair = if is_failure { "worse" } else { "right" };
        let server = model(vec![bash(&format!("echo {repair} > value; echo agent >> mine.txt"))]);
        configure(&env, &server);
        let mut gate = Gate::new();
        let mut contract = contract(&gate);
        contract["workspace"] = json!({"mode": mode});
        contract["on_failure"] = json!(action);
        let mut child = spawn(command(&env, contract, &[]));
        gate.let_pass(&mut child);
        let waiting = gate.wait(&mut child).unwrap();
        let text = format!("{}the user\n", read(&env, "mine.txt"));
        user_writes(&env, "mine.txt", &text);
        waiting.pass();
        let (_, stderr) = ended(child);
        assert!(
            read(&env, "mine.txt").contains("the user\n"),
            "{mode}: {}",
            read(&env, "mine.txt")
        );
        let problems = run_file(&env, "report.json")["problems"].to_string();
        assert!(problems.contains("mine.txt"), "{mode}: {problems} {stderr}");
    }
}

#[test]
fn one_directory_has_one_run() {
    if !sandboxed() {
        return;
    }
    let env = project();
    let held = || Reply::Parts(vec![Part::Gate("held".to_owned()), Part::Text("Done.".to_owned())]);
    let server = Server::choosing(move |_, _| held()).unwrap();
    configure(&env, &server);
    let contract = json!({"verify": [{"command": "true"}], "attempts": {"rounds": 0}});
    let first = spawn(command(&env, contract.clone(), &[]));
    assert!(server.wait_for_requests(1, Duration::from_secs(120)));
    user_writes(&env, "mine.txt", "edited\n");
    let (code, stderr) = ended(spawn(command(&env, contract, &[])));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("another run works in"), "{stderr}");
    server.open("held");
    let (code, stderr) = ended(first);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(read(&env, "mine.txt"), "edited\n");
}

#[test]
fn files_of_pi_are_not_in_the_workspace() {
    for ignored in ["", ".pi-agent/\n"] {
        let env = create(&[("value", "wrong\n"), (".gitignore", ignored)]);
        let server = model(vec![bash("echo right > value")]);
        configure(&env, &server);
        let own: PathBuf = env.project().join(".pi-agent");
        let moved = shell(&env, &format!("cp -r {} .pi-agent", env.agent().display()));
        assert!(moved.status.success(), "{moved:?}");
        let mut command = env.command(&["run", "Go", "--check", "grep right value"]);
        command.env("PI_CODING_AGENT_DIR", &own).env("PATH", search_path());
        let (code, stderr) = ended(spawn(command));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("where pi keeps its own files"), "{stderr}");
        assert_eq!(read(&env, "value"), "wrong\n");
        assert!(server.requests().is_empty());
    }
}

/// Returns what a user can lose in a repository.
fn references(env: &TestEnv) -> String {
    let script =
        "git for-each-ref; git stash list; git reflog --all | wc -l; git log --all --format=%s";
    String::from_utf8(shell(env, script).stdout).unwrap()
}

#[test]
fn branches_and_stashes_that_a_run_destroys_come_back() {
    if !sandboxed() {
        return;
    }
    for (action, code) in [("rollback", 10), ("keep", 0)] {
        let env = project();
        let prepare = "git config user.name a && git config user.email a@example.com \
            && git branch feature && git switch -q feature && git commit -q --allow-empty \
            -m feature && git switch -q - && echo stashed > mine.txt && git stash -q";
        let prepared = shell(&env, prepare);
        assert!(prepared.status.success(), "{prepared:?}");
        let before = references(&env);
        let destroy = "import subprocess as s; s.run('git branch -D feature; git stash clear; \
            git reflog expire --expire=now --all; git gc -q --prune=now', shell=True)";
        let value = if code == 0 { "right" } else { "worse" };
        let script = format!("echo {value} > value; python3 -c \"{destroy}\"");
        let server = model(vec![bash(&script)]);
        configure(&env, &server);
        let contract = json!({
            "verify": [{"command": "grep -q right value"}],
            "attempts": {"rounds": 0},
            "on_failure": action,
        });
        let (ended, stderr) = ended(spawn(command(&env, contract, &[])));
        assert_eq!(ended, Some(code), "{action}: {stderr}");
        if code == 0 {
            // A plain undo in the directory finds the run.
            assert_eq!(read(&env, "value"), "right\n");
            let undone = env.out(&["undo"]);
            assert!(undone.contains("restored value"), "{undone}");
        }
        assert_eq!(read(&env, "value"), "wrong\n", "{action}: {stderr}");
        assert_eq!(references(&env), before, "{action}: {stderr}");
    }
}
