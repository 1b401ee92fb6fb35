//! The modes that run an agent: interactive, print, JSON and RPC.
//!
//! `setup` creates the agent from the command line, `input` reads the prompts, `signals` ends a run
//! early; `hosting` opens the sessions of servers. The agent itself is in the library; the modes only
//! connect it to the standard streams.

#[cfg(feature = "acp")]
pub(crate) mod acp;
pub(crate) mod demo;
#[cfg(any(feature = "acp", feature = "mcp-server", feature = "serve"))]
mod hosting;
pub(crate) mod input;
#[cfg(feature = "screen")]
pub(crate) mod interactive;
mod json;
mod list;
#[cfg(any(feature = "mcp-server", feature = "serve"))]
mod listening;
#[cfg(feature = "mcp-server")]
pub(crate) mod mcp_serve;
mod packages;
mod plain;
mod print;
mod progress;
#[cfg(feature = "converge")]
pub(crate) mod replay;
mod rpc;
#[cfg(feature = "converge")]
pub(crate) mod run;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod setup;
mod signals;
mod streamed;
mod waiting;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use pi_coding_agent::{Environment, find_flags};

use crate::arguments::{Arguments, Mode};
use crate::exit::{Exit, fail, fail_with_hint};
use crate::flags::help;
use crate::pager;

/// Runs the mode that the command line selects.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let environment = match crate::environment::read() {
        Ok(environment) => environment,
        Err(error) => return fail(&error, Exit::Configuration),
    };
    block_on(run_in(arguments, environment))
}

/// Prints the help with the options of extensions.
pub(crate) fn help(arguments: &Arguments) -> ExitCode {
    // The help must be there even if the environment cannot be used.
    let flags = match crate::environment::read() {
        Ok(environment) => {
            let mut flags = Vec::new();
            let options = setup::options(arguments, environment);
            block_on(async {
                flags = find_flags(&options).await;
                ExitCode::SUCCESS
            });
            flags
        }
        Err(_) => Vec::new(),
    };
    pager::print(&help::with_extensions(&flags))
}

/// Runs a future to completion.
pub(crate) fn block_on(work: impl Future<Output = ExitCode>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return fail(&format!("cannot start the async runtime: {error}"), Exit::Failed);
        }
    };
    let exit = runtime.block_on(Box::pin(work));
    // Threads that block on stdin or on a DNS lookup must not delay the exit.
    runtime.shutdown_background();
    exit
}

async fn run_in(arguments: &Arguments, environment: Environment) -> ExitCode {
    if let Some(search) = &arguments.list_models {
        return list::run(arguments, environment, search).await;
    }
    let options = setup::options(arguments, environment);
    let is_interactive = !arguments.print && arguments.mode.is_none() && on_a_terminal();
    let plain = is_interactive.then(|| plain::reason(arguments, &options.project)).flatten();
    if arguments.resume && (!is_interactive || plain.is_some()) {
        let hint = "find the session with `pi sessions list` and pass it with --session";
        return fail_with_hint("--resume needs the screen", Some(hint), Exit::Usage);
    }
    let ended = match arguments.mode {
        Some(Mode::Rpc) => rpc::run(arguments, options).await,
        Some(Mode::Json) => json::run(arguments, options).await,
        _ if arguments.print || !on_a_terminal() => print::run(arguments, options).await,
        _ => match plain {
            Some(reason) => plain::run(arguments, options, reason).await,
            #[cfg(feature = "screen")]
            None => Ok(interactive::run(arguments, options).await),
            #[cfg(not(feature = "screen"))]
            None => plain::run(arguments, options, "This build of pi has no screen.").await,
        },
    };
    ended.unwrap_or_else(|failure| failure.report())
}

fn on_a_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}
