//! Each limit of a contract: exact between turns, in the middle of an answer, and of a tool call. The
//! checks are made at a limit, too.

use std::fs;

use pi_guard::confine::ConfinementLevel;
use serde_json::{Value, json};

use super::{configure, run_file};
use crate::bad_input::{Finished, finish};
use crate::guard::rung;
use crate::scenarios::format::{Call, Part, Reply};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// An answer that calls `bash`, with 1000 tokens of input and 10 of output.
fn command(number: usize, command: &str) -> Reply {
    let args = json!({ "command": command });
    let call = Call { id: format!("call{number}"), name: "bash".to_owned(), args, pieces: None };
    let finish = vec![json!("tool_calls"), json!(1000), json!(10)];
    Reply::Parts(vec![Part::Call(call), Part::Finish(finish)])
}

/// Runs a contract with these limits. Returns the result, the report and the requests.
fn run(
    limits: &Value,
    choose: impl Fn(usize) -> Reply + Send + Sync + 'static,
) -> (Finished, Value, usize) {
    run_task(&json!({ "limits": limits }), choose)
}

/// Runs a contract with these fields.
fn run_task(
    fields: &Value,
    choose: impl Fn(usize) -> Reply + Send + Sync + 'static,
) -> (Finished, Value, usize) {
    let env = TestEnv::new();
    let server = Server::choosing(move |_, number| choose(number)).unwrap();
    configure(&env, &server);
    let models = env.agent().join("models.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&models).unwrap()).unwrap();
    file["providers"]["mock"]["models"][0]["cost"] =
        json!({ "input": 100, "output": 1000, "cacheRead": 0, "cacheWrite": 0 });
    fs::write(&models, file.to_string()).unwrap();
    let mut task = fields.clone();
    task["goal"] = "Work.".into();
    fs::write(env.project().join("task.json"), task.to_string()).unwrap();
    let finished = finish(env.command(&["run", "task.json"]), &[]);
    let report = run_file(&env, "report.json");
    (finished, report, server.requests().len())
}

#[track_caller]
fn assert_limit((finished, report, _): &(Finished, Value, usize), limit: &str) {
    assert_eq!(finished.code, Some(4), "{finished:?}");
    assert_eq!(report["outcome"], "limit", "{report}");
    assert_eq!(report["limits"]["reached"], limit, "{report}");
}

#[test]
fn every_limit_is_exact_between_turns() {
    let cases = [
        (json!({ "turns": 3 }), "turns", 3),
        (json!({ "tool_calls": 4 }), "tool-calls", 5),
        (json!({ "tokens": 2500 }), "tokens", 3),
        (json!({ "cost_usd": 0.25 }), "cost", 3),
        (json!({ "per_tool": { "bash": 2 } }), "calls-per-tool", 3),
        (json!({ "output_bytes": "1KB" }), "output-bytes", 3),
    ];
    for (limits, limit, requests) in cases {
        let padding = if limit == "output-bytes" { 200 } else { 1 };
        let ended = run(&limits, move |number| {
            command(number, &format!("echo {}; echo {number} >> log", "x".repeat(padding)))
        });
        assert_limit(&ended, limit);
        assert_eq!(ended.2, requests, "{limit}");
        let spent = &ended.1["limits"]["spent"];
        assert_eq!(spent["turns"], requests, "{spent}");
    }
}

#[test]
fn a_limit_ends_an_answer_in_the_middle() {
    let cases = [
        (json!({ "output_bytes": 5000 }), "output-bytes"),
        (json!({ "tokens": 200 }), "tokens"),
        (json!({ "cost_usd": 0.1 }), "cost"),
        (json!({ "wall": "2s" }), "wall-time"),
        (json!({ "idle": "2s" }), "idle-time"),
    ];
    for (limits, limit) in cases {
        let ended = run(&limits, |_| {
            let mut parts = vec![Part::Text("0123456789".repeat(10)); 100];
            // The answer never ends by itself.
            parts.push(Part::Hang);
            Reply::Parts(parts)
        });
        assert_limit(&ended, limit);
        assert_eq!(ended.2, 1, "{limit}");
    }
}

#[test]
fn a_limit_ends_a_tool_in_the_middle() {
    let emit = "yes 0123456789012345678901234567890123456789 | head -c 100000000; touch done";
    let cases = [
        (json!({ "output_bytes": "20MB" }), emit, "output-bytes"),
        (json!({ "wall": "3s" }), "tail -f /dev/null", "wall-time"),
        (json!({ "idle": "3s" }), "tail -f /dev/null", "idle-time"),
    ];
    for (limits, script, limit) in cases {
        let ended = run(&limits, move |number| command(number, script));
        assert_limit(&ended, limit);
        assert_eq!(ended.2, 1, "{limit}");
        let bytes = ended.1["limits"]["spent"]["outputBytes"].as_u64().unwrap();
        assert!(bytes < 90_000_000, "the command went on: {bytes}");
    }
}

#[test]
fn checks_are_made_at_a_limit_that_is_no_time() {
    if rung() == ConfinementLevel::None {
        return;
    }
    const WORK: &str = "echo right > value";
    let check = json!({ "command": "grep right value" });
    let review = json!({ "review": { "rubric": "Is it right?" } });
    let table = [
        (json!({ "turns": 1 }), WORK, vec![&check], 0, "Finished at the limit of 1 turns."),
        (json!({ "tool_calls": 1 }), WORK, vec![&check], 0, "at the limit of 1 tool calls."),
        (json!({ "tokens": 1000 }), WORK, vec![&check], 0, "at the limit of 1000 tokens."),
        (json!({ "cost_usd": 0.1 }), WORK, vec![&check], 0, "Finished at the limit of $0.1."),
        (json!({ "turns": 1 }), "true", vec![&check], 4, "its limit: turns. Checks failed: grep"),
        (json!({ "turns": 1 }), WORK, vec![&check, &review], 4, "no model was left for: review."),
        (json!({ "turns": 1 }), WORK, vec![], 4, "The run reached its limit: turns."),
        (json!({ "wall": "2s" }), "tail -f /dev/null", vec![&check], 4, "limit: wall time."),
    ];
    for (limits, script, verify, code, reason) in table {
        let made = if limits["wall"].is_null() { verify.len() } else { 0 };
        let task = json!({ "limits": limits, "verify": verify });
        let (finished, report, requests) = run_task(&task, move |number| command(number, script));
        assert_eq!(finished.code, Some(code), "{limits}: {finished:?}");
        let text = report["reason"].as_str().unwrap();
        assert!(text.contains(reason), "{limits}: {text}");
        assert_eq!(report["checks"].as_array().unwrap().len(), made, "{limits}: {report}");
        assert!(!report["limits"]["reached"].is_null(), "{limits}");
        assert!(requests <= 2, "{limits}");
    }
}

#[test]
fn options_and_settings_set_limits() {
    let env = TestEnv::new();
    let server =
        Server::choosing(|_, number| command(number, &format!("echo {number} >> log"))).unwrap();
    configure(&env, &server);
    let settings = json!({ "defaultProvider": "mock", "defaultModel": "m1",
        "limits": { "maxTurns": 2 } });
    fs::write(env.agent().join("settings.json"), settings.to_string()).unwrap();
    let cases: [(&[&str], usize); 3] =
        [(&[], 2), (&["--max-turns", "3"], 3), (&["--max-turns", "9", "--max-calls", "bash=3"], 4)];
    let mut requests = 0;
    for (options, expected) in cases {
        let ended = finish(env.command(&[&["run", "Work."], options].concat()), &[]);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert_eq!(server.requests().len() - requests, expected, "{options:?}");
        requests = server.requests().len();
    }
}
