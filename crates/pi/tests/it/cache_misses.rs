//! Misses of the prompt cache, where users see them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::bad_input::ServerEnv;
use crate::scenarios::format::{Part, Reply};

/// Returns an answer to a prompt of 5000 tokens, some of which were in the cache.
fn answer(cached: u64) -> Reply {
    let text = json!({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 5000, "completion_tokens": 2,
        "total_tokens": 5002, "prompt_tokens_details": {"cached_tokens": cached}}});
    let body = format!("data: {text}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
    Reply::Parts(vec![Part::Raw(format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    ))])
}

#[test]
fn a_changed_prefix_is_recorded_with_its_reason() {
    let env = ServerEnv::new(vec![answer(4000), answer(0)]);
    let mut command = env.command(&["--mode", "rpc"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut send = |command: &Value| writeln!(input, "{command}").unwrap();
    let mut until = |kind: &str| -> Value {
        loop {
            let line = lines.next().expect("the program ended").unwrap();
            let record: Value = serde_json::from_str(&line).unwrap();
            if record["type"] == kind || record["command"] == kind {
                return record;
            }
        }
    };
    send(&json!({"type": "prompt", "message": "The first question"}));
    until("agent_settled");
    send(&json!({"type": "get_session_stats"}));
    let stats = until("get_session_stats");
    assert_eq!(stats["data"]["promptCache"]["misses"], 0, "{stats}");
    send(&json!({"type": "get_fork_messages"}));
    let first = until("get_fork_messages")["data"]["messages"][0]["entryId"].clone();
    send(&json!({"type": "navigate_tree", "entryId": first}));
    assert_eq!(until("navigate_tree")["success"], true);
    send(&json!({"type": "prompt", "message": "Another question"}));
    until("agent_settled");
    send(&json!({"type": "get_session_stats"}));
    let stats = until("get_session_stats");
    let cache = &stats["data"]["promptCache"];
    assert_eq!(cache["misses"], 1, "{stats}");
    assert_eq!(cache["missedTokens"], 5000, "{stats}");
    assert_eq!(cache["reasons"]["prefix-changed"], 1, "{stats}");
    drop(input);
    child.wait().unwrap();

    let session = std::fs::read_to_string(&env.sessions()[0]).unwrap();
    let entries: Vec<Value> =
        session.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let misses: Vec<&Value> =
        entries.iter().filter(|entry| entry["customType"] == "pi.cache-miss").collect();
    let [miss] = misses[..] else { panic!("{session}") };
    assert_eq!(miss["data"]["reason"], "prefix-changed");
    let message = miss["data"]["message"].as_u64().unwrap();
    let shown = env.run(&["sessions", "show", env.sessions()[0].to_str().unwrap()]);
    let line = format!("miss      5000 tokens: the prompt changed at message {message}\n");
    assert!(shown.stdout.contains(&line), "{shown:?}");
    assert!(shown.stdout.contains("; 1 missed: 5000 tokens"), "{shown:?}");
}

#[test]
fn a_verbose_run_reports_misses() {
    let notice = "5000 tokens were not read from the prompt cache: the provider did not find the \
                  prompt";
    for (arguments, expected) in
        [(&["-p", "--verbose", "One", "Two"][..], 1), (&["-p", "One", "Two"], 0)]
    {
        let env = ServerEnv::new(vec![answer(4000), answer(0)]);
        let result = env.run(arguments);
        assert_eq!(result.stdout, "Hi.\n", "{result:?}");
        assert_eq!(result.stderr.matches(notice).count(), expected, "{result:?}");
    }
}
