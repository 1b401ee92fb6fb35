//! The states of servers as text.

use pi_config::mcp::{Origin, Transport};

use crate::state::{ServerState, ServerStatus};
use crate::text::clean_line;

/// The longest text of a server in a report.
const LONGEST: usize = 2_000;

/// The longest reason in a row, in bytes.
const LONGEST_IN_ROW: usize = 60;

/// Returns all servers, those that need attention first.
pub(super) fn all(states: &[ServerStatus]) -> String {
    if states.is_empty() {
        return "No MCP servers are configured".to_owned();
    }
    let mut lines = Vec::new();
    for status in sorted(states) {
        lines.push(row(status));
        if let Some(reason) = status.state.reason() {
            lines.push(format!("  {}", clean_line(reason, LONGEST)));
        }
    }
    lines.join("\n")
}

/// Returns the servers in the order of their need for attention.
pub(super) fn sorted(states: &[ServerStatus]) -> Vec<&ServerStatus> {
    let mut sorted: Vec<&ServerStatus> = states.iter().collect();
    sorted.sort_by_key(|status| match status.state {
        ServerState::NeedsSignIn(_) => 0,
        ServerState::Failed(_) => 1,
        ServerState::Disconnected(Some(_)) => 2,
        ServerState::Disabled => 4,
        _ => 3,
    });
    sorted
}

/// Returns a server in one line.
pub(super) fn row(status: &ServerStatus) -> String {
    let count = match &status.tools {
        Some(tools) if tools.len() == 1 => ", 1 tool".to_owned(),
        Some(tools) => format!(", {} tools", tools.len()),
        None => String::new(),
    };
    let (state, exposure) = (status.state.as_str(), status.config.exposure.as_str());
    format!("{}: {state}{count} ({exposure}, {})", status.name, origin(&status.origin))
}

/// Returns a server in one line, with what is wrong with it.
pub(super) fn row_with_reason(status: &ServerStatus) -> String {
    match status.state.reason() {
        Some(reason) => format!("{}: {}", row(status), clean_line(reason, LONGEST_IN_ROW)),
        None => row(status),
    }
}

/// Returns a server in several lines.
pub(super) fn details(status: &ServerStatus) -> String {
    let mut lines = vec![row(status)];
    lines.push(match &status.config.transport {
        Transport::Http(http) => http.url.to_string(),
        Transport::Stdio(stdio) => {
            let words = std::iter::once(&stdio.command).chain(&stdio.args);
            clean_line(&words.map(String::as_str).collect::<Vec<_>>().join(" "), LONGEST)
        }
    });
    match &status.origin {
        Origin::File { path, .. } => lines.push(path.display().to_string()),
        Origin::Extension(path) => lines.push(format!("registered by {path}")),
        _ => {}
    }
    lines.extend(status.state.reason().map(|reason| clean_line(reason, LONGEST)));
    lines.join("\n")
}

/// Returns the tools of a server with their exposures.
pub(super) fn tools(status: &ServerStatus) -> String {
    let tools = status.tools.as_deref().unwrap_or_default();
    if tools.is_empty() {
        return format!("No tools of {} are known", status.name);
    }
    let mut lines = vec![format!("Tools of {}:", status.name)];
    for tool in tools {
        let exposure = status.config.exposure_of(tool).as_str();
        lines.push(format!("  {} ({exposure})", clean_line(tool, LONGEST)));
    }
    lines.join("\n")
}

fn origin(origin: &Origin) -> &'static str {
    match origin {
        Origin::File { scope, .. } => scope.as_str(),
        Origin::Extension(_) => "extension",
        _ => "session",
    }
}
