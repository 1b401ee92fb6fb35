//! `pi mcp login` and `logout`.

use std::io::IsTerminal as _;

use pi_config::mcp::{HttpServer, ServerEntry, Transport};
use pi_host::browser;
use pi_mcp_host::auth::{McpAuth, SignInOptions};

use super::{CommandResult, Failure, Loaded};
use crate::commands::auth::{interruptible, wait};
use crate::exit::{Exit, note, print};
use crate::flags::parse::CommandArgs;
use crate::logins::terminal::TerminalInteraction;

pub(in crate::commands) fn login(args: &CommandArgs) -> CommandResult {
    let loaded = Loaded::read(args)?;
    let entry = loaded.server(args)?;
    let http = http(entry)?;
    let mut options = SignInOptions::default();
    if let Some(text) = args.value("timeout") {
        let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
        let invalid =
            || Failure::usage(format!("--timeout: \"{text}\" is not a number of seconds"));
        options.timeout = Some(seconds.ok_or_else(invalid)?);
    }
    let has_input = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    options.no_paste = !has_input;
    let browser = match args.has("no-browser") {
        true => None,
        false => browser::program(loaded.project.environment()),
    };
    let interaction = TerminalInteraction::new(browser, has_input);
    let auth = McpAuth::new(loaded.project.environment(), None);
    interruptible(|cancel| async move {
        match auth.sign_in(&entry.name, http, &interaction, &options, cancel).await {
            Ok(()) => Ok(print(&format!("signed in to the MCP server {}\n", entry.name))),
            Err(error) if error.is_cancelled() => {
                Err(Failure::new("the sign-in was cancelled", Exit::Aborted))
            }
            Err(error) => Err(Failure::failed(format!("{}: {error}", entry.name))),
        }
    })
}

pub(in crate::commands) fn logout(args: &CommandArgs) -> CommandResult {
    let loaded = Loaded::read(args)?;
    let entry = loaded.server(args)?;
    let auth = McpAuth::new(loaded.project.environment(), None);
    let done = wait(auth.sign_out(&entry.name, http(entry)?))?;
    let done = done.map_err(|error| Failure::failed(format!("{}: {error}", entry.name)))?;
    if let Some(Err(problem)) = &done.revoked {
        note(&format!("warning: the tokens may still be valid: {problem}"));
    }
    Ok(print(&match (done.was_stored, done.revoked) {
        (false, _) => format!("no sign-in to the MCP server {} is stored\n", entry.name),
        (true, Some(Ok(()))) => {
            format!("signed out of the MCP server {} and revoked its tokens\n", entry.name)
        }
        (true, _) => format!("signed out of the MCP server {}\n", entry.name),
    }))
}

fn http(entry: &ServerEntry) -> Result<&HttpServer, Failure> {
    match &entry.config.transport {
        Transport::Http(http) => Ok(http),
        Transport::Stdio(_) => Err(Failure::failed(format!(
            "the MCP server {} is a program, to which no one signs in",
            entry.name
        ))),
    }
}
