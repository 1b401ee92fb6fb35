//! Structured print mode: `pi -p` with `--json-schema`, `--output-format json`, or both.
//!
//! Not here: `abort-streaming`, since nothing shows that a part of an answer has arrived.

use rustix::process::Signal;
use serde_json::json;

use super::client::Step;
use super::situations::{Ending, Situation, all_but, call, named, text};
use super::{Row, check};

pub(super) const SCHEMA: &str = r#"{"type":"object","required":["sum"],"additionalProperties":false,"properties":{"sum":{"type":"integer"}}}"#;

/// Returns the situations of a result with a schema.
pub(super) fn structured() -> Vec<Situation> {
    let submit = |id: &str, sum| call(id, "submit_result", json!({ "sum": sum }));
    let wrong = || text("The sum is three.");
    vec![
        Situation::new("schema-valid", vec![submit("call_1", json!(3))]),
        Situation::new("schema-valid-text", vec![text("{\"sum\": 3}")]),
        Situation::new("schema-repaired", vec![wrong(), submit("call_1", json!(3))]),
        Situation::new(
            "schema-repaired-call",
            vec![submit("call_1", json!("three")), submit("call_2", json!(3))],
        ),
        Situation::new("schema-invalid", vec![wrong(); 9]),
    ]
}

#[test]
fn structured_print() {
    let mut rows = Vec::new();
    for situation in all_but(&["abort-streaming"]) {
        let arguments = ["-p", "--output-format", "json", situation.prompt];
        let steps = match situation.ending {
            Ending::AbortWaiting => vec![Step::Requests(1), Step::Signal(Signal::INT)],
            _ => vec![],
        };
        rows.push(Row::new(situation, &arguments, steps));
    }
    for name in ["failure", "truncated", "limit-turns", "command-local", "replaced-asks"] {
        rows.push(with_schema(named(name), &[]).variant("schema"));
    }
    for situation in structured() {
        rows.push(with_schema(situation.clone(), &[]));
        rows.push(with_schema(situation, &["--output-format", "json"]).variant("object"));
    }
    rows.push(with_schema(structured().swap_remove(4), &["--no-session"]).variant("no-session"));
    check("structured", rows);
}

fn with_schema(situation: Situation, options: &[&str]) -> Row {
    let arguments = [&["-p", "--json-schema", SCHEMA], options, &[situation.prompt]].concat();
    Row::new(situation, &arguments, vec![])
}
