//! Limits of a run, as options and settings: exit code 4.

use serde_json::json;

use crate::bad_input::ServerEnv;
use crate::scenarios::format::{Call, Part, Reply};

/// A model that makes the same call for ever, with or without a number in it.
fn looping(is_counting: bool) -> ServerEnv {
    let call = |n: usize| {
        let number = if is_counting { n } else { 0 };
        let args = json!({ "command": format!("echo {number}") });
        let call = Call { id: format!("call_{n}"), name: "bash".to_owned(), args, pieces: None };
        let finish = vec![json!("tool_calls"), json!(1000), json!(10)];
        Reply::Parts(vec![Part::Call(call), Part::Finish(finish)])
    };
    let env = ServerEnv::new((0..60).map(call).collect());
    let model = json!({ "id": "m1", "contextWindow": 1_000_000, "maxTokens": 1000,
        "cost": { "input": 100, "output": 0, "cacheRead": 0, "cacheWrite": 0 } });
    let provider = json!({ "baseUrl": format!("{}/v1", env.server.url()), "apiKey": "key",
        "api": "openai-completions", "models": [model] });
    env.write("models.json", json!({ "providers": { "mock": provider } }).to_string());
    env
}

#[test]
fn a_limit_ends_the_run() {
    let cases: [(&[&str], usize, &str); 4] = [
        (&["--max-turns", "3"], 3, "turns"),
        (&["--max-tool-calls", "4"], 5, "tool calls"),
        (&["--max-tokens", "2500"], 3, "tokens"),
        (&["--max-cost", "0.25"], 3, "cost"),
    ];
    for (options, requests, limit) in cases {
        let env = looping(true);
        let result = env.run(&[options, &["-p", "Loop"]].concat());
        let expected = format!("the run ended at a limit: {limit}");
        result.assert_failed(4, &[&expected, options[0]]);
        assert_eq!(env.server.requests().len(), requests, "{options:?}");
    }
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
fn an_unattended_run_ends_when_the_model_repeats_itself() {
    let env = looping(false);
    let result = env.run(&["--profile", "unattended", "-p", "Loop"]);
    result.assert_failed(4, &["the model repeated itself: identical tool calls"]);
    assert_eq!(env.server.requests().len(), 10);
}

#[test]
fn invalid_limits_are_usage_errors() {
    let cases = [
        (["--max-turns", "many"], "is not a whole number"),
        (["--max-cost", "free"], "is not an amount"),
        (["--timeout", "5d"], "is not a time"),
    ];
    let env = ServerEnv::with_answer();
    for (options, expected) in cases {
        env.run(&[&options[..], &["-p", "Hello"]].concat()).assert_failed(2, &[expected]);
    }
}
