//! The output contract of `pi run`: outcome, report, files and rounds.

use std::fs;

use serde_json::{Value, json};

use super::{configure, run_file, runs};
use crate::bad_input::{Finished, finish};
use crate::scenarios::format::{Call, Part, Reply, Status};
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

const SCHEMA: &str = r#"{"type": "object", "properties": {"count": {"type": "integer"}},
    "required": ["count"], "additionalProperties": false}"#;

fn submission(args: Value) -> Reply {
    let call =
        Call { id: "call_1".to_owned(), name: "submit_result".to_owned(), args, pieces: None };
    Reply::Parts(vec![Part::Call(call)])
}

fn prose() -> Reply {
    Reply::Text("I counted them.".to_owned())
}

/// Runs a goal with a schema and these replies of the model.
fn run(replies: Vec<Reply>, arguments: &[&str]) -> (TestEnv, Server, Finished) {
    let env = TestEnv::new();
    let server = Server::start(replies).unwrap();
    configure(&env, &server);
    fs::write(env.project().join("schema.json"), SCHEMA).unwrap();
    fs::write(env.project().join("out.json"), "old").unwrap();
    let first = ["run", "Count the files.", "--profile", "explore"];
    let output = ["--output-schema", "schema.json", "-o", "out.json"];
    let finished = finish(env.command(&[&first[..], &output, arguments].concat()), &[]);
    (env, server, finished)
}

fn output_file(env: &TestEnv) -> String {
    fs::read_to_string(env.project().join("out.json")).unwrap()
}

#[test]
fn a_valid_result_is_in_the_report_on_stdout_and_in_its_file() {
    let replies =
        vec![prose(), submission(json!({"count": "two"})), submission(json!({"count": 2}))];
    let (env, server, finished) = run(replies, &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(server.requests().len(), 3);
    let report = run_file(&env, "report.json");
    assert_eq!(
        (&report["outcome"], &report["result"]),
        (&json!("converged"), &json!({"count": 2}))
    );
    let check = &report["checks"][0];
    assert_eq!((&check["kind"], &check["passed"]), (&json!("output"), &json!(true)), "{report}");
    for text in [&finished.stdout, &output_file(&env)] {
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!({"count": 2}));
    }
}

#[test]
fn a_result_that_stays_invalid_is_an_outcome_of_its_own() {
    let replies: [fn() -> Reply; 2] = [prose, || submission(json!({"count": "two"}))];
    for (reply, saved) in replies.into_iter().zip(["I counted them.", "\"count\": \"two\""]) {
        let (env, server, finished) = run((0..20).map(|_| reply()).collect(), &[]);
        finished.assert_failed(12, &["invalid-output"]);
        assert_eq!(server.requests().len(), 4, "one attempt and three repairs");
        let report = run_file(&env, "report.json");
        assert_eq!(report["outcome"], "invalid-output");
        assert!(report.get("result").is_none(), "{report}");
        assert_eq!(report["checks"][0]["passed"], false);
        let last = fs::read_to_string(runs(&env)[0].join("invalid-output.txt")).unwrap();
        assert!(last.contains(saved), "{last}");
        assert_eq!(output_file(&env), "old");
    }
}

#[test]
fn each_round_needs_its_own_result() {
    let env = TestEnv::new();
    let replies = vec![submission(json!({"count": 1})), submission(json!({"count": 2}))];
    let server = Server::start(replies).unwrap();
    configure(&env, &server);
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let task = json!({
        "goal": "Count the files.",
        "policy": {"profile": "explore"},
        "output": {"schema": schema, "file": "out.json"},
        "verify": [{"json": [{"pointer": "/count", "equals": 2}]}],
    });
    fs::write(env.project().join("task.json"), task.to_string()).unwrap();
    let finished = finish(env.command(&["run", "task.json"]), &[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(server.requests().len(), 2);
    assert_eq!(run_file(&env, "report.json")["result"], json!({"count": 2}));
    assert_eq!(serde_json::from_str::<Value>(&output_file(&env)).unwrap(), json!({"count": 2}));
}

#[test]
fn an_unverified_result_is_not_handed_on() {
    let replies = (0..2).map(|_| submission(json!({"count": 1}))).collect();
    let (env, _, finished) = run(replies, &["--check", "false", "--rounds", "1"]);
    finished.assert_failed(10, &["failed-verification"]);
    assert_eq!(output_file(&env), "old");
    // The report has it, beside the checks that failed.
    assert_eq!(run_file(&env, "report.json")["result"], json!({"count": 1}));
}

#[test]
fn an_invalid_schema_is_an_invalid_task() {
    let (_, server, finished) = run(Vec::new(), &["--json-schema", r#"{"type": 3}"#]);
    finished.assert_failed(2, &["/type"]);
    assert_eq!(server.requests().len(), 0);
}

/// Returns the only line of stdout as JSON.
fn object(finished: &Finished) -> Value {
    let mut lines = finished.stdout.lines();
    let object = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(lines.next(), None, "{finished:?}");
    object
}

#[test]
fn the_report_is_the_only_object_on_stdout() {
    let json = ["--output-format", "json"];
    let (env, _, finished) = run(vec![submission(json!({"count": 2}))], &json);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let printed = object(&finished);
    assert_eq!(printed, run_file(&env, "report.json"));
    assert_eq!(printed["result"], json!({"count": 2}));

    let refused = Status { code: 400, headers: Default::default(), body: json!({"error": "no"}) };
    let invalid = (0..4).map(|_| prose()).collect();
    let failing = (0..2).map(|_| submission(json!({"count": 1}))).collect();
    let cases: [(_, Vec<Reply>, &[&str]); 3] = [
        (10, failing, &["--check", "false", "--rounds", "1"]),
        (12, invalid, &[]),
        (1, vec![Reply::Parts(vec![Part::Status(refused)])], &[]),
    ];
    for (code, replies, arguments) in cases {
        let (env, _, finished) = run(replies, &[&json, arguments].concat());
        assert_eq!(finished.code, Some(code), "{finished:?}");
        let printed = object(&finished);
        assert_eq!(printed["exitCode"], code);
        assert_eq!(printed, run_file(&env, "report.json"));
    }
}

#[test]
fn a_run_that_cannot_start_has_a_report_on_stdout_too() {
    let env = TestEnv::new();
    fs::write(env.project().join("task.yaml"), "goal: Go\nlimts: {}\n").unwrap();
    let cases: [(&[&str], &str); 3] = [
        (&["run", "task.yaml"], "limts"),
        (&["run"], "the task is missing"),
        (&["run", "--resume", "none"], "none"),
    ];
    let schema =
        pi_coding_agent::session::OutputContract::compile(&pi_converge::report_schema()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (arguments, reason) in cases {
        let arguments = [arguments, &["--output-format", "json"]].concat();
        let finished = finish(env.command(&arguments), &[]);
        assert_eq!(finished.code, Some(2), "{finished:?}");
        let printed = object(&finished);
        assert_eq!((&printed["outcome"], &printed["id"]), (&json!("invalid-task"), &json!("")));
        assert!(printed["reason"].as_str().unwrap().contains(reason), "{printed}");
        let violations = runtime.block_on(schema.check(&std::sync::Arc::new(printed)));
        assert!(violations.is_empty(), "{violations:?}");
    }
}
