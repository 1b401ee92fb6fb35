//! JSON mode: `pi --mode json`.

use rustix::process::Signal;

use super::client::Step;
use super::situations::{Ending, Situation, all, named};
use super::{Row, check};

/// The last event before the first request.
const PROMPT: &str = "{\"type\":\"message_end\",\"message\":{\"role\":\"user\"";

#[test]
fn json() {
    let mut rows: Vec<Row> = all().into_iter().map(|situation| row(situation, &[])).collect();
    // The exit code reports how the last prompt ended.
    for name in ["success", "failure", "truncated", "abort-streaming", "limit-turns", "empty"] {
        rows.push(row(named(name), &["--fail"]).variant("fail"));
    }
    check("json", rows);
}

fn row(situation: Situation, options: &[&str]) -> Row {
    let arguments = [&["--mode", "json"], options, &[situation.prompt]].concat();
    let steps = match situation.ending {
        Ending::AbortWaiting => vec![Step::Seen(PROMPT), Step::Requests(1)],
        Ending::AbortStreaming => vec![Step::Seen("Partial")],
        Ending::Settled | Ending::NotAsked => return Row::new(situation, &arguments, vec![]),
    };
    let interrupt = vec![Step::Signal(Signal::INT)];
    Row::new(situation, &arguments, [steps, interrupt].concat()).cut()
}
