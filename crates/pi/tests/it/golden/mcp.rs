//! The MCP server: `pi mcp serve`, over pipes.
//!
//! The notification about a new session is sent at any time, so it is moved to the end.
//!
//! Commands of extensions are for the user of the machine, so a prompt such as `/local` is a text for
//! the model. Not here: `abort-streaming`, since no message shows that a part of an answer has arrived.

use serde_json::{Value, json};

use super::client::Step;
use super::situations::{Ending, Situation, all_but, named, two_answers};
use super::structured::{SCHEMA, structured};
use super::{Row, check};

const SERVE: [&str; 4] = ["mcp", "serve", "--profile", "explore"];

/// The notification about a change of the sessions.
const CHANGED: &str = "notifications/resources/list_changed";

#[test]
fn mcp() {
    let mut rows: Vec<Row> = all_but(&["abort-streaming"]).into_iter().map(row).collect();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for situation in structured() {
        let arguments = json!({ "prompt": situation.prompt, "output_schema": schema });
        let steps = [opening(), vec![call(2, "run", &arguments)], ended(2)].concat();
        rows.push(serve(situation, steps));
    }
    let again = two_answers();
    let reply = json!({ "sessionId": "$SESSION", "prompt": "And then" });
    let steps = [
        opening(),
        vec![call(2, "run", &json!({ "prompt": "Go" }))],
        ended(2),
        vec![call(3, "reply", &reply)],
        ended(3),
        vec![call(4, "status", &json!({})), Step::Response(4)],
    ];
    rows.push(serve(again, steps.concat()).variant("reply"));
    let closed = [opening(), vec![call(2, "run", &json!({ "prompt": "Go" })), Step::Requests(1)]];
    rows.push(serve(named("abort-waiting"), closed.concat()).variant("input-ends"));
    let status = vec![call(3, "status", &json!({})), Step::Response(3)];
    let abort = vec![call(4, "abort", &json!({ "sessionId": "$SESSION" })), Step::Response(4)];
    let aborted = [closed.concat(), status, abort, ended(2)];
    rows.push(serve(named("abort-waiting"), aborted.concat()).variant("tool"));
    check("mcp", rows);
}

fn row(situation: Situation) -> Row {
    let mut steps = opening();
    steps.push(call(2, "run", &json!({ "prompt": situation.prompt })));
    match situation.ending {
        Ending::AbortWaiting | Ending::AbortStreaming => {
            let params = json!({ "requestId": 2 });
            steps.extend([Step::Requests(1), notification("notifications/cancelled", &params)]);
        }
        Ending::Settled | Ending::NotAsked => steps.push(Step::Response(2)),
    }
    steps.push(Step::Seen(CHANGED));
    serve(situation, steps)
}

fn serve(situation: Situation, steps: Vec<Step>) -> Row {
    Row { unordered: Some(CHANGED), ..Row::new(situation, &SERVE, steps) }
}

/// Waits for the end of a run.
fn ended(id: u64) -> Vec<Step> {
    vec![Step::Response(id), Step::Seen(CHANGED)]
}

/// Starts a session of the protocol.
fn opening() -> Vec<Step> {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    vec![
        request(1, "initialize", &params),
        Step::Response(1),
        notification("notifications/initialized", &json!({})),
    ]
}

fn request(id: u64, method: &str, params: &Value) -> Step {
    Step::Send(
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
    )
}

fn notification(method: &str, params: &Value) -> Step {
    Step::Send(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string())
}

fn call(id: u64, name: &str, arguments: &Value) -> Step {
    let progress = json!({ "progressToken": "p" });
    request(id, "tools/call", &json!({ "name": name, "arguments": arguments, "_meta": progress }))
}
