//! The repository's own tasks: `cargo xtask <task>`.
//!
//! This file only picks the task; each task is a module.

mod bench;
mod catalog;
mod cli_docs;
mod crash;
mod evade;
mod fuzz;
mod interop;
mod repository;
mod schemas;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask <task>

tasks:
  bench [--quick] [PART...]          what streams, the loop, sessions, searches and commands cost
  catalog [--check]                  write (or compare) the model catalog that pi-ai embeds
  cli-docs                           write docs/cli.md from the tables of the command line
  crash [tools] [--runs N] ...       kill writers of sessions, or of files; nothing may be lost
  evade [--seconds N] [--seed N]     random scripts in a real bash, beside what pi-guard says
  fuzz [TARGET...] [--seconds N]     run the fuzz targets of fuzz/, N seconds in total
  interop [PEER...] [--dir PATH]     conversations with servers that others wrote (docs/interop.md)
  interop modes|rpc-client ...       the TypeScript pi beside ours (docs/interop.md)
  schemas                            write the JSON Schemas of the user's files
  tidy                               check the rules that the compiler does not know
  help                               this text";

fn main() -> ExitCode {
    // The bench runs commands.
    #[cfg(feature = "bench")]
    pi_tools::supervisor::run_if_requested();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["bench", rest @ ..] => bench::run(rest).map_err(|error| error.to_string()),
        // What `bench` runs, built for the purpose.
        ["bench-inner", rest @ ..] => bench::measure(rest).map_err(|error| error.to_string()),
        #[cfg(any(feature = "bench", test))]
        ["bench-worker", rest @ ..] => bench::perform(rest).map_err(|error| error.to_string()),
        ["catalog", rest @ ..] => catalog::run(rest).map_err(|error| error.to_string()),
        ["cli-docs"] => cli_docs::run().map_err(|error| error.to_string()),
        ["crash", rest @ ..] => crash::run(rest).map_err(|error| error.to_string()),
        ["evade", rest @ ..] => evade::run(rest).map_err(|error| error.to_string()),
        ["fuzz", rest @ ..] => fuzz::run(rest).map_err(|error| error.to_string()),
        ["interop", rest @ ..] => interop::run(rest).map_err(|error| error.to_string()),
        ["schemas", rest @ ..] => schemas::run(rest).map_err(|error| error.to_string()),
        ["tidy", rest @ ..] => tidy::run(rest).map_err(|error| error.to_string()),
        ["help" | "--help" | "-h"] => {
            help();
            Ok(())
        }
        _ => Err(HELP.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            report(&message);
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stdout)] // What was asked for.
fn help() {
    println!("{HELP}");
}

/// A task's words to whoever runs it.
#[allow(clippy::print_stderr)]
fn report(message: &str) {
    eprintln!("{message}");
}
