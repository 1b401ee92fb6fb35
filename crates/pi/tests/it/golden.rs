//! Golden transcripts: what every front end writes, sends to the model and stores, in each situation.
//!
//! A front end has a module with a table; a row is a situation, the arguments and the steps of the
//! client. The transcript of a row is a file in `snapshots/golden`, and must not change with the
//! structure of the program. Only values that differ from run to run are replaced (see `normal`).
//!
//! Standard output and standard error are recorded apart: their relative order is that of two pipes.

mod acp;
mod client;
mod json;
mod mcp;
mod normal;
mod plain;
mod print;
mod rpc;
mod run;
mod situations;
mod structured;
mod sub_agents;
mod transcript;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::bad_input::ServerEnv;
use client::{Step, Streams};
use situations::Situation;

/// A row of a table: one run of the program.
struct Row {
    situation: Situation,
    arguments: Vec<String>,
    steps: Vec<Step>,
    streams: Streams,
    /// Distinguishes rows of the same situation.
    variant: &'static str,
    /// Standard output ends with the line of the last text that a step has found: how much the program
    /// still writes after a signal depends on timing.
    is_cut: bool,
    /// Part of the lines of standard output that the program writes at any time; they are moved to the
    /// end.
    unordered: Option<&'static str>,
}

impl Row {
    /// Creates a row of a program that reads pipes.
    fn new(situation: Situation, arguments: &[&str], steps: Vec<Step>) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let (streams, is_cut, unordered) = (Streams::Pipes, false, None);
        Self { situation, arguments, steps, streams, variant: "", is_cut, unordered }
    }

    fn cut(self) -> Self {
        Self { is_cut: true, ..self }
    }

    fn variant(self, variant: &'static str) -> Self {
        Self { variant, ..self }
    }
}

/// Runs the rows of a front end and compares their transcripts with the files.
#[track_caller]
fn check(front_end: &str, rows: Vec<Row>) {
    let mut failed = Vec::new();
    for row in rows {
        let variant =
            if row.variant.is_empty() { String::new() } else { format!("-{}", row.variant) };
        let name = format!("{front_end}-{}{variant}", row.situation.name);
        let compared = catch_unwind(AssertUnwindSafe(|| {
            let transcript = perform(row);
            insta::with_settings!({
                snapshot_path => "snapshots/golden",
                prepend_module_to_snapshot => false,
                omit_expression => true,
            }, {
                insta::assert_snapshot!(name.as_str(), transcript);
            });
        }));
        if compared.is_err() {
            failed.push(name);
        }
    }
    // Each difference was printed above.
    assert!(failed.is_empty(), "transcripts that differ: {failed:?}");
}

/// Runs the program once and returns the transcript.
fn perform(row: Row) -> String {
    let Row { situation, arguments, steps, streams, is_cut, unordered, .. } = row;
    let env = ServerEnv::new(situation.replies.clone());
    situation.prepare(&env);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut observed = client::run(&env, &arguments, &steps, streams);
    if is_cut {
        let line = observed.stdout[observed.found..].find('\n').unwrap_or_default();
        observed.stdout.truncate(observed.found + line + 1);
    }
    if let Some(part) = unordered {
        let lines = observed.stdout.split_inclusive('\n');
        let (last, first): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains(part));
        observed.stdout = [first, last].concat().concat();
    }
    transcript::transcript(&env, &arguments, &observed)
}
