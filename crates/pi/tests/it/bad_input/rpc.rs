//! Garbage in RPC mode: every line is answered, and the next one is as good as any.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Place, finish};

/// A command that is answered in all circumstances.
const LAST: &[u8] = b"{\"id\":\"last\",\"type\":\"get_last_assistant_text\"}\n";

/// What is written for these lines, without the answer to the last command.
fn answers(place: &Place, lines: &[u8]) -> Vec<Value> {
    let input = [lines, LAST].concat();
    let ended = finish(place.world.command(&["--mode", "rpc"]), &input);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.said(&[]);
    let mut records: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
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
        ("a number that no number is", b"{\"type\":\"abort\",\"x\":1e999}\n", "Failed to parse"),
        ("a list", b"[]\n", ""),
        ("null", b"null\n", ""),
        ("no type", b"{\"id\":\"1\"}\n", ""),
        ("a type that is a number", b"{\"id\":\"1\",\"type\":5}\n", ""),
        ("an unknown command", b"{\"type\":\"fly\"}\n", "Unknown command: fly"),
        ("a field that is missing", b"{\"type\":\"prompt\"}\n", "message"),
        ("a field of another type", b"{\"type\":\"prompt\",\"message\":5}\n", "expected a string"),
        ("a mode that is none", b"{\"type\":\"set_steering_mode\",\"mode\":\"x\"}\n", "mode"),
        ("a level that is none", b"{\"type\":\"set_thinking_level\",\"level\":\"x\"}\n", "level"),
        (
            "an image that is none",
            b"{\"type\":\"prompt\",\"message\":\"a\",\"images\":[5]}\n",
            "Image",
        ),
        ("an entry that is none", b"{\"type\":\"fork\",\"entryId\":\"x\"}\n", "Invalid entry ID"),
        ("a session that is none", b"{\"type\":\"switch_session\",\"sessionPath\":\"/\"}\n", "/"),
        (
            "a model that is none",
            b"{\"type\":\"set_model\",\"provider\":\"x\",\"modelId\":\"y\"}\n",
            "x/y",
        ),
        ("an answer to nothing", b"{\"type\":\"extension_ui_response\"}\n", ""),
    ];
    for (name, line, words) in cases {
        let place = Place::with_answer();
        let answers = answers(&place, line);
        let [answer] = &answers[..] else { panic!("{name}: {answers:?}") };
        assert_eq!((&answer["type"], &answer["success"]), (&json!("response"), &json!(false)));
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(words) && !error.is_empty(), "{name}: {error}");
        assert!(error.len() < 500, "{name}: {} characters", error.len());
        assert!(place.server.requests().is_empty(), "{name}");
    }
}

#[test]
fn what_is_unusual_is_accepted() {
    let cases: &[(&str, &[u8], &[Value])] = &[
        ("unknown fields", b"{\"id\":\"1\",\"type\":\"abort_retry\",\"x\":[1]}\n", &[json!("1")]),
        (
            "the same id twice",
            b"{\"id\":\"1\",\"type\":\"abort_retry\"}\n{\"id\":\"1\",\"type\":\"abort_bash\"}\n",
            &[json!("1"), json!("1")],
        ),
        ("CRLF", b"{\"id\":\"1\",\"type\":\"abort_retry\"}\r\n", &[json!("1")]),
        ("an id that is no text", b"{\"id\":[7],\"type\":\"abort_retry\"}\n", &[json!([7])]),
        (
            "an answer that nobody waits for",
            b"{\"type\":\"extension_ui_response\",\"id\":\"x\"}\n",
            &[],
        ),
    ];
    for (name, lines, ids) in cases {
        let answers = answers(&Place::with_answer(), lines);
        let seen: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(seen, ids.iter().collect::<Vec<_>>(), "{name}");
        assert!(answers.iter().all(|answer| answer["success"] == true), "{name}: {answers:?}");
    }
}

/// The end in the middle of a line: what is there is a line.
#[test]
fn the_end_comes_in_the_middle() {
    for (end, words) in [
        ("{\"id\":\"1\",\"type\":\"ab", "\"success\":false"),
        ("{\"id\":\"1\",\"type\":\"abort_retry\"}", "\"success\":true"),
    ] {
        let place = Place::with_answer();
        let ended = finish(place.world.command(&["--mode", "rpc"]), end.as_bytes());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains(words), "{ended:?}");
        ended.said(&[]);
    }
}

/// A command that comes in pieces, with the answer to another one between them.
#[test]
fn half_lines_wait_for_the_rest() {
    let place = Place::with_answer();
    let mut command = place.world.command(&["--mode", "rpc"]);
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

/// A prompt of 20 MB is as good as any; what does not fit is the model's to say.
#[test]
fn a_long_prompt_is_sent() {
    let place = Place::with_answer();
    let text = "z".repeat(20_000_000);
    let line = format!("{{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"{text}\"}}\n");
    let records = answers(&place, line.as_bytes());
    let answer = records.iter().find(|record| record["id"] == "1").unwrap();
    assert_eq!(answer["data"]["disposition"], "started");
}
