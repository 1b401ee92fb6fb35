//! `pi undo` with checkpoints like those of an agent.

use pi_tools::checkpoint::{Checkpoints, Limits};

use crate::test_env::TestEnv;

const ID: &str = "0193aaaa-1111-7000-8000-000000000001";
const LATER: &str = "0193aaaa-2222-7000-8000-000000000002";

/// Creates a session with a run that changes one file, adds another and removes a third.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    env.session(ID, &env.project(), "Write a file");
    let write = |name: &str, text: &str| std::fs::write(env.project().join(name), text).unwrap();
    let mut checkpoints = open(&env, ID);
    write("a.txt", "one\n");
    write("c.txt", "old\n");
    checkpoints.take_found().unwrap();
    write("a.txt", "two\n");
    write("b.txt", "new\n");
    std::fs::remove_file(env.project().join("c.txt")).unwrap();
    checkpoints.take("Write a file\u{1b}[0m").unwrap();
    env
}

fn open(env: &TestEnv, id: &str) -> Checkpoints {
    let store = pi_config::checkpoints::checkpoint_directory(&env.agent(), id);
    Checkpoints::open(&store, &env.project(), Limits::default()).unwrap()
}

fn read(env: &TestEnv, name: &str) -> Option<String> {
    std::fs::read_to_string(env.project().join(name)).ok()
}

/// Replaces the times in a text.
fn timeless(text: &str) -> String {
    let is_time = |word: &str| word.len() == 5 && word.as_bytes()[2] == b':';
    let is_date = |word: &str| word.len() == 10 && word.starts_with("20");
    let word = |word: &str| match word {
        word if is_date(word) => "[DATE]".to_owned(),
        word if is_time(word) => "[TIME]".to_owned(),
        word => word.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn undo_and_redo_restore_files() {
    let env = setup();
    insta::assert_snapshot!("list", timeless(&env.out(&["undo", "--list"])));
    insta::assert_snapshot!("diff", env.out(&["undo", "--diff"]));
    assert_eq!(read(&env, "a.txt").as_deref(), Some("two\n"), "a diff changes nothing");
    insta::assert_snapshot!("undo", timeless(&env.out(&["undo"])));
    assert_eq!((read(&env, "a.txt").as_deref(), read(&env, "b.txt")), (Some("one\n"), None));
    assert_eq!(read(&env, "c.txt").as_deref(), Some("old\n"));
    assert!(env.out(&["undo", "--list"]).ends_with("(undone)\n"));
    let (code, message) = env.failure(&["undo"]);
    assert_eq!((code, message.as_str()), (Some(1), "pi: there is nothing to undo\n"));
    insta::assert_snapshot!("redo", timeless(&env.out(&["undo", "--redo", "--session", &ID[..6]])));
    assert_eq!(read(&env, "a.txt").as_deref(), Some("two\n"));
    let (code, message) = env.failure(&["undo", "--redo"]);
    assert_eq!((code, message.as_str()), (Some(1), "pi: there is nothing to redo\n"));
}

#[test]
fn the_latest_run_that_changed_something_is_undone() {
    let env = setup();
    // A later session, whose run changed nothing: there is only what was found.
    env.session(LATER, &env.project(), "List the files");
    let mut later = open(&env, LATER);
    later.take_found().unwrap();
    let undone = env.out(&["undo"]);
    let short = &ID[ID.len() - 8..];
    assert!(undone.contains(&format!(" in session {short}: Write a file")), "{undone}");
    assert_eq!(read(&env, "b.txt"), None);
    // The run of the later session is undone first, and redone last.
    env.out(&["undo", "--redo"]);
    std::fs::write(env.project().join("d.txt"), "later\n").unwrap();
    later.take("Add a file").unwrap();
    let exists = |name: &str| read(&env, name).is_some();
    assert!(env.out(&["undo"]).contains("removed d.txt"));
    assert!(exists("b.txt"));
    env.out(&["undo"]);
    assert!(!exists("b.txt"));
    assert!(env.out(&["undo", "--redo"]).contains("created b.txt"));
    assert!(env.out(&["undo", "--redo"]).contains("created d.txt"));
}

#[test]
fn changes_of_the_user_between_runs_are_kept() {
    let env = setup();
    std::fs::write(env.project().join("mine.txt"), "mine\n").unwrap();
    open(&env, ID).take_found().unwrap();
    env.out(&["undo"]);
    assert_eq!(read(&env, "mine.txt").as_deref(), Some("mine\n"));
    assert_eq!(read(&env, "a.txt").as_deref(), Some("one\n"));
}

#[test]
fn files_changed_by_the_user_are_left_alone_and_listed() {
    let env = setup();
    std::fs::write(env.project().join("a.txt"), "mine\n").unwrap();
    let (code, message) = env.failure(&["undo"]);
    assert_eq!(code, Some(1));
    assert_eq!(message, "pi: left alone a.txt: changed since the checkpoint\n");
    assert_eq!((read(&env, "a.txt").as_deref(), read(&env, "b.txt")), (Some("mine\n"), None));
}

#[test]
fn a_directory_without_checkpoints_is_explained() {
    let env = TestEnv::new();
    let home = env.agent().ancestors().nth(2).unwrap().to_owned();
    std::fs::create_dir_all(&home).unwrap();
    let output = env.command(&["undo"]).current_dir(&home).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("nothing to undo: no checkpoints are taken of the home"), "{stderr}");
    let settings = r#"{"checkpoints": {"enabled": false}}"#;
    std::fs::create_dir_all(env.agent()).unwrap();
    std::fs::write(env.agent().join("settings.json"), settings).unwrap();
    let (_, stderr) = env.failure(&["undo"]);
    assert!(stderr.contains("nothing to undo: checkpoints are disabled"), "{stderr}");
}

#[test]
fn missing_checkpoints_are_reported_and_not_created() {
    let env = TestEnv::new();
    let (code, message) = env.failure(&["undo"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        message,
        "pi: no session of this directory has checkpoints\nhint: choose a session with --session\n"
    );
    env.session(ID, &env.project(), "Hello");
    let (_, message) = env.failure(&["undo", "--session", ID]);
    assert_eq!(message, format!("pi: the session {ID} has no checkpoints\n"));
    assert!(!env.agent().join("checkpoints").exists());
}
