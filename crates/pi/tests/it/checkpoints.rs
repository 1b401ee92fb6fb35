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

#[cfg(target_os = "linux")]
#[test]
fn sessions_of_a_directory_with_an_invalid_name_are_found_again() {
    use std::os::unix::ffi::OsStrExt as _;
    let env = TestEnv::new();
    let directory = env.project().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&directory).unwrap();
    let run = |arguments: &[&str]| {
        let output = env.command(arguments).current_dir(&directory).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let _server = model(&env, &[("write", json!({"path": "new", "content": "x"}))]);
    run(&["-p", "Write a file"]);
    assert!(directory.join("new").exists());
    assert!(run(&["sessions", "list"]).contains("Write a file"));
    run(&["undo"]);
    assert!(!directory.join("new").exists());
    let server = model(&env, &[]);
    run(&["-c", "-p", "And now?"]);
    assert!(server.requests()[0].to_string().contains("Write a file"));
}

#[test]
fn a_session_that_begins_with_a_file_has_the_words_of_the_user_as_its_title() {
    let env = TestEnv::new();
    fs::write(env.project().join("a.txt"), "line one\n").unwrap();
    let _server = model(&env, &[]);
    env.out(&["-p", "@a.txt", "Explain **this** file"]);
    let list = env.out(&["sessions", "list"]);
    assert!(list.contains("Explain **this** file") && !list.contains("<file"), "{list}");
    let directory = pi_session::session_directory(&env.agent(), &env.project());
    let session = fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let page = env.project().join("page.html");
    env.out(&["sessions", "export", session.to_str().unwrap(), page.to_str().unwrap()]);
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("<title>Explain **this** file"), "title");
    assert!(html.contains("Explain <strong>this</strong> file"), "prose");
}

/// The context still says that the file was written; without a note, the model would believe it.
#[test]
fn the_model_is_told_that_the_user_took_its_changes_back() {
    let env = TestEnv::new();
    fs::write(env.project().join("old.txt"), "before\n").unwrap();
    let calls = [
        ("write", json!({"path": "new.txt", "content": "x"})),
        ("write", json!({"path": "old.txt", "content": "after\n"})),
    ];
    let _server = model(&env, &calls);
    env.out(&["-p", "Write some files"]);
    env.out(&["undo"]);
    assert_eq!(fs::read_to_string(env.project().join("old.txt")).unwrap(), "before\n");
    let told = |prompt: &str| {
        let server = model(&env, &[]);
        env.out(&["-c", "-p", prompt]);
        let messages = server.requests()[0]["messages"].clone();
        messages.as_array().unwrap().iter().map(Value::to_string).collect::<Vec<_>>()
    };
    let messages = told("What is in old.txt?");
    let [.., note, prompt] = messages.as_slice() else { panic!("{messages:?}") };
    assert!(prompt.contains("What is in old.txt?"), "{prompt}");
    for words in ["took back", "Write some files", "removed new.txt", "restored old.txt"] {
        assert!(note.contains(words), "{words}: {note}");
    }
    // The note is an entry of the log: it stays, and is not repeated.
    let messages = told("And now?");
    assert_eq!(messages.iter().filter(|one| one.contains("took back")).count(), 1);
    env.out(&["undo", "--redo"]);
    let messages = told("And after redo?");
    assert!(messages.iter().any(|one| one.contains("repeated the file changes")), "{messages:?}");
}
