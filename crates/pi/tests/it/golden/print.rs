//! Print mode: `pi -p`.
//!
//! Not here: `abort-streaming`, since nothing shows that a part of an answer has arrived.

use rustix::process::Signal;

use super::client::Step;
use super::situations::{Ending, Situation, all_but, named, status, text};
use super::{Row, check};

#[test]
fn print() {
    let mut rows: Vec<Row> = all_but(&["abort-streaming"])
        .into_iter()
        .map(|situation| {
            let arguments = ["-p", situation.prompt];
            let steps = match situation.ending {
                Ending::AbortWaiting => vec![Step::Requests(1), Step::Signal(Signal::INT)],
                _ => vec![],
            };
            Row::new(situation, &arguments, steps)
        })
        .collect();
    let terminate = vec![Step::Requests(1), Step::Signal(Signal::TERM)];
    rows.push(Row::new(named("abort-waiting"), &["-p", "Go"], terminate).variant("terminated"));
    rows.push(Row::new(named("success"), &["-p", "--verbose", "Go"], vec![]).variant("verbose"));
    rows.push(Row::new(named("success"), &["-p"], vec![]).variant("no-prompt"));
    // A failure does not keep the next prompt from being submitted.
    let replies = vec![status(400, "The request is invalid."), text("An answer.")];
    let situation = Situation::new("failure-and-success", replies);
    rows.push(Row::new(situation, &["-p", "First", "Second"], vec![]));
    check("print", rows);
}
