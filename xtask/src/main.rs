//! The repository's own tasks: `cargo xtask <task>`.
//!
//! This file only picks the task; each task is a module.

mod catalog;
mod interop;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask catalog [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["catalog", rest @ ..] => catalog::run(rest).map_err(|error| error.to_string()),
        ["interop", rest @ ..] => interop::run(rest).map_err(|error| error.to_string()),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            report(&message);
            ExitCode::FAILURE
        }
    }
}

/// A task's words to whoever runs it.
#[allow(clippy::print_stderr)]
fn report(message: &str) {
    eprintln!("{message}");
}
