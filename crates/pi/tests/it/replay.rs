//! `pi policy replay` with sessions in the current and the first format.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::test_env::TestEnv;

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

/// Returns the messages of every session.
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
        // This call has no result.
        bash("c5", "git push --force"),
        json!({ "role": "bashExecution", "command": "git push --tags", "output": "", "exitCode": 0,
            "cancelled": false, "truncated": false, "timestamp": 1_767_323_046_678_u64 }),
    ]
}

/// Writes a session; if `old`, in the first version of the format, which has no ids.
fn session(env: &TestEnv, id: &str, cwd: &Path, old: bool) -> PathBuf {
    let directory = pi_session::session_directory(&env.agent(), cwd);
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

fn setup() -> TestEnv {
    let env = TestEnv::new();
    session(&env, ID, &env.project(), false);
    std::fs::write(env.project().join("new.toml"), FORBID).unwrap();
    env
}

#[test]
fn given_rules_are_compared_with_no_rules() {
    let env = setup();
    let output = env.pi(&["policy", "replay", "--rules", "new.toml", ID]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = env.stable(&String::from_utf8(output.stdout).unwrap());
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
    assert_eq!(output.stderr, b"pi: 3 of 6 actions differ, in 1 sessions\n");
}

#[test]
fn without_rules_decisions_are_compared_with_the_record() {
    let env = setup();
    let rules = env.agent().join("rules");
    std::fs::create_dir_all(&rules).unwrap();
    let paths = "[[path]]\npaths = [\"secret\"]\naccess = \"write\"\ndecision = \"ask\"\n";
    std::fs::write(rules.join("mine.toml"), format!("{FORBID}{paths}")).unwrap();
    let text = env.out(&["policy", "replay", "--json", ID]);
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
    assert!(!env.out(&["policy", "replay", ID]).contains('\u{1b}'));
    assert_eq!(
        env.out(&["policy", "replay", "--json", "--profile=explore", "--rules=new.toml"]),
        "[]\n",
        "the rules apply already"
    );
}

#[test]
fn all_sessions_can_be_replayed() {
    let env = setup();
    session(&env, OLD, Path::new("/elsewhere"), true);
    let count = |arguments: &[&str]| {
        let line = [&["policy", "replay", "--json", "--rules", "new.toml"], arguments].concat();
        let list: Vec<Value> = serde_json::from_str(&env.out(&line)).unwrap();
        list.len()
    };
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&["--all"]), 6);
    assert_eq!(count(&[OLD]), 3, "a file in the first format");
    assert_eq!(count(&[OLD, ID]), 6);
}

#[test]
fn unreadable_sessions_are_reported_and_skipped() {
    let env = setup();
    let line = ["policy", "replay", "--rules", "new.toml", "unknown", ID, "none.jsonl"];
    let output = env.pi(&line);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("No session found matching 'unknown'"), "{stderr}");
    assert!(stderr.contains("cannot read ") && stderr.contains("none.jsonl"), "{stderr}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("git push origin main"));
    // A damaged line.
    let path = session(&env, ID, &env.project(), false);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("{\"type\":\"message\"", "{\"type:", 1)).unwrap();
    let (code, stderr) = env.failure(&["policy", "replay", ID]);
    assert!(code == Some(1) && stderr.contains("damaged at byte"), "{stderr}");
    // Invalid rules end the command.
    let (code, _) = env.failure(&["policy", "replay", "--rules", "none.toml", ID]);
    assert_eq!(code, Some(6));
}
