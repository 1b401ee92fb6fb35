//! `pi mcp check`: explains what is wrong with servers, and what to do about it.

use std::io::{BufWriter, Write as _};

use pi_base::text::line;
use pi_coding_agent::Diagnostic;
use pi_config::mcp::{ServerEntry, Transport};
use pi_mcp::client::Facts;
use pi_mcp::protocol::Era;
use pi_mcp_host::{McpServers, ServerState, ServerStatus};
use serde_json::{Value, json};

use super::list::Report;
use super::plain::PlainWriter;
use super::{CommandResult, Loaded, servers, success, transport};
use crate::commands::auth::wait;
use crate::exit::Exit;
use crate::flags::parse::CommandArgs;

/// Something that is wrong, and what to do about it.
struct Problem {
    text: String,
    fix: String,
}

/// The result of the checks of one server.
struct Checked<'a> {
    entry: &'a ServerEntry,
    status: ServerStatus,
    facts: Option<Facts>,
    problems: Vec<Problem>,
}

pub(in crate::commands) fn check(args: &CommandArgs) -> CommandResult {
    let loaded = Loaded::read(args)?;
    let mut entries: Vec<&ServerEntry> = loaded.configuration.servers.iter().collect();
    let mut errors: Vec<&Diagnostic> = loaded.configuration.errors.iter().collect();
    if !args.words.is_empty() {
        // A file that cannot be read concerns all servers.
        let is_of = |error: &Diagnostic, name: &str| {
            let place = error.message.strip_prefix("mcpServers.");
            place.is_some_and(|place| {
                place.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ':']))
            })
        };
        errors.retain(|error| {
            let is_general = !error.message.starts_with("mcpServers.");
            is_general || args.words.iter().any(|name| is_of(error, name))
        });
        for name in &args.words {
            if !errors.iter().any(|error| is_of(error, name)) {
                loaded.named(name)?;
            }
        }
        entries.retain(|entry| args.words.contains(&entry.name));
    }
    let guard = servers::guard(&loaded)?;
    let checked = wait(async {
        let servers = servers::open(&loaded, &entries, &guard);
        servers::connect(&servers).await;
        let states = servers.states();
        let checked: Vec<Checked<'_>> = entries
            .iter()
            .filter_map(|entry| {
                let status = states.iter().find(|status| status.name == entry.name)?;
                Some(examine(&servers, entry, status.clone()))
            })
            .collect();
        servers.shutdown().await;
        checked
    })?;
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let servers: Vec<Value> = checked.iter().map(Checked::json).collect();
        let mut object = json!({ "servers": servers, "errors": errors });
        if let Some(note) = loaded.untrusted() {
            object["note"] = note.into();
        }
        serde_json::to_writer_pretty(&mut out, &object)?;
        writeln!(out)?;
    } else {
        let mut out = PlainWriter::new(&mut out);
        if checked.is_empty() && errors.is_empty() {
            crate::exit::note("no MCP servers are configured; add one with `pi mcp add`");
        }
        checked.iter().try_for_each(|one| one.print(&mut out))?;
        for error in &errors {
            writeln!(out, "error: {error}")?;
        }
        if let Some(note) = loaded.untrusted() {
            writeln!(out, "{note}; see `pi trust`")?;
        }
    }
    out.flush()?;
    let is_good = errors.is_empty() && checked.iter().all(|one| one.problems.is_empty());
    Ok(if is_good { success() } else { Exit::Failed.into() })
}

fn examine<'a>(servers: &McpServers, entry: &'a ServerEntry, status: ServerStatus) -> Checked<'a> {
    let name = &entry.name;
    let mut problems = Vec::new();
    let mut add = |text: String, fix: String| problems.push(Problem { text, fix });
    let reason = || line(status.state.reason().unwrap_or_default(), 2_000);
    match &status.state {
        ServerState::NeedsSignIn(_) => {
            add(reason(), format!("sign in with `pi mcp login {name}`"));
        }
        ServerState::Connected | ServerState::Disabled => {}
        _ => add(reason(), fix(entry)),
    }
    for tool in servers.changed_tools(name) {
        add(
            format!("the description of {} changed since it was first used", line(&tool, 200)),
            "read the new description; the next call asks for approval again".to_owned(),
        );
    }
    if let Transport::Http(http) = &entry.config.transport
        && http.url.scheme() == "http"
        && !matches!(http.url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
    {
        add("the connection is not encrypted".to_owned(), "use an https URL".to_owned());
    }
    Checked { entry, facts: servers.facts(name), status, problems }
}

/// Returns what to do about a server that cannot be connected.
fn fix(entry: &ServerEntry) -> String {
    match &entry.config.transport {
        Transport::Stdio(stdio) if !stdio.command.contains('/') => format!(
            "check that {} is installed and in PATH, and that the command works by itself; \
             messages of the server are in mcp.log of the agent directory",
            stdio.command
        ),
        Transport::Stdio(_) => {
            "check that the command works by itself; messages of the server are \
                                in mcp.log of the agent directory"
                .to_owned()
        }
        Transport::Http(_) => "check the URL, and that the server runs and is reachable from this \
                               machine"
            .to_owned(),
    }
}

impl Checked<'_> {
    fn protocol(&self) -> Option<String> {
        let facts = self.facts.as_ref()?;
        let era = match facts.era {
            Era::Modern => "modern",
            Era::Legacy => "legacy",
        };
        Some(format!("{} ({era})", line(&facts.version, 100)))
    }

    fn server(&self) -> Option<String> {
        let server = self.facts.as_ref()?.server.as_ref()?;
        Some(line(&format!("{} {}", server.name, server.version), 200))
    }

    /// Returns what `pi mcp list` says of the server, and the results of the checks.
    fn json(&self) -> Value {
        let problem = |one: &Problem| json!({ "problem": one.text, "fix": one.fix });
        let mut object = Report { entry: self.entry, status: &self.status }.json();
        object["protocol"] = json!(self.protocol());
        object["server"] = json!(self.server());
        object["problems"] = self.problems.iter().map(problem).collect();
        object
    }

    fn print(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        writeln!(out, "{}: {}", self.entry.name, self.status.state.as_str())?;
        writeln!(out, "  {}", transport(&self.entry.config))?;
        if let Some(protocol) = self.protocol() {
            let server = self.server().map(|server| format!(", {server}")).unwrap_or_default();
            let tools = self.status.tools.as_ref().map_or(0, Vec::len);
            writeln!(out, "  protocol {protocol}{server}, {tools} tools")?;
        }
        for problem in &self.problems {
            writeln!(out, "  problem: {}\n  do: {}", problem.text, problem.fix)?;
        }
        Ok(())
    }
}
