//! The `pi` command: reads arguments, runs a mode, exits with an honest code.
//!
//! Everything that thinks is in the libraries; this crate only speaks. It is the one place that
//! prints, reads arguments and looks at the environment. Start-up does what the command needs and
//! nothing else: `--version` touches neither the runtime nor the catalog.
//!
//! Read `args` for what can be asked, `demo` for the one mode there is so far, `exit` for the codes.

mod args;
mod demo;
mod exit;

use std::io::Write as _;
use std::process::ExitCode;

use args::Command;
use exit::Exit;

fn main() -> ExitCode {
    let command = match args::parse(lexopt::Parser::from_env()) {
        Ok(command) => command,
        Err(error) => return exit::complain(&error.to_string(), Exit::Usage),
    };
    match command {
        Command::Version => print(concat!(env!("CARGO_PKG_VERSION"), "\n")),
        Command::Help => print(args::HELP),
        Command::Demo(options) => demo::run(&options),
    }
}

fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Exit::Success.into(),
        Err(error) => exit::on_write_error(&error),
    }
}
