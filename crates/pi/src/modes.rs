//! The ways to run an agent without a screen: print, JSON and RPC.
//!
//! `setup` makes an agent of the command line, `input` the first prompt, `signals` ends things
//! early. What an agent does is in the library; this is what becomes of it on the outside.

pub(crate) mod demo;
mod input;
mod json;
mod list;
mod print;
mod progress;
mod rpc;
mod setup;
mod signals;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use pi_coding_agent::Environment;

use crate::arguments::{Arguments, Mode};
use crate::exit::{Exit, complain};

/// Runs what the command line asks for.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let environment = match crate::environment::read() {
        Ok(environment) => environment,
        Err(error) => return complain(&error, Exit::Configuration),
    };
    block_on(run_in(arguments, environment))
}

/// Does something that waits.
pub(crate) fn block_on(work: impl Future<Output = ExitCode>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("could not start: {error}"), Exit::Failed),
    };
    let exit = runtime.block_on(Box::pin(work));
    // A thread that waits for input, or a server's name, is not waited for.
    runtime.shutdown_background();
    exit
}

async fn run_in(arguments: &Arguments, environment: Environment) -> ExitCode {
    if let Some(search) = &arguments.list_models {
        return list::run(environment, search).await;
    }
    match arguments.mode {
        Some(Mode::Rpc) => rpc::run(arguments, environment).await,
        Some(Mode::Json) => json::run(arguments, environment).await,
        _ if arguments.print || !on_a_terminal() => print::run(arguments, environment).await,
        _ => complain(
            "there is no interactive mode in this version yet; use `pi -p \"...\"`, or `pi --mode rpc`",
            Exit::Unavailable,
        ),
    }
}

fn on_a_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}
