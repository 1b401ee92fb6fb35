//! The checkpoints that a run takes, with the binary and a scripted model.

use std::fs;

use serde_json::{Value, json};

use crate::guard::{bash, model, stderr};
use crate::test_env::TestEnv;

/// Returns the number of sessions with checkpoints.
fn sessions(env: &TestEnv) -> usize {
    pi_tools::checkpoint::usage(&env.agent().join("checkpoints")).unwrap().sessions
}

#[test]
fn only_runs_that_may_write_take_checkpoints() {
    let cases: [(&str, Value, usize); 6] = [
        ("ls", json!({}), 0),
        ("grep -rn x . | head -3; git status", json!({}), 0),
        ("touch new", json!({}), 1),
        ("ls > new", json!({}), 1),
        ("unheard-of", json!({}), 1),
        ("touch new", json!({"enabled": false}), 0),
    ];
    for (command, setting, expected) in cases {
        let env = TestEnv::new();
        let _server = model(&env, &[bash(command)]);
        let path = env.agent().join("settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        settings["checkpoints"] = setting;
        fs::write(&path, settings.to_string()).unwrap();
        env.out(&["-p", "go"]);
        assert_eq!(sessions(&env), expected, "{command}");
    }
}

#[test]
fn a_session_in_the_home_directory_says_that_it_cannot_be_undone() {
    let env = TestEnv::new();
    let _server = model(&env, &[bash("touch new")]);
    let output = env
        .command(&["-p", "go"])
        .env("HOME", env.project())
        .env("PI_CODING_AGENT_DIR", env.agent())
        .output()
        .unwrap();
    let text = stderr(&output);
    assert!(text.contains("cannot be undone in this session"), "{text}");
    assert_eq!(sessions(&env), 0);
    let output =
        env.command(&["-p", "go", "--no-session"]).env("HOME", env.project()).output().unwrap();
    assert!(!stderr(&output).contains("undone"));
}

#[test]
fn a_second_session_of_the_same_files_stores_nothing_again() {
    let env = TestEnv::new();
    for number in 0..50 {
        fs::write(env.project().join(format!("f{number}")), format!("{number} ").repeat(500))
            .unwrap();
    }
    let usage = || pi_tools::checkpoint::usage(&env.agent().join("checkpoints")).unwrap().bytes;
    let run = || {
        let _server = model(&env, &[("write", json!({"path": "new", "content": "x"}))]);
        env.out(&["-p", "go"]);
        fs::remove_file(env.project().join("new")).unwrap();
        usage()
    };
    let first = run();
    let second = run();
    assert!(second - first < 2000, "{first}, then {second}");
}
