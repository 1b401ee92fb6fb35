//! The `pi` command: parses arguments, runs a command or a mode, and exits with a documented code.
//!
//! The libraries do the work. Only this crate prints, reads arguments and reads the environment.
//! Startup does nothing that the command does not need: `--version` and `--help` use neither files
//! nor the async runtime nor the model catalog.
//!
//! `flags` defines the command line, `arguments` holds that of a run, `commands` implements the
//! commands that need no agent, `modes` runs an agent, `topics` has the pages of the documentation,
//! `logins` asks users for credentials, `hints` adds advice to errors, `exit` defines the exit codes.

#![cfg_attr(
    not(feature = "default"),
    allow(dead_code, unused_imports, unused_variables, reason = "a part without its users")
)]

mod arguments;
mod commands;
mod crash;
mod environment;
mod exit;
mod extensions;
mod features;
mod flags;
mod hints;
mod input_lines;
mod logins;
mod modes;
mod pager;
mod plain;
mod secrets;
#[cfg(feature = "screen")]
mod terminal_owner;
mod topics;

use std::process::ExitCode;

use arguments::Arguments;
use exit::{Exit, fail, hint, note, print};
use flags::help;
use flags::parse::{Invalid, Request, parse};

fn main() -> ExitCode {
    // A sandboxed command starts as this program, which drops its privileges first.
    pi_guard::confine::run_helper_if_requested();
    // A second instance of this program supervises the commands of tools.
    pi_tools::supervisor::run_if_requested();
    crash::guard(run)
}

fn run() -> ExitCode {
    let mut words = Vec::new();
    for word in std::env::args_os().skip(1) {
        match word.into_string() {
            Ok(word) => words.push(word),
            Err(word) => {
                let message = format!("the argument {} is not valid UTF-8", word.display());
                return fail(&message, Exit::Usage);
            }
        }
    }
    // Extensions start this program as they would start a script with Node: its path comes twice.
    if words.first().is_some_and(|first| is_this_program(first)) {
        words.remove(0);
    }
    // The completion scripts of shells call this program for lists that change.
    if let [first, kind, prefix] = words.as_slice()
        && first == commands::complete::NAME
    {
        return commands::complete::run(kind, prefix);
    }
    match parse(words) {
        Ok(Request::Version) => print(concat!(env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Request::Help(path)) => pager::show(&help::of(&path)),
        Ok(Request::FullHelp) => pager::show(&help::full()),
        Ok(Request::MainHelp(arguments)) => modes::help(&arguments),
        Ok(Request::Topic(topic)) => pager::show(&topics::render(topic.page)),
        Ok(Request::Command(args)) => commands::run(&args),
        Ok(Request::Run(arguments)) => run_mode(&arguments),
        Err(Invalid { errors, path }) => {
            errors.iter().for_each(|error| note(error));
            match path.as_slice() {
                [] => hint("see `pi --help`"),
                path => hint(&format!("see `pi help {}`", path.join(" "))),
            }
            Exit::Usage.into()
        }
    }
}

/// Returns true for the absolute path of this program.
fn is_this_program(word: &str) -> bool {
    let path = std::path::Path::new(word);
    path.is_absolute() && std::env::current_exe().is_ok_and(|program| program == path)
}

fn run_mode(arguments: &Arguments) -> ExitCode {
    arguments.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    if let Some(file) = &arguments.export {
        return commands::export::page(file, arguments.messages.first().map(String::as_str));
    }
    modes::run(arguments)
}
