//! `pi mcp call`: one call of a tool, under the policy.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

use pi_base::text::line;
use pi_coding_agent::guard::{Call, Guard, Outcome, ToolOrigin};
use pi_config::mcp::{Approval, ServerEntry, Transport};
use pi_mcp::client::CallOptions;
use pi_mcp::protocol::CallToolResult;
use pi_mcp_host::{McpServers, ServerError, tool_name};
use pi_protocol::Effects;
use pi_tools::{Host, Workspace};
use serde_json::{Map, Value};

use super::plain::PlainWriter;
use super::{CommandResult, Failure, Loaded, servers, success};
use crate::commands::auth::wait;
use crate::exit::{Exit, note};
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn call(args: &CommandArgs) -> CommandResult {
    let loaded = Loaded::read(args)?;
    let entry = loaded.server(args)?;
    let tool = args.word(1).unwrap_or_default();
    let arguments = arguments(args.words.get(2..).unwrap_or_default())?;
    if entry.config.approvals.get(tool) == Some(Approval::Deny) {
        let message = format!("mcp.json denies calls of {tool} of {}", entry.name);
        return Err(Failure::failed(message));
    }
    let guard = servers::guard(&loaded)?;
    let result = wait(async {
        let servers = servers::open(&loaded, &[entry], &guard);
        let result = approved(&loaded, &guard, &servers, (entry, tool), arguments, args.has("yes"));
        let result = result.await;
        servers.shutdown().await;
        result
    })?;
    let result = result?;
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

/// Calls a tool if it is approved. The server is connected first: what it says about its tools decides
/// about their names, and whether one has changed.
async fn approved(
    loaded: &Loaded,
    guard: &Guard,
    servers: &McpServers,
    (entry, tool): (&ServerEntry, &str),
    arguments: Map<String, Value>,
    is_confirmed: bool,
) -> Result<CallToolResult, Failure> {
    let connected = servers.connect(&entry.name).await;
    connected.map_err(|error| unavailable(&error))?;
    let tools = servers.tools(&entry.name).unwrap_or_default();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let is_changed = servers.changed_tools(&entry.name).iter().any(|changed| changed == tool);
    let described = tools.iter().find(|other| other.name == tool);
    let known = Known {
        name: tool_name(&entry.name, &names, tool),
        description: described.and_then(|tool| tool.description.clone()).unwrap_or_default(),
        is_changed,
    };
    approve(loaded, guard, (entry, tool), &known, &arguments, is_confirmed)?;
    let result = servers.call(&entry.name, tool, arguments, &CallOptions::default()).await;
    let result = result.map_err(|error| unavailable(&error))?;
    result.map_err(|error| Failure::failed(format!("{}: {error}", entry.name)))
}

/// A tool as a session knows it.
struct Known {
    /// Name in sessions and rules.
    name: String,
    description: String,
    /// The tool is another one than when it was first used.
    is_changed: bool,
}

/// Applies the policy and the approvals of `mcp.json`. The user is asked where they ask.
fn approve(
    loaded: &Loaded,
    guard: &Guard,
    (entry, tool): (&ServerEntry, &str),
    known: &Known,
    arguments: &Map<String, Value>,
    is_confirmed: bool,
) -> Result<(), Failure> {
    let environment = loaded.project.environment();
    let (cwd, home) = (environment.cwd.clone(), environment.home.clone());
    let workspace = Workspace::new(Arc::new(Host::default()), cwd, home);
    let effects = match &entry.config.transport {
        Transport::Http(http) => {
            Effects::unknown().connect(http.url.host_str().unwrap_or_default())
        }
        Transport::Stdio(_) => Effects::unknown(),
    };
    let (name, origin) = (&known.name, ToolOrigin::External);
    let call = Call { tool: name, arguments, effects: &effects, origin };
    let judgment = guard.judge(call, &workspace);
    let approval = entry.config.approvals.get(tool);
    let asks = match judgment.outcome {
        Outcome::Refuse => return Err(Failure::failed(judgment.refusal())),
        Outcome::Ask => approval != Some(Approval::Allow),
        Outcome::Run | Outcome::RunConfined => approval == Some(Approval::Ask),
    };
    // `--yes` of a script was written for the tool as it was.
    let is_confirmed = is_confirmed && !known.is_changed;
    if is_confirmed || !(asks || known.is_changed) {
        return Ok(());
    }
    let server = &entry.name;
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(match known.is_changed {
            true => {
                let changed = format!("{server} changed the description of {tool}");
                Failure::failed(format!("{changed} since it was first used, so it needs approval"))
                    .hint("call the tool in a terminal to read and approve the new description")
            }
            false => Failure::failed(format!("the call of {tool} of {server} needs approval"))
                .hint("approve it with --yes, or allow the tool with a rule"),
        });
    }
    if known.is_changed {
        let description = line(&known.description, 2_000);
        note(&format!("{server} changed the description of {tool}, which is now: {description}"));
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
