//! The cost of the screen: the program in a pseudo-terminal, in both screen modes, with sessions of
//! several lengths.
//!
//! The CPU time includes that of `setsid`, which becomes the program and takes about a millisecond.
//! Chunks that a slow program has not processed 100 ms after the last one was sent are not in its
//! row.

mod replies;
mod run;
mod terminal;

use std::time::Duration;

use crate::Outcome;
use crate::home::{Home, programs};
use crate::model::Model;
use crate::table::{Table, none, size, time};

pub(crate) use run::{Cost, Effort, Results, Run, run};

const MODES: [&str; 2] = ["regular", "fullscreen"];

pub(crate) fn tables(quick: bool) -> Outcome {
    let directory = tempfile::tempdir()?;
    let model = Model::start()?;
    let home = Home::create(directory.path(), model.port)?;
    let ours = Effort {
        starts: if quick { 1 } else { 5 },
        keys: if quick { 20 } else { 100 },
        resizes: if quick { 3 } else { 10 },
        chunks: if quick { 500 } else { 2_000 },
        idle: Duration::from_secs(if quick { 2 } else { 5 }),
        pasted: if quick { 1_000_000 } else { 10_000_000 },
    };
    // Some steps of the peer take seconds.
    let peer = Effort { starts: 1, keys: ours.keys / 5, resizes: 3, ..ours };
    let sizes: &[usize] = if quick { &[0, 1_000] } else { &[0, 1_000, 10_000, 40_000] };
    let mut tables = Vec::new();
    for (name, program) in programs()? {
        let effort = if name == "pi" { ours } else { peer };
        let title = format!(
            "{name} on the screen, 120x40; CPU time, median; regular / fullscreen; paste of {}",
            size(effort.pasted as u64)
        );
        let titles: Vec<String> = sizes.iter().map(|size| format!("{size} messages")).collect();
        let columns: Vec<&str> = ["what"]
            .into_iter()
            .chain(titles.iter().map(String::as_str))
            .chain(["budget of pi"])
            .collect();
        let mut table = Table::new(title, &columns);
        let mut results = Vec::new();
        for messages in sizes {
            let session = if *messages == 0 { None } else { Some(home.session(*messages)?) };
            let one = |mode| {
                let (home, model, session) = (&home, &model, session.as_deref());
                run(Run { home, model, program: &program, mode, session }, effort)
            };
            results.push(MODES.map(one));
        }
        for (row, cell, budget) in ROWS {
            let cells = results.iter().map(|modes| {
                modes.each_ref().map(|results| cell(results).unwrap_or_else(none)).join(" / ")
            });
            let row = [(*row).to_owned()].into_iter().chain(cells).chain([(*budget).to_owned()]);
            table.row(row.collect::<Vec<_>>());
        }
        for (size, modes) in sizes.iter().zip(&results) {
            for (mode, results) in MODES.iter().zip(modes) {
                if let Some(failure) = &results.failure {
                    table.note(format!("{size} messages, {mode}: {failure}"));
                }
            }
        }
        tables.push(table);
    }
    Ok(tables)
}

/// Returns the text of a cell; `None` if it was not measured.
type Cell = fn(&Results) -> Option<String>;

/// The rows of a table, with the budgets of our own program.
const ROWS: &[(&str, Cell, &str)] = &[
    ("first paint", |r| r.first_paint.map(time), "15 ms empty, 60 ms"),
    ("settled; written", |r| r.settled.map(cost), ""),
    ("resident", |r| r.resident.map(|mb| format!("{mb:.0} MB")), "20 MB empty, 40 MB"),
    ("wake-ups per second, idle", |r| r.idle.map(|n| format!("{n:.1}")), "0"),
    ("keystroke", |r| r.key.map(cost), "0.3 ms; 200 B"),
    ("page up", |r| r.page_up.map(cost), ""),
    ("resize", |r| r.resize.map(cost), "10 ms"),
    ("spinner; frames per second", |r| r.spinner.map(spinner), "0.5 %"),
    ("chunk, 1,000 per second", |r| r.fast_chunk.map(cost), "50 µs"),
    ("chunk, 100 per second", |r| r.slow_chunk.map(cost), ""),
    ("paste", |r| r.paste.map(|paste| time(paste.cpu)), "10 MB in 50 ms"),
];

fn cost(cost: Cost) -> String {
    format!("{}; {}", time(cost.cpu), size(cost.bytes))
}

fn spinner((share, frames): (f64, f64)) -> String {
    format!("{:.2} %; {frames:.1}", share * 100.0)
}
