//! Hashes that identify a configured server, and what was approved of its tools.

use pi_mcp::protocol::Tool;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::config::{ServerConfig, Transport};

/// Returns a hash of how a server is reached. A server that is reached differently is another one:
/// its lists and approvals do not count.
pub(super) fn of_server(name: &str, config: &ServerConfig) -> String {
    let transport = match &config.transport {
        Transport::Stdio(stdio) => {
            let names: Vec<&str> = stdio.env.names().collect();
            json!(["stdio", stdio.command, stdio.args, stdio.cwd, names])
        }
        Transport::Http(http) => {
            let names: Vec<&str> = http.headers.names().collect();
            json!(["http", http.url.as_str(), names, http.provider])
        }
    };
    hash(&json!([name, transport]))
}

/// Returns a hash of what a server says about a tool: all that a person or a model reads before the
/// tool is called.
pub(super) fn of_tool(tool: &Tool) -> String {
    hash(&json!([tool.title, tool.description, tool.input_schema, tool.annotations]))
}

fn hash(value: &serde_json::Value) -> String {
    let hash = Sha256::digest(value.to_string());
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
