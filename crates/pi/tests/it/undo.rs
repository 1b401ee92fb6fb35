//! `pi undo` with checkpoints like those of an agent.

use pi_tools::checkpoint::{Checkpoints, Limits};

use crate::test_env::TestEnv;

const ID: &str = "0193aaaa-1111-7000-8000-000000000001";

/// Creates a session with two checkpoints; the second changes one file and adds another.
fn setup() -> TestEnv {
    let env = TestEnv::new();
    env.session(ID, &env.project(), "Write a file");
    let store = pi_coding_agent::checkpoint_directory(&env.agent(), ID);
    let mut checkpoints = Checkpoints::open(&store, &env.project(), Limits::default()).unwrap();
    let write = |name: &str, text: &str| std::fs::write(env.project().join(name), text).unwrap();
    write("a.txt", "one\n");
    checkpoints.take("before").unwrap();
    write("a.txt", "two\n");
    write("b.txt", "new\n");
    checkpoints.take("Write a file\u{1b}[0m").unwrap();
    env
}

fn read(env: &TestEnv, name: &str) -> Option<String> {
    std::fs::read_to_string(env.project().join(name)).ok()
}

#[test]
fn undo_and_redo_restore_files() {
    let env = setup();
    insta::assert_snapshot!("list", env.out(&["undo", "--list"]));
    insta::assert_snapshot!("diff", env.out(&["undo", "--diff"]));
    assert_eq!(read(&env, "a.txt").as_deref(), Some("two\n"), "a diff changes nothing");
    insta::assert_snapshot!("undo", env.out(&["undo"]));
    assert_eq!((read(&env, "a.txt").as_deref(), read(&env, "b.txt")), (Some("one\n"), None));
    assert!(env.out(&["undo", "--list"]).starts_with("* "));
    let (code, message) = env.failure(&["undo"]);
    assert_eq!((code, message.as_str()), (Some(1), "pi: there is nothing to undo\n"));
    env.out(&["undo", "--redo", "--session", &ID[..6]]);
    assert_eq!(read(&env, "a.txt").as_deref(), Some("two\n"));
    let (code, message) = env.failure(&["undo", "--redo"]);
    assert_eq!((code, message.as_str()), (Some(1), "pi: there is nothing to redo\n"));
}

#[test]
fn files_changed_by_the_user_are_left_alone_and_listed() {
    let env = setup();
    std::fs::write(env.project().join("a.txt"), "mine\n").unwrap();
    let (code, message) = env.failure(&["undo"]);
    assert_eq!(code, Some(1));
    assert!(message.starts_with("pi: not restored: a.txt: "), "{message}");
    assert_eq!((read(&env, "a.txt").as_deref(), read(&env, "b.txt")), (Some("mine\n"), None));
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
