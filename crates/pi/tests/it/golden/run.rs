//! Unattended runs: `pi run`.
//!
//! A goal is a text for the model, so a command such as `/local` is not run. Not here:
//! `abort-streaming`, since nothing shows that a part of an answer has arrived. The profile is
//! `explore`, so that transcripts do not depend on the sandbox of the machine.

use rustix::process::Signal;
use serde_json::json;

use super::client::Step;
use super::situations::{Ending, Situation, all_but, call, named, text};
use super::structured::{SCHEMA, structured};
use super::{Row, check};

#[test]
fn run() {
    let mut rows = Vec::new();
    for situation in all_but(&["abort-streaming"]) {
        rows.push(row(situation.clone(), &[], Signal::INT));
        rows.push(row(situation, &["--output-format", "json"], Signal::TERM).variant("report"));
    }
    for situation in structured() {
        rows.push(row(situation, &["--json-schema", SCHEMA], Signal::INT));
    }
    rows.push(row(named("failure"), &["--json-schema", SCHEMA], Signal::INT).variant("schema"));
    let write = || call("call_1", "write", json!({ "path": "made.txt", "content": "made\n" }));
    let made = ["--check", "test -f made.txt"];
    let checked = |name, replies| row(Situation::new(name, replies), &made, Signal::INT);
    rows.push(checked("check-passes", vec![write(), text("Made.")]));
    rows.push(checked("check-passes-later", vec![text("Made."), write(), text("Made now.")]));
    rows.push(checked("check-fails", vec![text("Made."); 20]));
    let wrong = row(named("success"), &["--no-such-option"], Signal::INT);
    rows.push(wrong.variant("invalid-option"));
    check("run", rows);
}

fn row(situation: Situation, options: &[&str], signal: Signal) -> Row {
    let arguments = [&["run", situation.prompt, "--profile", "explore"], options].concat();
    let steps = match situation.ending {
        Ending::AbortWaiting => vec![Step::Requests(1), Step::Signal(signal)],
        _ => vec![],
    };
    Row::new(situation, &arguments, steps)
}
