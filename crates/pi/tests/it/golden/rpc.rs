//! RPC mode: `pi --mode rpc`.
//!
//! Not here: `repetition`, which only modes without a user detect.
//!
//! A client sends its next command after the response or event that it waits for, so that the order of
//! the records is that of the program.

use rustix::process::Signal;
use serde_json::json;

use super::client::Step;
use super::situations::{Ending, Situation, all_but, named, two_answers};
use super::{Row, check};

/// The last record of a run.
const SETTLED: &str = "{\"type\":\"agent_settled\"";

#[test]
fn rpc() {
    let refused = ["refused-no-model", "refused-no-key"];
    let other = [&refused[..], &["repetition"]].concat();
    let mut rows: Vec<Row> = all_but(&other).into_iter().map(row).collect();
    // The program ends at its start.
    rows.extend(refused.map(|name| rpc_row(named(name), vec![Step::Ended])));
    let prompt = |id: &str| send(id, "prompt", "Go");
    // The second prompt does not see the first one.
    let two = two_answers();
    let replaced = vec![
        prompt("1"),
        Step::Seen(SETTLED),
        command("2", "new_session"),
        Step::Seen("\"id\":\"2\""),
        prompt("3"),
        Step::Seen(SETTLED),
    ];
    rows.push(rpc_row(two, replaced).variant("new-session"));
    let steered = vec![
        prompt("1"),
        Step::Seen("Partial"),
        send("2", "steer", "Another way"),
        Step::Seen("\"id\":\"2\""),
        send("3", "follow_up", "And then"),
        Step::Seen("\"id\":\"3\""),
        command("4", "abort"),
        Step::Seen("\"id\":\"4\""),
    ];
    rows.push(rpc_row(named("abort-streaming"), steered).variant("queued"));
    let busy = vec![
        prompt("1"),
        Step::Seen("Partial"),
        prompt("2"),
        Step::Seen("\"id\":\"2\""),
        command("3", "new_session"),
        Step::Seen("\"id\":\"3\""),
    ];
    rows.push(rpc_row(named("abort-streaming"), busy).variant("new-session"));
    let closed = vec![prompt("1"), Step::Seen("Partial")];
    rows.push(rpc_row(named("abort-streaming"), closed).variant("input-ends"));
    let ended = vec![prompt("1"), Step::Seen("Partial"), Step::Signal(Signal::TERM), Step::Ended];
    rows.push(rpc_row(named("abort-streaming"), ended).variant("terminated").cut());
    check("rpc", rows);
}

fn send(id: &str, kind: &str, message: &str) -> Step {
    Step::Send(json!({ "id": id, "type": kind, "message": message }).to_string())
}

fn command(id: &str, kind: &str) -> Step {
    Step::Send(json!({ "id": id, "type": kind }).to_string())
}

fn rpc_row(situation: Situation, steps: Vec<Step>) -> Row {
    Row::new(situation, &["--mode", "rpc"], steps)
}

fn row(situation: Situation) -> Row {
    let mut steps = vec![send("1", "prompt", situation.prompt)];
    let abort = [command("2", "abort"), Step::Seen(SETTLED)];
    match situation.ending {
        Ending::Settled => {
            steps.push(Step::Seen(SETTLED));
            if situation.name == "replaced-asks" {
                // The command waits for the run that it has started.
                steps.push(Step::Seen("\"id\":\"1\""));
            }
        }
        Ending::NotAsked => steps.push(Step::Seen("\"id\":\"1\"")),
        Ending::AbortWaiting => {
            steps.push(Step::Requests(1));
            steps.extend(abort);
        }
        Ending::AbortStreaming => {
            steps.push(Step::Seen("Partial"));
            steps.extend(abort);
        }
    }
    // What the program still writes precedes this response.
    steps.extend([command("9", "get_last_assistant_text"), Step::Seen("\"id\":\"9\"")]);
    // The response to `/ask` and the start of the run have no order.
    let unordered = (situation.name == "command-asks").then_some("\"id\":\"1\"");
    Row { unordered, ..rpc_row(situation, steps) }
}
