//! The limits that providers report, where users see them.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::bad_input::ServerEnv;
use crate::scenarios::format::{Part, Reply};

/// Returns an answer with headers of limits.
fn limited_answer() -> Reply {
    let event = json!({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]});
    let body = format!("data: {event}\n\ndata: [DONE]\n\n");
    Reply::Parts(vec![Part::Raw(format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\
         x-ratelimit-limit-requests: 14400\r\nx-ratelimit-remaining-requests: 14370\r\n\
         x-ratelimit-reset-requests: 2h59m\r\nx-ratelimit-remaining-tokens: 17997\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    ))])
}

#[test]
fn a_verbose_run_shows_the_limits() {
    let env = ServerEnv::new(vec![limited_answer()]);
    let result = env.run(&["-p", "--verbose", "Hello"]);
    let line = result.stderr.lines().find(|line| line.contains("answer after"));
    let line = line.unwrap_or_else(|| panic!("{result:?}"));
    let (_, limits) = line.split_once("; limits: ").unwrap_or_else(|| panic!("{line}"));
    assert_eq!(limits, "requests: 14,370 of 14,400 left, reset in 2 h 59 min; tokens: 17,997 left");
    let quiet = ServerEnv::new(vec![limited_answer()]).run(&["-p", "Hello"]);
    assert!(!quiet.stderr.contains("limits"), "{quiet:?}");
}

#[test]
fn statistics_have_the_limits_of_each_account() {
    for (arguments, name) in [(&[][..], "mock"), (&["--account", "mock@work"], "mock@work")] {
        let env = ServerEnv::new(vec![limited_answer()]);
        env.write("auth.json", r#"{"mock@work": {"type": "api_key", "key": "work-key"}}"#);
        let mut command = env.command(&[&["--mode", "rpc"], arguments].concat());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut lines =
            std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
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
        send(&json!({"type": "get_session_stats"}));
        assert_eq!(until("get_session_stats")["data"].get("rateLimits"), None);
        send(&json!({"type": "prompt", "message": "Hello"}));
        until("agent_end");
        send(&json!({"type": "get_session_stats"}));
        let stats = until("get_session_stats");
        let limits = &stats["data"]["rateLimits"][name];
        assert_eq!(limits["requests"]["limit"], 14_400, "{stats}");
        assert_eq!(limits["requests"]["remaining"], 14_370);
        let time = limits["time"].as_f64().unwrap();
        let wait = limits["requests"]["reset"].as_f64().unwrap() - time;
        assert!((wait - 10_740_000.0).abs() < 60_000.0, "{wait}");
        assert_eq!(limits["tokens"], json!({"remaining": 17_997}));
        drop(input);
        child.wait().unwrap();
    }
}
