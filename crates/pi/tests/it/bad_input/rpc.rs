//! Garbage in RPC mode: every line is answered, and the next line works as usual.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{ServerEnv, finish};

/// A command that is always answered.
const LAST: &[u8] = b"{\"id\":\"last\",\"type\":\"get_last_assistant_text\"}\n";

/// Sends these lines and returns all records except the response to the last command.
fn answers(env: &ServerEnv, lines: &[u8]) -> Vec<Value> {
    let input = [lines, LAST].concat();
    let result = finish(env.command(&["--mode", "rpc"]), &input);
    assert_eq!(result.code, Some(0), "{result:?}");
    result.assert_stderr(&[]);
    let mut records: Vec<Value> =
        result.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = records.iter().position(|record| record["id"] == "last");
    let last = records.remove(last.unwrap_or_else(|| panic!("no answer to the last: {records:?}")));
    assert_eq!(last["success"], true, "{last}");
    records
}

#[test]
fn garbage_is_answered_with_an_error() {
    let deep =
        format!("{{\"type\":\"abort\",\"x\":{}{}}}\n", "[".repeat(10_000), "]".repeat(10_000));
    let long = [b"{\"type\":\"prompt\",\"message\":\"", &[b'x'; 50_000_000][..], b"\n"].concat();
    let cases: &[(&str, &[u8], &str)] = &[
        ("binary", b"\0\x01\xff\xfe{\x80\n", "Failed to parse command"),
        ("a line of 50 MB that is not closed", &long, "Failed to parse command"),
        ("10,000 levels", deep.as_bytes(), "Failed to parse command: recursion limit"),
        ("an empty line", b"\n", "Failed to parse command"),
        ("a number out of range", b"{\"type\":\"abort\",\"x\":1e999}\n", "Failed to parse"),
        ("a list", b"[]\n", ""),
        ("null", b"null\n", ""),
        ("no type", b"{\"id\":\"1\"}\n", ""),
        ("a type that is a number", b"{\"id\":\"1\",\"type\":5}\n", ""),
        ("an unknown command", b"{\"type\":\"fly\"}\n", "Unknown command: fly"),
        ("a missing field", b"{\"type\":\"prompt\"}\n", "message"),
        (
            "a field of the wrong type",
            b"{\"type\":\"prompt\",\"message\":5}\n",
            "expected a string",
        ),
        ("an invalid mode", b"{\"type\":\"set_steering_mode\",\"mode\":\"x\"}\n", "mode"),
        ("an invalid level", b"{\"type\":\"set_thinking_level\",\"level\":\"x\"}\n", "level"),
        ("an invalid image", b"{\"type\":\"prompt\",\"message\":\"a\",\"images\":[5]}\n", "Image"),
        ("an unknown entry", b"{\"type\":\"fork\",\"entryId\":\"x\"}\n", "Invalid entry ID"),
        ("an invalid session", b"{\"type\":\"switch_session\",\"sessionPath\":\"/\"}\n", "/"),
        (
            "an unknown model",
            b"{\"type\":\"set_model\",\"provider\":\"x\",\"modelId\":\"y\"}\n",
            "x/y",
        ),
        ("a response without an id", b"{\"type\":\"extension_ui_response\"}\n", ""),
    ];
    for (name, line, words) in cases {
        let env = ServerEnv::with_answer();
        let answers = answers(&env, line);
        let [answer] = &answers[..] else { panic!("{name}: {answers:?}") };
        assert_eq!((&answer["type"], &answer["success"]), (&json!("response"), &json!(false)));
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(words) && !error.is_empty(), "{name}: {error}");
        assert!(error.len() < 500, "{name}: {} characters", error.len());
        assert!(env.server.requests().is_empty(), "{name}");
    }
}

#[test]
fn unusual_commands_are_accepted() {
    let cases: &[(&str, &[u8], &[Value])] = &[
        ("unknown fields", b"{\"id\":\"1\",\"type\":\"abort_retry\",\"x\":[1]}\n", &[json!("1")]),
        (
            "the same id twice",
            b"{\"id\":\"1\",\"type\":\"abort_retry\"}\n{\"id\":\"1\",\"type\":\"abort_bash\"}\n",
            &[json!("1"), json!("1")],
        ),
        ("CRLF", b"{\"id\":\"1\",\"type\":\"abort_retry\"}\r\n", &[json!("1")]),
        ("an id that is not a string", b"{\"id\":[7],\"type\":\"abort_retry\"}\n", &[json!([7])]),
        (
            "a response that no request waits for",
            b"{\"type\":\"extension_ui_response\",\"id\":\"x\"}\n",
            &[],
        ),
    ];
    for (name, lines, ids) in cases {
        let answers = answers(&ServerEnv::with_answer(), lines);
        let seen: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(seen, ids.iter().collect::<Vec<_>>(), "{name}");
        assert!(answers.iter().all(|answer| answer["success"] == true), "{name}: {answers:?}");
    }
}

/// The text after the last line feed counts as a line.
#[test]
fn input_may_end_without_a_line_feed() {
    for (end, words) in [
        ("{\"id\":\"1\",\"type\":\"ab", "\"success\":false"),
        ("{\"id\":\"1\",\"type\":\"abort_retry\"}", "\"success\":true"),
    ] {
        let env = ServerEnv::with_answer();
        let result = finish(env.command(&["--mode", "rpc"]), end.as_bytes());
        assert_eq!(result.code, Some(0), "{result:?}");
        assert!(result.stdout.contains(words), "{result:?}");
        result.assert_stderr(&[]);
    }
}

/// A command arrives in chunks, with the response to another command in between.
#[test]
fn partial_lines_are_buffered() {
    let env = ServerEnv::with_answer();
    let mut command = env.command(&["--mode", "rpc"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answer = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    stdin.write_all(b"{\"id\":\"1\",\"type\":\"abort_retry\"}\n{\"id\":\"2\",").unwrap();
    assert_eq!(answer()["id"], "1");
    // Half a character, too.
    stdin.write_all(b"\"type\":\"set_session_name\",\"name\":\"caf\xc3").unwrap();
    stdin.write_all(b"\xa9\"}\n{\"id\":\"3\",\"type\":\"get_state\"}\n").unwrap();
    let mut seen: Vec<Value> = Vec::new();
    while !seen.iter().any(|record| record["id"] == "3") {
        seen.push(answer());
    }
    let state = seen.iter().find(|record| record["id"] == "3").unwrap();
    assert_eq!(state["data"]["sessionName"], "caf\u{e9}");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

/// The model decides whether a prompt of 20 MB is too long.
#[test]
fn a_long_prompt_is_sent() {
    let env = ServerEnv::with_answer();
    let text = "z".repeat(20_000_000);
    let line = format!("{{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"{text}\"}}\n");
    let records = answers(&env, line.as_bytes());
    let answer = records.iter().find(|record| record["id"] == "1").unwrap();
    assert_eq!(answer["data"]["disposition"], "started");
}
