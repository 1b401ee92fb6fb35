//! The cost of the screen: `pi` in a pseudo-terminal, in both screen modes, with sessions of
//! several lengths.
//!
//! Runs the release build, or the program in `PI_BENCH_BINARY`. `PI_BENCH_PEER` is the command of
//! the TypeScript pi (words separated by spaces), which is measured in the same way. The CPU time
//! includes that of `setsid`, which becomes the program and takes about a millisecond. Chunks that a
//! slow program has not processed 100 ms after the last one was sent are not in its row.

mod data;
mod replies;
mod run;
mod server;
mod terminal;
mod usage;

use std::io;
use std::process::Stdio;
use std::time::Duration;

use self::data::TestEnv;
use self::run::{Cost, Effort, Results, run};
use super::modes;
use super::process::{Whose, cpu_of};

const MODES: [&str; 2] = ["regular", "fullscreen"];

/// Measures everything and prints a table for each program.
#[allow(clippy::print_stdout)] // The result of the task.
pub(super) fn print(quick: bool) {
    if let Err(error) = measure(quick) {
        println!("\ntui: not measured: {error}");
    }
}

#[allow(clippy::print_stdout)]
fn measure(quick: bool) -> io::Result<()> {
    let variable = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let pi = match variable("PI_BENCH_BINARY") {
        Some(path) => path,
        None => modes::build()?.to_string_lossy().into_owned(),
    };
    let directory = tempfile::tempdir()?;
    let env = TestEnv::create(directory.path())?;
    let effort = Effort {
        starts: if quick { 1 } else { 5 },
        keys: if quick { 20 } else { 100 },
        resizes: if quick { 3 } else { 10 },
        chunks: if quick { 500 } else { 2_000 },
        idle: Duration::from_secs(if quick { 2 } else { 5 }),
        pasted: if quick { 1_000_000 } else { 10_000_000 },
    };
    let sizes: &[usize] = if quick { &[0, 1_000] } else { &[0, 1_000, 10_000, 40_000] };
    let pasted = size(effort.pasted as u64);
    println!("\nThe screen, 120x40; CPU time, median; regular / fullscreen; paste of {pasted}\n");
    print_program("pi", &[pi], &env, sizes, effort)?;
    match variable("PI_BENCH_PEER") {
        Some(command) => {
            let program: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            // Some of its steps take seconds.
            let effort = Effort { starts: 1, keys: effort.keys / 5, resizes: 3, ..effort };
            print_program("TypeScript pi", &program, &env, sizes, effort)
        }
        None => {
            println!("\nTypeScript pi: not installed (PI_BENCH_PEER is not set).");
            Ok(())
        }
    }
}

#[allow(clippy::print_stdout)]
fn print_program(
    name: &str,
    program: &[String],
    env: &TestEnv,
    sizes: &[usize],
    effort: Effort,
) -> io::Result<()> {
    let mut columns = Vec::new();
    for messages in sizes {
        let path = if *messages == 0 { None } else { Some(env.session(*messages)?) };
        let one = |mode: &&str| run(env, program, mode, path.as_deref(), effort);
        columns.push(MODES.iter().map(one).collect::<Vec<_>>());
    }
    let titles: Vec<String> = sizes.iter().map(|size| format!("{size} messages")).collect();
    println!("\n| {name} | {} | budget of pi |", titles.join(" | "));
    println!("|---|{}---|", "---|".repeat(sizes.len()));
    for (row, cell, budget) in ROWS {
        let cells: Vec<String> = columns.iter().map(|modes| join(modes, *cell)).collect();
        println!("| {row} | {} | {budget} |", cells.join(" | "));
    }
    for (size, modes) in sizes.iter().zip(&columns) {
        for (mode, results) in MODES.iter().zip(modes) {
            if let Some(failure) = &results.failure {
                println!("\n{name}, {size} messages, {mode}: {failure}");
            }
        }
    }
    if let Some(version) = version(program, env)? {
        println!("\n`--version`: {}", milliseconds(version));
    }
    Ok(())
}

/// Returns the text of a cell; `None` if it was not measured.
type Cell = fn(&Results) -> Option<String>;

/// The rows of a table, with the budgets of our own program.
const ROWS: &[(&str, Cell, &str)] = &[
    ("first paint", |r| r.first_paint.map(milliseconds), "15 ms empty, 100 ms"),
    ("settled; written", |r| r.settled.map(cost), ""),
    ("resident", |r| r.resident.map(|mb| format!("{mb:.0} MB")), "20 MB empty, 90 MB"),
    ("wake-ups per second, idle", |r| r.idle.map(|n| format!("{n:.1}")), "0"),
    ("keystroke", |r| r.key.map(cost), "0.3 ms; 200 B"),
    ("page up", |r| r.page_up.map(cost), ""),
    ("resize", |r| r.resize.map(cost), "10 ms"),
    ("spinner; frames per second", |r| r.spinner.map(spinner), "0.5 %"),
    ("chunk, 1,000 per second", |r| r.fast_chunk.map(chunk), "50 µs"),
    ("chunk, 100 per second", |r| r.slow_chunk.map(chunk), ""),
    ("paste", |r| r.paste.map(|paste| milliseconds(paste.cpu)), "10 MB in 50 ms"),
];

fn join(modes: &[Results], cell: Cell) -> String {
    let texts: Vec<String> =
        modes.iter().map(|results| cell(results).unwrap_or("–".to_owned())).collect();
    texts.join(" / ")
}

fn milliseconds(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        0.0..10.0 => format!("{ms:.2} ms"),
        10.0..1_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

fn cost(cost: Cost) -> String {
    format!("{}; {}", milliseconds(cost.cpu), size(cost.bytes))
}

fn chunk(cost: Cost) -> String {
    format!("{:.0} µs; {}", cost.cpu.as_secs_f64() * 1e6, size(cost.bytes))
}

fn spinner((share, frames): (f64, f64)) -> String {
    format!("{:.2} %; {frames:.1}", share * 100.0)
}

/// Returns the CPU time of `--version`.
fn version(program: &[String], env: &TestEnv) -> io::Result<Option<Duration>> {
    let Some((name, arguments)) = program.split_first() else { return Ok(None) };
    cpu_of(10, Whose::Children, || {
        let mut command = env.command();
        // The same cost as for the other rows.
        let status = command.arg(name).args(arguments).arg("--version");
        let status = status.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
    })
}
