//! The Agent Client Protocol, version 1: `pi acp`.
//!
//! Not here: `repetition`, which only modes without a user detect.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::Step;
use super::situations::{Ending, Situation, all_but, named, two_answers};
use super::{Row, check};

#[test]
fn acp() {
    let refused = ["refused-no-model", "refused-no-key"];
    let other = [&refused[..], &["repetition"]].concat();
    let mut rows: Vec<Row> = all_but(&other).into_iter().map(row).collect();
    // No session is opened.
    let opening_only = || opening().into_iter().take(4).collect();
    rows.extend(refused.map(|name| Row::new(named(name), &["acp"], opening_only())));
    // The prompts of a session are answered one after the other.
    let mut steps = opening();
    let answers = two_answers();
    for id in [3, 4] {
        steps.extend([prompt(id, "Go"), response(id)]);
    }
    rows.push(Row::new(answers, &["acp"], steps).variant("two-prompts"));
    let mut steps = opening();
    steps.extend([prompt(3, "Go"), Step::Seen("Partial")]);
    rows.push(Row::new(named("abort-streaming"), &["acp"], steps).variant("input-ends"));
    let mut steps = opening();
    steps.extend([prompt(3, "Go"), Step::Seen("Partial"), Step::Signal(Signal::TERM), Step::Ended]);
    rows.push(Row::new(named("abort-streaming"), &["acp"], steps).variant("terminated").cut());
    check("acp", rows);
}

fn row(situation: Situation) -> Row {
    let mut steps = opening();
    steps.push(prompt(3, situation.prompt));
    match situation.ending {
        Ending::Settled | Ending::NotAsked => {}
        Ending::AbortWaiting => steps.extend([Step::Requests(1), cancel()]),
        Ending::AbortStreaming => steps.extend([Step::Seen("Partial"), cancel()]),
    }
    steps.push(response(3));
    Row::new(situation, &["acp"], steps)
}

/// Opens a session.
fn opening() -> Vec<Step> {
    vec![
        request(1, "initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} })),
        response(1),
        request(2, "session/new", &json!({ "cwd": "$PROJECT", "mcpServers": [] })),
        response(2),
        // Reported after the response.
        Step::Seen("available_commands_update"),
    ]
}

fn request(id: u64, method: &str, params: &Value) -> Step {
    Step::Send(
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
    )
}

fn prompt(id: u64, text: &str) -> Step {
    let prompt = json!([{ "type": "text", "text": text }]);
    request(id, "session/prompt", &json!({ "sessionId": "$SESSION", "prompt": prompt }))
}

fn cancel() -> Step {
    let params = json!({ "sessionId": "$SESSION" });
    Step::Send(
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }).to_string(),
    )
}

fn response(id: u64) -> Step {
    Step::Response(id)
}
