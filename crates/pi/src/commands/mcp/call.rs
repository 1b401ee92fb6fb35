//! `pi mcp call`: one call of a tool, under the policy.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

use pi_coding_agent::guard::{Call, Guard, Outcome, ToolOrigin};
use pi_coding_agent::mcp::ServerError;
use pi_coding_agent::mcp::config::{Approval, ServerEntry, namespace};
use pi_coding_agent::{AgentOptions, load_guard};
use pi_mcp::client::CallOptions;
use pi_mcp::protocol::CallToolResult;
use pi_tools::{Host, Workspace, toolset};
use serde_json::{Map, Value};

use super::plain::PlainWriter;
use super::{CommandResult, Failure, Loaded, servers, success};
use crate::commands::auth::wait;
use crate::exit::Exit;
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn call(args: &CommandArgs) -> CommandResult {
    let loaded = Loaded::read()?;
    let entry = loaded.server(args)?;
    let tool = args.word(1).unwrap_or_default();
    let arguments = arguments(args.words.get(2..).unwrap_or_default())?;
    let mut options = AgentOptions::new(loaded.environment.clone());
    options.supervisor = servers::supervisor();
    let guard = load_guard(&options)?;
    approve(&loaded, &guard, (entry, tool), &arguments, args.has("yes"))?;
    let result = wait(async {
        let servers = servers::open(&loaded, &[entry], Some(guard));
        let options = CallOptions::default();
        let result = servers.call(&entry.name, tool, arguments, &options).await;
        servers.shutdown().await;
        result
    })?;
    let result = result.map_err(|error| unavailable(&error))?;
    let result = result.map_err(|error| Failure::failed(format!("{}: {error}", entry.name)))?;
    print_result(&result, args.has("json"))?;
    Ok(if result.is_error == Some(true) { Exit::Failed.into() } else { success() })
}

/// Returns the arguments: one JSON object, or names with values.
fn arguments(words: &[String]) -> Result<Map<String, Value>, Failure> {
    if let [word] = words
        && word.trim_start().starts_with('{')
    {
        return serde_json::from_str(word).map_err(|error| {
            Failure::usage(format!("the arguments are not a JSON object: {error}"))
        });
    }
    let mut arguments = Map::new();
    for word in words {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            let problem = format!("expected NAME=VALUE or a JSON object, not \"{word}\"");
            return Err(Failure::usage(problem));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        arguments.insert(name.to_owned(), value);
    }
    Ok(arguments)
}

/// Applies the policy and the approvals of `mcp.json`. The user is asked where they ask.
fn approve(
    loaded: &Loaded,
    guard: &Guard,
    (entry, tool): (&ServerEntry, &str),
    arguments: &Map<String, Value>,
    is_confirmed: bool,
) -> Result<(), Failure> {
    let approval = entry.config.approvals.get(tool);
    if approval == Some(Approval::Deny) {
        let message = format!("mcp.json denies calls of {tool} of {}", entry.name);
        return Err(Failure::failed(message));
    }
    let environment = &loaded.environment;
    let (cwd, home) = (environment.cwd.clone(), environment.home.clone());
    let workspace = Workspace::new(Arc::new(Host::default()), cwd, home);
    let name = format!("{}__{tool}", namespace(&entry.name));
    let effects = toolset::effects_of(&name, arguments);
    let call = Call { tool: &name, arguments, effects: &effects, origin: ToolOrigin::External };
    let judgment = guard.judge(call, &workspace);
    let asks = match judgment.outcome {
        Outcome::Refuse => return Err(Failure::failed(judgment.refusal())),
        Outcome::Ask => approval != Some(Approval::Allow),
        Outcome::Run | Outcome::RunConfined => approval == Some(Approval::Ask),
    };
    if !asks || is_confirmed {
        return Ok(());
    }
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let message = format!("the call of {tool} of {} needs approval", entry.name);
        return Err(
            Failure::failed(message).hint("approve it with --yes, or allow the tool with a rule")
        );
    }
    confirm(entry, tool)
}

fn confirm(entry: &ServerEntry, tool: &str) -> Result<(), Failure> {
    let mut err = PlainWriter::new(std::io::stderr());
    write!(err, "Call {tool} of the MCP server {}? [y/N] ", entry.name)?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::failed("the call was not approved")),
    }
}

fn unavailable(error: &ServerError) -> Failure {
    let failure = Failure::failed(error.to_string());
    match error {
        ServerError::SignIn { name, .. } => {
            failure.hint(format!("sign in with `pi mcp login {name}`"))
        }
        ServerError::Disabled(_) => failure.hint("enable it in mcp.json"),
        ServerError::Unavailable { name, .. } => failure.hint(format!("see `pi mcp check {name}`")),
        _ => failure,
    }
}

fn print_result(result: &CallToolResult, as_json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if as_json {
        serde_json::to_writer_pretty(&mut out, result)?;
        writeln!(out)?;
        return Ok(());
    }
    let mut out = PlainWriter::new(out);
    let value = serde_json::to_value(result)?;
    let blocks = value["content"].as_array().cloned().unwrap_or_default();
    for block in &blocks {
        let text = block["text"].as_str().or_else(|| block["resource"]["text"].as_str());
        match text {
            Some(text) => writeln!(out, "{text}")?,
            None => {
                let (kind, mime) = (block["type"].as_str(), block["mimeType"].as_str());
                let mime = mime.map(|mime| format!(" ({mime})")).unwrap_or_default();
                writeln!(out, "[{}{mime}; --json prints it]", kind.unwrap_or("content"))?;
            }
        }
    }
    if blocks.is_empty() && !value["structuredContent"].is_null() {
        writeln!(out, "{}", serde_json::to_string_pretty(&value["structuredContent"])?)?;
    }
    out.flush()?;
    Ok(())
}
