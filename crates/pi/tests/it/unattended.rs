//! The profile `unattended`: files of the workspace can be destroyed if they can be restored.

use std::fs;
use std::process::Command;

use pi_guard::confine::ConfinementLevel;
use serde_json::{Value, json};

use crate::guard::{bash, model, results, rung, stderr};
use crate::test_env::TestEnv;

/// A project with sources and build output.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    for (name, text) in [
        ("src/a/one.txt", "one\n"),
        ("src/two.txt", "two\n"),
        ("src/three.pyc", "three\n"),
        ("out/target/x.o", "object\n"),
        ("out/.gitignore", "target\n"),
    ] {
        let path = env.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    env
}

const DESTRUCTIVE: [&str; 5] = [
    "rm -rf out/target",
    "rm -r src/a",
    "truncate -s 0 src/two.txt",
    "find src -name '*.pyc' -delete",
    "cd src && rm -f two.txt",
];

#[test]
fn files_of_the_workspace_can_be_destroyed_and_restored() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = setup();
    let server = model(&env, &DESTRUCTIVE.map(bash));
    let output = env.pi(&["-p", "--profile", "unattended", "Go"]);
    assert!(output.status.success(), "{output:?}");
    let results = results(&server);
    assert!(!results.concat().contains("not allowed"), "{results:#?}");
    let exists = |name: &str| env.project().join(name).exists();
    let names = ["src/a/one.txt", "src/two.txt", "src/three.pyc", "out/target/x.o"];
    assert_eq!(names.map(exists), [false; 4]);
    env.out(&["undo"]);
    // An ignored file is not part of a checkpoint.
    assert_eq!(names.map(exists), [true, true, true, false]);
    assert_eq!(fs::read_to_string(env.project().join("src/two.txt")).unwrap(), "two\n");
}

#[test]
fn nothing_is_destroyed_that_cannot_be_restored() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let set = |env: &TestEnv, key: &str, value: Value| {
        let path = env.agent().join("settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        settings[key] = value;
        fs::write(&path, settings.to_string()).unwrap();
    };
    let disabled = |env: &TestEnv| set(env, "checkpoints", json!({"enabled": false}));
    // The store cannot be created.
    let broken = |env: &TestEnv| fs::write(env.agent().join("checkpoints"), "").unwrap();
    let nothing = |_: &TestEnv| {};
    let cases: [(&dyn Fn(&TestEnv), &[&str], &str); 3] = [
        (&disabled, &[], ": "),
        (&nothing, &["--no-session"], ": "),
        (&broken, &[], "the workspace has no checkpoint: "),
    ];
    for (prepare, options, reason) in cases {
        let env = setup();
        let server =
            model(&env, &[DESTRUCTIVE.map(bash).as_slice(), &[bash("touch src/n")]].concat());
        prepare(&env);
        let output = env.pi(&[&["-p", "--profile", "unattended"], options, &["Go"]].concat());
        assert!(output.status.success(), "{output:?}");
        let results = results(&server);
        for result in &results[..DESTRUCTIVE.len()] {
            assert!(result.starts_with("This is not allowed and was not run. "), "{result}");
            assert!(result.contains(reason), "{result}");
        }
        for name in ["src/a/one.txt", "src/two.txt", "src/three.pyc", "out/target/x.o", "src/n"] {
            assert!(env.project().join(name).exists(), "{name}: {}", stderr(&output));
        }
    }
}

#[test]
fn what_destroys_beyond_the_workspace_is_refused_and_costs_no_checkpoint() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = setup();
    let commands = [
        "rm -rf /opt/other",
        "truncate -s 0 /srv/file",
        "git push --force origin main",
        "git push origin :main",
        "git clean -xdf",
        "git -C /srv/other branch -D x",
        "sudo rm x",
    ];
    let server = model(&env, &commands.map(bash));
    let output = env.pi(&["-p", "--profile", "unattended", "Go"]);
    assert!(output.status.success(), "{output:?}");
    for (command, result) in commands.iter().zip(results(&server)) {
        assert!(result.starts_with("This is not allowed and was not run. "), "{command}: {result}");
    }
    let checkpoints = pi_tools::checkpoint::usage(&env.agent().join("checkpoints"));
    assert_eq!(checkpoints.map_or(0, |usage| usage.sessions), 0);
}

#[test]
fn saved_output_is_removed_at_the_end() {
    if rung() == ConfinementLevel::None {
        return;
    }
    for mode in [&["-p"][..], &["--mode", "json"]] {
        let env = TestEnv::new();
        let server = model(&env, &[bash("seq 1 200000"), bash("ls")]);
        let temporary = env.project().parent().unwrap().join("temporary");
        fs::create_dir(&temporary).unwrap();
        let mut command = env.command(&[mode, &["--profile", "unattended", "Go"]].concat());
        let output = command.env("TMPDIR", &temporary).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let results = results(&server);
        let saved = temporary.join("pi-bash-");
        assert!(results[0].contains(saved.to_str().unwrap()), "{}", results[0]);
        let left: Vec<_> = fs::read_dir(&temporary).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// A guardrail that rewrites results decides before any event shows them.
#[test]
fn no_event_shows_a_result_before_a_guardrail_rewrote_it() {
    let show = |settings: &Value| {
        let env = TestEnv::new();
        let server = model(&env, &[bash("echo ACCOUNT-4711; sleep 0.3; echo more")]);
        let path = env.agent().join("settings.json");
        let text = fs::read_to_string(&path).unwrap();
        let mut all: Value = serde_json::from_str(&text).unwrap();
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        fs::write(path, all.to_string()).unwrap();
        let out = env.out(&["--mode", "json", "Go"]);
        assert!(results(&server)[0].contains("more"), "{:?}", results(&server));
        // The call itself names it.
        let events = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let ends = ["tool_execution_update", "tool_execution_end"];
        let results = events.filter(|event| ends.iter().any(|kind| event["type"] == *kind));
        results
            .map(|event| format!("{}{}", event["partialResult"], event["result"]))
            .collect::<String>()
    };
    let rule = json!({ "matches": "ACCOUNT-[0-9]+" });
    let guardrail = json!({ "name": "a", "on": "tool-result", "rule": rule, "action": "rewrite" });
    assert!(show(&json!({})).contains("ACCOUNT-4711"));
    let shown = show(&json!({ "guardrails": [guardrail] }));
    assert!(!shown.contains("ACCOUNT-4711") && shown.contains("[removed]"), "{shown}");
}

/// A repository with branches, tags, a stash and logs.
const REPOSITORY: &str = "git init -q -b main . && echo 1 > a && git add a && git commit -qm one \
    && echo 2 > a && git commit -qam two && git switch -qc feature \
    && git commit -q --allow-empty -m feature && git switch -q main && git tag v1 \
    && git update-ref refs/remotes/origin/x feature && echo s > a && git stash -q";

fn sh(env: &TestEnv, script: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(env.project())
        .env("HOME", env.project().with_file_name("home"))
        .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
        .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a user can lose in a repository.
fn references(env: &TestEnv) -> String {
    sh(
        env,
        "git for-each-ref; git symbolic-ref HEAD; git stash list; git reflog --all | wc -l; \
        git log --all --format=%s; git fsck --connectivity-only 2>&1 | grep missing; cat a",
    )
}

#[test]
fn what_a_command_destroys_in_the_repository_is_undone_or_refused() {
    let python = |call: &str| format!("python3 -c \"import subprocess as s; s.run({call})\"");
    let commands = [
        "git branch -D feature".to_owned(),
        "git branch -rd origin/x".to_owned(),
        "git tag -d v1".to_owned(),
        "git stash clear".to_owned(),
        "git stash drop".to_owned(),
        "git reset --hard HEAD~1".to_owned(),
        "git update-ref -d refs/heads/feature".to_owned(),
        "git reflog expire --expire=now --all && git gc -q --prune=now".to_owned(),
        python("['git','branch','-D','feature']"),
        python("['git','stash','clear']"),
        python(
            "'git stash clear; git branch -D feature; git reflog expire --expire=now --all; \
            git gc -q --prune=now', shell=True",
        ),
    ];
    let mut undone = 0;
    for command in &commands {
        let env = TestEnv::new();
        sh(&env, REPOSITORY);
        let before = references(&env);
        // Without pi, it is lost.
        let copy = env.project().with_extension("copy");
        sh(&env, &format!("cp -a . {} && cd {} && {command}", copy.display(), copy.display()));
        let lost = sh(
            &env,
            &format!(
                "cd {} && git for-each-ref; git stash list; git reflog --all | wc -l",
                copy.display()
            ),
        );
        let same = sh(&env, "git for-each-ref; git stash list; git reflog --all | wc -l");
        assert_ne!(lost, same, "{command}");
        if rung() == ConfinementLevel::None {
            continue;
        }
        let _server = model(&env, &[bash(command)]);
        let output = env.pi(&["-p", "--profile", "unattended", "Go"]);
        assert!(output.status.success(), "{output:?}");
        if references(&env) != before {
            undone += 1;
            env.out(&["undo"]);
        }
        assert_eq!(references(&env), before, "{command}");
    }
    // With Landlock alone, commands cannot write the repository.
    assert!(rung() != ConfinementLevel::Bubblewrap || undone == commands.len(), "{undone}");
}

#[test]
fn large_ignored_files_are_not_destroyed_and_small_ones_come_back() {
    if rung() == ConfinementLevel::None {
        return;
    }
    let env = setup();
    let put =
        |name: &str, size: usize| fs::write(env.project().join(name), vec![b'x'; size]).unwrap();
    // With Landlock alone, nothing can be removed beside `.git`.
    fs::create_dir(env.project().join("data")).unwrap();
    fs::write(env.project().join(".gitignore"), "*.db\n.env\n").unwrap();
    put("data/big.db", 3_000_000);
    put("data/small.db", 3_000);
    put("data/.env", 30);
    let commands = [
        "rm -f data/big.db",
        "rm data/big.db",
        "find . -name '*.db' -delete",
        "rm data/small.db data/.env",
    ];
    let server = model(&env, &commands.map(bash));
    let output = env.pi(&["-p", "--profile", "unattended", "Go"]);
    assert!(output.status.success(), "{output:?}");
    let results = results(&server);
    for (command, result) in commands.iter().zip(&results[..3]) {
        assert!(result.contains("no checkpoint covers"), "{command}: {result}");
    }
    let exists = |name: &str| env.project().join(name).exists();
    assert_eq!(["data/big.db", "data/small.db", "data/.env"].map(exists), [true, false, false]);
    env.out(&["undo"]);
    assert_eq!(["data/big.db", "data/small.db", "data/.env"].map(exists), [true; 3]);
}
