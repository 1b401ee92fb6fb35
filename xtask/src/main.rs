//! The repository's own tasks: `cargo xtask <task>`.
//!
//! This file only picks the task; each task is a module.

#![allow(clippy::disallowed_methods, reason = "tasks start programs directly")]

mod bench;
mod catalog;
mod cli_docs;
mod crash;
mod deny;
mod dist;
mod evade;
mod features;
mod files;
mod fuzz;
mod interop;
mod lies;
mod metrics;
mod repository;
mod schemas;
mod screenshot;
mod test;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask <task>

tasks:
  bench [--quick] [PART...]          measure streams, sessions, commands, the screen ...
  bench compare A B [AREA...]        measure two binaries of pi in turns
  catalog [--check]                  write (or compare) the model catalog that pi-ai embeds
  cli-docs                           write docs/cli.md from the tables of the command line
  crash [tools|auth|run|edits] ...   kill writers of sessions, files, logins or runs; check for lost data
  deny                               check licenses, advisories and duplicates with cargo-deny
  dist [--target TRIPLE]... ...      build the archives and packages of a release
  evade [--seconds N] [--seed N]     compare random scripts in bash with pi-guard's analysis
  features                           lint pi with parts left out, and run the slim program
  fuzz [TARGET...] [--seconds N]     run the fuzz targets of fuzz/, N seconds in total
  interop [PEER...] [--dir PATH]     talk to independent servers (docs/interop.md)
  interop modes|rpc-client ...       compare with the TypeScript pi (docs/interop.md)
  lies [--count N] [--seed N]        runs of pi whose edits fool a check; none may converge
  metrics [--fill] [PATH]            count lines, items, functions and packages of the product
  schemas                            write the JSON Schemas of the user's files
  screenshot                         draw docs/screen.svg, the picture of the README
  test [ARGUMENT...]                 install missing programs, then cargo test --workspace
  tidy [--lower]                     check the rules that the compiler does not check
  help                               print this text";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["bench", rest @ ..] => bench::run(rest).map_err(|error| error.to_string()),
        ["catalog", rest @ ..] => catalog::run(rest).map_err(|error| error.to_string()),
        ["cli-docs"] => cli_docs::run().map_err(|error| error.to_string()),
        ["screenshot"] => screenshot::run().map_err(|error| error.to_string()),
        ["crash", rest @ ..] => crash::run(rest).map_err(|error| error.to_string()),
        ["deny", rest @ ..] => deny::run(rest).map_err(|error| error.to_string()),
        ["dist", rest @ ..] => dist::run(rest).map_err(|error| error.to_string()),
        ["evade", rest @ ..] => evade::run(rest).map_err(|error| error.to_string()),
        ["features", rest @ ..] => features::run(rest).map_err(|error| error.to_string()),
        ["fuzz", rest @ ..] => fuzz::run(rest).map_err(|error| error.to_string()),
        ["interop", rest @ ..] => interop::run(rest).map_err(|error| error.to_string()),
        ["lies", rest @ ..] => lies::run(rest).map_err(|error| error.to_string()),
        ["metrics", rest @ ..] => metrics::run(rest).map_err(|error| error.to_string()),
        ["schemas", rest @ ..] => schemas::run(rest).map_err(|error| error.to_string()),
        ["test", rest @ ..] => test::run(rest).map_err(|error| error.to_string()),
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

#[allow(clippy::print_stdout)] // The requested output.
fn help() {
    println!("{HELP}");
}

/// Prints a message of a task.
#[allow(clippy::print_stderr)]
fn report(message: &str) {
    eprintln!("{message}");
}
