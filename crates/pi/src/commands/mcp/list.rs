//! `pi mcp list`: connects all servers and prints their states and tools.

use std::io::{BufWriter, Write as _};

use pi_base::text::one_line;
use pi_config::mcp::ServerEntry;
use pi_mcp_host::{ServerState, ServerStatus};
use serde_json::{Map, Value, json};

use super::plain::PlainWriter;
use super::{CommandResult, Loaded, servers, success, transport};
use crate::commands::auth::wait;
use crate::exit::Exit;
use crate::flags::parse::CommandArgs;

pub(in crate::commands) fn list(args: &CommandArgs) -> CommandResult {
    let loaded = Loaded::read(args)?;
    let entries: Vec<&ServerEntry> = loaded.configuration.servers.iter().collect();
    let guard = servers::guard(&loaded)?;
    let states = wait(async {
        let servers = servers::open(&loaded, &entries, &guard);
        servers::connect(&servers).await;
        let states = servers.states();
        servers.shutdown().await;
        states
    })?;
    let reports: Vec<Report<'_>> = entries
        .iter()
        .filter_map(|entry| {
            let status = states.iter().find(|status| status.name == entry.name)?;
            Some(Report { entry, status })
        })
        .collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let mut object = json!({
            "servers": reports.iter().map(Report::json).collect::<Vec<_>>(),
            "errors": loaded.configuration.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        if let (Some(note), Some(object)) = (loaded.untrusted(), object.as_object_mut()) {
            object.insert("note".to_owned(), note.into());
        }
        serde_json::to_writer_pretty(&mut out, &object)?;
        writeln!(out)?;
    } else {
        let mut out = PlainWriter::new(&mut out);
        if reports.is_empty() && loaded.configuration.errors.is_empty() {
            crate::exit::note("no MCP servers are configured; add one with `pi mcp add`");
        }
        for report in &reports {
            report.print(&mut out)?;
        }
        for error in &loaded.configuration.errors {
            writeln!(out, "error: {error}")?;
        }
        if let Some(note) = loaded.untrusted() {
            writeln!(out, "{note}; see `pi trust`")?;
        }
    }
    out.flush()?;
    let is_good = |report: &Report<'_>| {
        matches!(report.status.state, ServerState::Connected | ServerState::Disabled)
    };
    let failed = !loaded.configuration.errors.is_empty() || !reports.iter().all(is_good);
    Ok(if failed { Exit::Failed.into() } else { success() })
}

/// The state of one server.
pub(super) struct Report<'a> {
    pub(super) entry: &'a ServerEntry,
    pub(super) status: &'a ServerStatus,
}

impl Report<'_> {
    fn tools(&self) -> &[String] {
        self.status.tools.as_deref().unwrap_or_default()
    }

    /// Returns the tools whose exposure differs from that of the server.
    fn exposures(&self) -> Map<String, Value> {
        let config = &self.entry.config;
        let differs = |tool: &&String| config.exposure_of(tool) != config.exposure;
        let own = self.tools().iter().filter(differs);
        own.map(|tool| (tool.clone(), config.exposure_of(tool).as_str().into())).collect()
    }

    /// Returns the state for programs.
    pub(super) fn json(&self) -> Value {
        let Self { entry, status } = self;
        let state = match &status.state {
            ServerState::NeedsSignIn(_) => "needs-auth",
            state => state.as_str(),
        };
        let mut object = json!({
            "name": entry.name,
            "scope": entry.scope.as_str(),
            "source": entry.source,
            "enabled": entry.config.enabled,
            "exposure": entry.config.exposure.as_str(),
            "transport": transport(&entry.config),
            "state": state,
            "tools": self.tools(),
        });
        let Some(fields) = object.as_object_mut() else { return object };
        let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        if let Some(path) = &entry.overridden_by {
            set("override", json!(path));
        }
        let exposures = self.exposures();
        if !exposures.is_empty() {
            set("toolExposure", exposures.into());
        }
        if status.has_resources {
            set("resources", true.into());
        }
        if !status.prompts.is_empty() {
            set("prompts", json!(status.prompts));
        }
        if let Some(reason) = status.state.reason() {
            set("error", reason.into());
        }
        object
    }

    fn print(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        let Self { entry, status } = self;
        let count = match (&status.state, self.tools().len()) {
            (ServerState::Connected, 1) => ", 1 tool".to_owned(),
            (ServerState::Connected, count) => format!(", {count} tools"),
            _ => String::new(),
        };
        let (exposure, scope) = (entry.config.exposure.as_str(), entry.scope.as_str());
        writeln!(out, "{}: {}{count} ({exposure}, {scope})", entry.name, status.state.as_str())?;
        writeln!(out, "  {}", transport(&entry.config))?;
        if let Some(path) = &entry.overridden_by {
            writeln!(out, "  overridden in {}", path.display())?;
        }
        let exposures = self.exposures();
        if !self.tools().is_empty() {
            let tools = self.tools().iter().map(|tool| {
                let own = exposures.get(tool).and_then(Value::as_str);
                let own = own.map(|exposure| format!(" [{exposure}]")).unwrap_or_default();
                format!("{}{own}", one_line(tool))
            });
            writeln!(out, "  tools: {}", tools.collect::<Vec<_>>().join(", "))?;
        }
        if !status.prompts.is_empty() {
            let prompts = status.prompts.iter().map(|name| one_line(name));
            writeln!(out, "  prompts: {}", prompts.collect::<Vec<_>>().join(", "))?;
        }
        if status.has_resources {
            writeln!(out, "  offers resources")?;
        }
        if let Some(reason) = status.state.reason() {
            for text in reason.lines() {
                writeln!(out, "  {}", one_line(text))?;
            }
        }
        if matches!(status.state, ServerState::NeedsSignIn(_)) {
            writeln!(out, "  sign in with `pi mcp login {}`", entry.name)?;
        }
        Ok(())
    }
}
