//! The `pi` command: reads arguments, runs a command or a mode, exits with an honest code.
//!
//! Everything that thinks is in the libraries; this crate only speaks. It is the one place that
//! prints, reads arguments and looks at the environment. Start-up does what the command needs and
//! nothing else: `--version` and `--help` touch neither files nor the runtime nor the catalog.
//!
//! Read `flags` for what can be asked, `arguments` for what a run was asked, `commands` for what
//! needs no agent, `exit` for the codes.

mod arguments;
mod commands;
mod crash;
mod environment;
mod exit;
mod flags;
mod modes;
mod secrets;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use arguments::Arguments;
use exit::{Exit, complain, note, print};
use flags::help;
use flags::parse::{Request, parse};

fn main() -> ExitCode {
    // A confined command begins as this program, which gives up its rights first.
    pi_guard::confine::run_helper_if_requested();
    // Commands of tools are owned by this program, started once more.
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
                return complain(&message, Exit::Usage);
            }
        }
    }
    // Until there is a screen, there is nothing to show but this.
    if words.is_empty() && std::io::stdin().is_terminal() {
        return print(&help::general());
    }
    match parse(words) {
        Ok(Request::Version) => print(concat!(env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Request::Help(path)) => print(&help::of(&path)),
        Ok(Request::Unavailable(message)) => complain(&message, Exit::Unavailable),
        Ok(Request::Command(given)) => commands::run(&given),
        Ok(Request::Run(arguments)) => run_mode(&arguments),
        Err(errors) => {
            errors.iter().for_each(|error| note(error));
            complain("see `pi --help`", Exit::Usage)
        }
    }
}

fn run_mode(arguments: &Arguments) -> ExitCode {
    arguments.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    if let Some(file) = &arguments.export {
        return commands::export::page(file, arguments.messages.first().map(String::as_str));
    }
    modes::run(arguments)
}
