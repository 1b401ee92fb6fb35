//! `pi policy replay`, over sessions as pi writes them and as it once did.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::World;

const ID: &str = "0193aaaa-1111-7000-8000-000000000001";
const OLD: &str = "0193bbbb-2222-7000-8000-000000000002";
const TIME: &str = "2026-01-02T03:04:05.678Z";
const FORBID: &str = "[[command]]\nprefix = [\"git\", \"push\"]\ndecision = \"forbid\"\n";

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({ "role": "assistant", "content": [
            { "type": "toolCall", "id": id, "name": name, "arguments": arguments }],
        "api": "openai-completions", "provider": "mock", "model": "m1", "stopReason": "toolUse",
        "usage": { "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
        "timestamp": 1_767_323_046_678_u64 })
}

fn result(id: &str, text: &str, is_error: bool) -> Value {
    json!({ "role": "toolResult", "toolCallId": id, "toolName": "x", "isError": is_error,
        "content": [{ "type": "text", "text": text }], "timestamp": 1_767_323_046_678_u64 })
}

/// What is done in every session.
fn messages() -> Vec<Value> {
    let bash = |id: &str, command: &str| call(id, "bash", &json!({ "command": command }));
    vec![
        json!({ "role": "user", "content": "Go", "timestamp": 1_767_323_045_678_u64 }),
        bash("c1", "git push origin main"),
        result("c1", "done", false),
        bash("c2", "git status"),
        result("c2", "clean", false),
        bash("c3", "unheard-of \u{1b}[31m"),
        result("c3", "This was not run: the user said no.", true),
        call("c4", "write", &json!({ "path": "secret/x", "content": "a" })),
        // It never came back.
        bash("c5", "git push --force"),
        json!({ "role": "bashExecution", "command": "git push --tags", "output": "", "exitCode": 0,
            "cancelled": false, "truncated": false, "timestamp": 1_767_323_046_678_u64 }),
    ]
}

/// Writes a session; `old` as the first version of the format had it, without ids.
fn session(world: &World, id: &str, cwd: &Path, old: bool) -> PathBuf {
    let directory = pi_session::session_directory(&world.agent(), cwd);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(format!("2026-01-02T03-04-05-678Z_{id}.jsonl"));
    let mut header = json!({ "type": "session", "id": id, "timestamp": TIME, "cwd": cwd });
    if !old {
        header["version"] = json!(3);
    }
    let mut text = format!("{header}\n");
    let mut parent = Value::Null;
    for (number, message) in messages().into_iter().enumerate() {
        let mut entry = json!({ "type": "message", "timestamp": TIME, "message": message });
        if !old {
            let id = json!(format!("aaaa{number:04}"));
            entry["parentId"] = std::mem::replace(&mut parent, id.clone());
            entry["id"] = id;
        }
        text.push_str(&format!("{entry}\n"));
    }
    std::fs::write(&path, text).unwrap();
    path
}

fn world() -> World {
    let world = World::new();
    session(&world, ID, &world.project(), false);
    std::fs::write(world.project().join("new.toml"), FORBID).unwrap();
    world
}

#[test]
fn rules_are_compared_with_none() {
    let world = world();
    let output = world.pi(&["policy", "replay", "--rules", "new.toml", ID]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = world.stable(&String::from_utf8(output.stdout).unwrap());
    let why = "a rule forbids it [[ROOT]/project/new.toml:1]";
    let expected = format!(
        "{ID} in [ROOT]/project\n\
         \x20 aaaa0001  allow -> forbid  bash: git push origin main\n\
         \x20     git push origin main: {why}\n\
         \x20 aaaa0009  allow -> forbid  bash: git push --tags\n\
         \x20     git push --tags: {why}\n\
         \x20 aaaa0008  allow -> forbid  bash: git push --force\n\
         \x20     git push --force: {why}\n"
    );
    assert_eq!(out, expected);
    assert_eq!(output.stderr, b"pi: 3 of 6 differ, in 1 sessions\n");
}

#[test]
fn without_rules_it_is_held_against_what_was_done() {
    let world = world();
    let rules = world.agent().join("rules");
    std::fs::create_dir_all(&rules).unwrap();
    let paths = "[[path]]\npaths = [\"secret\"]\naccess = \"write\"\ndecision = \"ask\"\n";
    std::fs::write(rules.join("mine.toml"), format!("{FORBID}{paths}")).unwrap();
    let text = world.out(&["policy", "replay", "--json", ID]);
    let list: Vec<Value> = serde_json::from_str(&text).unwrap();
    let found: Vec<[&str; 4]> = list
        .iter()
        .map(|one| ["entry", "old", "new", "what"].map(|key| one[key].as_str().unwrap()))
        .collect();
    let expected = [
        ["aaaa0001", "ran", "forbid", "git push origin main"],
        ["aaaa0005", "refused", "allow", "unheard-of \u{1b}[31m"],
        ["aaaa0007", "no result", "ask", "secret/x"],
        ["aaaa0009", "ran", "forbid", "git push --tags"],
        ["aaaa0008", "no result", "forbid", "git push --force"],
    ];
    assert_eq!(found, expected);
    assert_eq!(list[3]["byUser"], true);
    assert_eq!(list[2]["judgement"]["outcome"], "ask");
    assert!(!world.out(&["policy", "replay", ID]).contains('\u{1b}'));
    assert_eq!(
        world.out(&["policy", "replay", "--json", "--profile=explore", "--rules=new.toml"]),
        "[]\n",
        "they are there already"
    );
}

#[test]
fn all_sessions_of_a_directory_and_old_ones() {
    let world = world();
    session(&world, OLD, Path::new("/elsewhere"), true);
    let count = |arguments: &[&str]| {
        let line = [&["policy", "replay", "--json", "--rules", "new.toml"], arguments].concat();
        let list: Vec<Value> = serde_json::from_str(&world.out(&line)).unwrap();
        list.len()
    };
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&["--all"]), 6);
    assert_eq!(count(&[OLD]), 3, "a file of the first version");
    assert_eq!(count(&[OLD, ID]), 6);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_done() {
    let world = world();
    let line = ["policy", "replay", "--rules", "new.toml", "nobody", ID, "none.jsonl"];
    let output = world.pi(&line);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("No session found matching 'nobody'"), "{said}");
    assert!(said.contains("cannot read ") && said.contains("none.jsonl"), "{said}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("git push origin main"));
    // A damaged line.
    let path = session(&world, ID, &world.project(), false);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("{\"type\":\"message\"", "{\"type:", 1)).unwrap();
    let (code, said) = world.failure(&["policy", "replay", ID]);
    assert!(code == Some(1) && said.contains("damaged at byte"), "{said}");
    // Rules that cannot be used say nothing about any session.
    let (code, _) = world.failure(&["policy", "replay", "--rules", "none.toml", ID]);
    assert_eq!(code, Some(6));
}
