//! Sessions exported as trajectories.

use std::collections::BTreeSet;

use pi_protocol::Message;
use pi_session::{OpenOptions, Session, SessionError};
use serde_json::Value;
use tempfile::TempDir;

use crate::page::{answer, call, result};

/// Exports a session file with these lines after its header.
fn exported(lines: &str) -> String {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("session.jsonl");
    let header = r#"{"type":"session","version":3,"id":"the-id","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/proj"}"#;
    std::fs::write(&path, format!("{header}\n{lines}")).unwrap();
    let mut text = Vec::new();
    let session = Session::open(&path, &OpenOptions::read()).unwrap();
    session.export_atif("1.2.3", &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn steps(trajectory: &str) -> Vec<Value> {
    let trajectory: Value = serde_json::from_str(trajectory).unwrap();
    trajectory["steps"].as_array().unwrap().clone()
}

#[test]
fn every_kind_of_entry_becomes_a_step() {
    let text = exported(include_str!("../fixtures/atif.jsonl"));
    insta::assert_snapshot!(text);
    let steps = steps(&text);
    for (index, step) in steps.iter().enumerate() {
        assert_eq!(step["step_id"], index as u64 + 1);
        // Readers reject these fields in steps of other sources.
        if step["source"] != "agent" {
            for field in ["model_name", "reasoning_content", "tool_calls", "metrics"] {
                assert_eq!(step[field], Value::Null, "{step}");
            }
        }
    }
}

#[test]
fn results_belong_to_the_step_of_their_call() {
    let mut session = Session::in_memory("/proj");
    let blocks = ["a", "b"].map(|id| call(id, "bash", serde_json::json!({}))).to_vec();
    session.append_message(result("lost", "bash", "before any call")).unwrap();
    session.append_message(answer(blocks)).unwrap();
    session.append_message(result("b", "bash", "second")).unwrap();
    session.append_message(Message::user("steering")).unwrap();
    session.append_message(result("a", "bash", "first")).unwrap();
    session.append_message(answer(vec![call("c", "bash", serde_json::json!({}))])).unwrap();
    session.append_message(result("a", "bash", "late")).unwrap();
    let mut text = Vec::new();
    session.export_atif("1", &mut text).unwrap();
    let steps = steps(&String::from_utf8(text).unwrap());
    let shown: Vec<String> = steps
        .iter()
        .map(|step| {
            let calls: BTreeSet<&str> = list(&step["tool_calls"])
                .iter()
                .filter_map(|call| call["tool_call_id"].as_str())
                .collect();
            let results: Vec<String> = list(&step["observation"]["results"])
                .iter()
                .map(|result| format!("{}={}", result["source_call_id"], result["content"]))
                .collect();
            format!("{} {calls:?} {}", step["source"], results.join(" ")).trim_end().to_owned()
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    "system" {} null="before any call"
    "agent" {"a", "b"} "b"="second" "a"="first"
    "user" {}
    "agent" {"c"}
    "system" {} null="late"
    "#);
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn a_branch_without_messages_is_no_trajectory() {
    let failed = Session::in_memory("/proj").export_atif("1", &mut Vec::new());
    assert!(matches!(failed, Err(SessionError::NoMessages)), "{failed:?}");
}
