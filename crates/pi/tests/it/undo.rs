//! `pi undo`: over checkpoints as an agent takes them.

use pi_tools::checkpoint::{Checkpoints, Limits};

use crate::world::World;

const ID: &str = "0193aaaa-1111-7000-8000-000000000001";

/// A session whose agent wrote two files, the second over the first.
fn world() -> World {
    let world = World::new();
    world.session(ID, &world.project(), "Write a file");
    let store = pi_coding_agent::checkpoint_directory(&world.agent(), ID);
    let mut checkpoints = Checkpoints::open(&store, &world.project(), Limits::default()).unwrap();
    let write = |name: &str, text: &str| std::fs::write(world.project().join(name), text).unwrap();
    write("a.txt", "one\n");
    checkpoints.take("before").unwrap();
    write("a.txt", "two\n");
    write("b.txt", "new\n");
    checkpoints.take("Write a file\u{1b}[0m").unwrap();
    world
}

fn read(world: &World, name: &str) -> Option<String> {
    std::fs::read_to_string(world.project().join(name)).ok()
}

#[test]
fn undoes_and_redoes() {
    let world = world();
    insta::assert_snapshot!("list", world.out(&["undo", "--list"]));
    insta::assert_snapshot!("diff", world.out(&["undo", "--diff"]));
    assert_eq!(read(&world, "a.txt").as_deref(), Some("two\n"), "a diff changes nothing");
    insta::assert_snapshot!("undo", world.out(&["undo"]));
    assert_eq!((read(&world, "a.txt").as_deref(), read(&world, "b.txt")), (Some("one\n"), None));
    assert!(world.out(&["undo", "--list"]).starts_with("* "));
    let (code, message) = world.failure(&["undo"]);
    assert_eq!((code, message.as_str()), (Some(1), "pi: there is nothing to undo\n"));
    world.out(&["undo", "--redo", "--session", &ID[..6]]);
    assert_eq!(read(&world, "a.txt").as_deref(), Some("two\n"));
    let (code, message) = world.failure(&["undo", "--redo"]);
    assert_eq!((code, message.as_str()), (Some(1), "pi: there is nothing to redo\n"));
}

#[test]
fn what_the_user_changed_is_left_alone_and_named() {
    let world = world();
    std::fs::write(world.project().join("a.txt"), "mine\n").unwrap();
    let (code, message) = world.failure(&["undo"]);
    assert_eq!(code, Some(1));
    assert!(message.starts_with("pi: left as it is: a.txt: "), "{message}");
    assert_eq!((read(&world, "a.txt").as_deref(), read(&world, "b.txt")), (Some("mine\n"), None));
}

#[test]
fn without_checkpoints_it_says_so_and_creates_nothing() {
    let world = World::new();
    let (code, message) = world.failure(&["undo"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("no session of this directory has checkpoints"), "{message}");
    world.session(ID, &world.project(), "Hello");
    let (_, message) = world.failure(&["undo", "--session", ID]);
    assert_eq!(message, format!("pi: the session {ID} has no checkpoints\n"));
    assert!(!world.agent().join("checkpoints").exists());
}
