//! The profile `unattended`: files of the workspace can be destroyed if they can be restored.

use std::fs;

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
        "git reset --hard HEAD~3",
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
