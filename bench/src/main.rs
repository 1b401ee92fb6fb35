//! `cargo xtask bench`: the CPU time and memory of streams, turns of the loop, sessions, searches,
//! commands, the program itself, its guard, its unattended runs, its screen, its extensions and MCP
//! servers.
//!
//! Each part is a module that returns tables. `compare` measures two builds of the program in turns.
//! A number over budget is marked, not a failure, since the machine may be busy. CPU time, not wall
//! time, unless a table says otherwise. `cargo xtask bench` builds this with the profile `bench`.

#![allow(clippy::disallowed_methods, reason = "the programs that are measured start directly")]

mod agent;
mod clock;
mod commands;
mod compare;
mod decoding;
mod extensions;
mod feed;
mod guard;
mod home;
mod mcp;
mod model;
mod process;
mod program;
mod runs;
mod screen;
mod search;
mod session_file;
mod sessions;
mod streams;
mod table;

use std::process::ExitCode;

use table::Table;

const HELP: &str = "\
usage: cargo xtask bench [--quick] [PART...]
       cargo xtask bench compare [--quick] A B [AREA...]

Without PART, measures all parts. `compare` measures two binaries of pi in turns.
PI_BENCH_BINARY is the binary that parts measure, if not a build with the profile dist;
PI_BENCH_PEER is the command of the TypeScript pi, which some parts measure, too.";

/// The tables of a part.
type Outcome = Result<Vec<Table>, Box<dyn std::error::Error>>;

/// A part: its name, and its tables; the argument is true for a quick look.
type Part = (&'static str, fn(bool) -> Outcome);

const PARTS: &[Part] = &[
    ("streams", decoding::tables),
    ("agent", agent::tables),
    ("sessions", sessions::tables),
    ("search", search::tables),
    ("commands", commands::tables),
    ("modes", program::tables),
    ("guard", guard::tables),
    ("runs", runs::tables),
    ("tui", screen::tables),
    ("extensions", extensions::tables),
    ("mcp", mcp::tables),
];

fn main() -> ExitCode {
    // The bench runs commands, which start this program as their supervisor.
    pi_tools::supervisor::run_if_requested();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            report(&message);
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    if let ["worker", rest @ ..] = arguments {
        return commands::perform(rest).map_err(|error| error.to_string());
    }
    if let ["compare", rest @ ..] = arguments {
        let (quick, rest) = quick(rest);
        let ([first, second], areas) = rest.split_first_chunk().ok_or(HELP)?;
        let areas = select(compare::AREAS, areas)?;
        for (name, area) in areas {
            print(name, compare::table(area, first, second, quick).map(|table| vec![table]));
        }
        return Ok(());
    }
    let (quick, names) = quick(arguments);
    for (name, part) in select(PARTS, names)? {
        print(name, part(quick));
    }
    Ok(())
}

fn quick<'a>(arguments: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    match arguments {
        ["--quick", rest @ ..] => (true, rest),
        rest => (false, rest),
    }
}

/// Returns the named rows of a table, or all rows if none is named.
fn select<T: Copy>(
    all: &'static [(&'static str, T)],
    names: &[&str],
) -> Result<Vec<(&'static str, T)>, String> {
    if names.is_empty() {
        return Ok(all.to_vec());
    }
    let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let find = |name: &&str| {
        let found = all.iter().find(|(other, _)| other == name).copied();
        found.ok_or_else(|| format!("{name:?} is not one of {}\n\n{HELP}", known.join(", ")))
    };
    names.iter().map(find).collect()
}

#[allow(clippy::print_stdout)] // The result of the program.
fn print(name: &str, outcome: Outcome) {
    match outcome {
        Ok(tables) => tables.iter().for_each(|table| println!("{table}")),
        Err(error) => println!("{name}: not measured: {error}\n"),
    }
}

#[allow(clippy::print_stderr)]
fn report(message: &str) {
    eprintln!("{message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_selected_by_name() {
        let names = |wanted: &[&str]| -> Vec<&str> {
            select(PARTS, wanted).unwrap().iter().map(|(name, _)| *name).collect()
        };
        assert_eq!(names(&[]).len(), PARTS.len());
        assert_eq!(names(&["search", "agent"]), ["search", "agent"]);
        assert_eq!(quick(&["--quick", "tui"]), (true, &["tui"][..]));
        for bad in [&["--quik"][..], &["serch"], &["compare", "a"], &["compare", "a", "b", "c"]] {
            assert!(run(bad).is_err(), "{bad:?}");
        }
    }
}
