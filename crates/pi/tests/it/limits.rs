//! Limits of a run, as options and settings: exit code 4.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::bad_input::ServerEnv;
use crate::scenarios::format::{Call, Part, Reply, Status};

/// A model that makes the same call for ever, with or without a number in it.
fn looping(is_counting: bool) -> ServerEnv {
    let call = |n: usize| {
        let number = if is_counting { n } else { 0 };
        let args = json!({ "command": format!("echo {number}") });
        let call = Call { id: format!("call_{n}"), name: "bash".to_owned(), args, pieces: None };
        let finish = vec![json!("tool_calls"), json!(1000), json!(10)];
        Reply::Parts(vec![Part::Call(call), Part::Finish(finish)])
    };
    priced((0..60).map(call).collect(), &json!({ "input": 100 }))
}

/// A model with prices.
fn priced(replies: Vec<Reply>, prices: &Value) -> ServerEnv {
    let env = ServerEnv::new(replies);
    let mut cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
    cost.as_object_mut().unwrap().extend(prices.as_object().unwrap().clone());
    let model = json!({ "id": "m1", "contextWindow": 1_000_000, "maxTokens": 1000, "cost": cost });
    let provider = json!({ "baseUrl": format!("{}/v1", env.server.url()), "apiKey": "key",
        "api": "openai-completions", "models": [model] });
    env.write("models.json", json!({ "providers": { "mock": provider } }).to_string());
    env
}

#[test]
fn a_limit_ends_the_run() {
    let cases: [(&[&str], usize, &str); 6] = [
        (&["--max-turns", "3"], 3, "turns"),
        (&["--max-tool-calls", "4"], 5, "tool calls"),
        (&["--max-tokens", "2500"], 3, "tokens"),
        (&["--max-cost", "0.25"], 3, "cost"),
        (&["--max-calls", "bash=4"], 5, "calls of one tool"),
        (&["--max-output", "50"], 3, "output size"),
    ];
    for (options, requests, limit) in cases {
        let env = looping(true);
        let result = env.run(&[options, &["-p", "Loop"]].concat());
        let expected = format!("the run ended at a limit: {limit}");
        result.assert_failed(4, &[&expected, options[0]]);
        assert_eq!(env.server.requests().len(), requests, "{options:?}");
    }
}

/// A request that fails, a summary and a call of a tool count like the answers.
#[test]
fn retries_count() {
    let failing = Reply::Parts(vec![Part::Status(Status {
        code: 503,
        headers: Default::default(),
        body: json!("busy"),
    })]);
    let env = ServerEnv::new(vec![failing; 9]);
    env.run(&["--max-turns", "3", "-p", "Go"]).assert_failed(4, &["at a limit: turns"]);
    assert_eq!(env.server.requests().len(), 3);
}

#[test]
fn a_limit_ends_an_answer() {
    let cases: [(&[&str], &str); 3] = [
        (&["--max-output", "1KB"], "output size"),
        (&["--max-tokens", "100"], "tokens"),
        (&["--max-budget-usd", "0.01"], "cost"),
    ];
    for (options, limit) in cases {
        let mut parts = vec![Part::Text("0123456789".to_owned()); 200];
        // The answer never ends by itself.
        parts.push(Part::Hang);
        let env = priced(vec![Reply::Parts(parts)], &json!({ "output": 100 }));
        let result = env.run(&[options, &["-p", "Write"]].concat());
        result.assert_failed(4, &[&format!("the run ended at a limit: {limit}"), "raise it with"]);
    }
}

#[test]
fn a_limit_ends_a_tool() {
    let args = json!({ "command": "while :; do echo 0123456789012345678901234567890; done" });
    let call = Call { id: "1".to_owned(), name: "bash".to_owned(), args, pieces: None };
    let env = ServerEnv::new(vec![Reply::Parts(vec![
        Part::Call(call),
        Part::Finish(vec![json!("tool_calls")]),
    ])]);
    let result = env.run(&["--max-output", "20MB", "-p", "Emit"]);
    result.assert_failed(4, &["the run ended at a limit: output size", "--max-output"]);
    assert_eq!(env.server.requests().len(), 1);
}

#[test]
fn limits_hold_in_json_and_rpc_mode() {
    let env = looping(true);
    let result = env.run(&["--mode", "json", "--max-turns", "2", "-p", "Loop"]);
    assert_eq!(result.code, Some(4), "{result:?}");
    assert_eq!(env.server.requests().len(), 2);
    let end: Value = serde_json::from_str(result.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(end["type"], "agent_settled", "{end}");

    let mut command = env.command(&["--mode", "rpc", "--max-turns", "3"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", json!({ "id": "1", "type": "prompt", "message": "Loop" })).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.contains("agent_settled")).unwrap();
    drop(stdin);
    child.wait().unwrap();
    assert_eq!(env.server.requests().len(), 5);
}

#[test]
fn time_limits_end_the_run() {
    for option in ["--timeout", "--idle-timeout"] {
        let env = ServerEnv::new(vec![Reply::Parts(vec![Part::Hang])]);
        let result = env.run(&[option, "1s", "-p", "Wait"]);
        result.assert_failed(4, &["the run ended at a limit", option]);
    }
}

#[test]
fn limits_are_settings_too() {
    let env = looping(true);
    let settings = |limits| {
        json!({ "defaultProvider": "mock", "defaultModel": "m1", "limits": limits }).to_string()
    };
    env.write("settings.json", settings(json!({ "maxTurns": 2 })));
    env.run(&["-p", "Loop"]).assert_failed(4, &["turns"]);
    assert_eq!(env.server.requests().len(), 2);
    // An option takes precedence.
    env.run(&["--max-turns", "3", "-p", "Loop"]).assert_failed(4, &["turns"]);
    assert_eq!(env.server.requests().len(), 5);
    // A limit that cannot be understood is not ignored.
    for limits in [json!({ "maxTurn": 2 }), json!({ "maxTurns": "2" }), json!({ "maxCost": -1 })] {
        env.write("settings.json", settings(limits));
        env.run(&["-p", "Loop"]).assert_failed(6, &["limits.max"]);
    }
    assert_eq!(env.server.requests().len(), 5);
}

#[test]
fn a_run_that_no_one_watches_ends_when_the_model_repeats_itself() {
    for options in [&["-p", "Loop"][..], &["--profile", "unattended", "-p", "Loop"]] {
        let env = looping(false);
        let result = env.run(options);
        result.assert_failed(4, &["the model repeated itself: identical tool calls"]);
        assert_eq!(env.server.requests().len(), 10);
    }
    let env = looping(false);
    let settings = json!({ "defaultProvider": "mock", "defaultModel": "m1",
        "limits": { "detectLoops": false, "maxTurns": 20 } });
    env.write("settings.json", settings.to_string());
    env.run(&["-p", "Loop"]).assert_failed(4, &["turns"]);
}

#[test]
fn invalid_limits_are_usage_errors() {
    let cases = [
        (["--max-turns", "many"], "is not a whole number"),
        (["--max-cost", "free"], "is not an amount"),
        (["--timeout", "5d"], "is not a time"),
        (["--max-output", "5 elephants"], "is not a size"),
        (["--max-calls", "bash"], "is not TOOL=N"),
    ];
    let env = ServerEnv::with_answer();
    for (options, expected) in cases {
        env.run(&[&options[..], &["-p", "Hello"]].concat()).assert_failed(2, &[expected]);
    }
}
