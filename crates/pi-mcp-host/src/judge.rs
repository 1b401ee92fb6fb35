//! Decisions about calls by the approvals of `mcp.json` and by pins, before the guard decides.
//!
//! Nothing here can widen what a rule of the policy forbids.

use std::sync::Arc;

use pi_agent::RequiredApproval;
use pi_coding_agent::extension::{ToolCall, ToolDecision};
use pi_coding_agent::guard::Guard;
use pi_config::mcp::Approval;
use pi_guard::policy::Scope as ApprovedScope;
use serde_json::Value;

use crate::pins::Pins;
use crate::resources;
use crate::server::Server;
use crate::servers::McpServers;
use crate::tool::McpTool;

/// Judges the call of a server's tool.
pub(crate) fn tool_call(
    call: &ToolCall,
    tool: &McpTool,
    pins: &Pins,
    guard: Option<&Guard>,
) -> ToolDecision {
    let server = &tool.server;
    let approval = server.config.approvals.get(&tool.remote);
    if approval == Some(Approval::Deny) {
        return denied(&tool.remote, server);
    }
    if approval == Some(Approval::Allow)
        && let Some(guard) = guard
    {
        guard.approvals().add(&[ApprovedScope::Tool { name: call.tool_name.clone() }]);
    }
    let mut approvals = Vec::new();
    if pins.is_changed(server.fingerprint(), &tool.remote, &tool.hash) {
        let reason = format!(
            "the MCP server {} changed the description of {} since it was approved",
            server.name, tool.remote
        );
        approvals.push(RequiredApproval { reason, by: "pin".to_owned() });
    } else if approval == Some(Approval::Ask) {
        approvals.push(asked(server));
    }
    ToolDecision::requiring(None, approvals)
}

/// Judges the call of a tool for resources. The tool serves all servers, so the approval of one
/// server cannot allow it; a list without a server leaves out those that are denied.
pub(crate) fn resource_call(call: &ToolCall, servers: &McpServers) -> ToolDecision {
    let mut approvals = Vec::new();
    let named = call.input.get("server").and_then(Value::as_str);
    let is_concerned = |server: &&Arc<Server>| named.is_none_or(|name| server.name == name);
    for server in servers.all().iter().filter(is_concerned) {
        match server.config.approvals.get(&call.tool_name) {
            Some(Approval::Deny) if named.is_some() => return denied(&call.tool_name, server),
            Some(Approval::Ask) if resources::has_resources(server) => {
                approvals.push(asked(server));
            }
            _ => {}
        }
    }
    ToolDecision::requiring(None, approvals)
}

fn denied(tool: &str, server: &Server) -> ToolDecision {
    let server = &server.name;
    ToolDecision::block(format!(
        "This is not allowed and was not run: mcp.json denies {tool} of the server {server}. \
         Continue without it, or tell the user."
    ))
}

fn asked(server: &Server) -> RequiredApproval {
    let reason = format!("mcp.json asks for calls of the server {}", server.name);
    RequiredApproval { reason, by: "mcp.json".to_owned() }
}
