//! Hashes that identify a configured server, and what was approved of its tools.

use std::path::{Path, PathBuf};

use pi_mcp::protocol::Tool;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use pi_config::Environment;
use pi_config::mcp::{ServerConfig, Transport};

/// Returns a hash of how a server is reached. A server that is reached differently is another one:
/// its lists and approvals do not count.
pub(crate) fn of_server(name: &str, config: &ServerConfig, place: Option<&Path>) -> String {
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
    match place {
        Some(place) => hash(&json!([name, transport, place.to_string_lossy()])),
        None => hash(&json!([name, transport])),
    }
}

/// Returns the working directory of a server that is another program in another directory: the path
/// of the program or of the directory is relative.
pub(crate) fn place(config: &ServerConfig, environment: &Environment) -> Option<PathBuf> {
    let Transport::Stdio(stdio) = &config.transport else { return None };
    let is_relative = |path: &str| !path.starts_with("~/") && Path::new(path).is_relative();
    let command = Some(stdio.command.as_str()).filter(|command| command.contains('/'));
    if !command.is_some_and(is_relative) && !stdio.cwd.as_deref().is_some_and(is_relative) {
        return None;
    }
    let cwd = stdio.cwd.as_ref().map(|cwd| environment.expand(cwd, &environment.cwd));
    Some(cwd.unwrap_or_else(|| environment.cwd.clone()))
}

/// Returns a hash of what a server says about a tool: all that a person or a model reads before the
/// tool is called.
pub(crate) fn of_tool(tool: &Tool) -> String {
    let Tool { title, description, input_schema, output_schema, annotations, .. } = tool;
    match output_schema {
        Some(output) => hash(&json!([title, description, input_schema, annotations, output])),
        None => hash(&json!([title, description, input_schema, annotations])),
    }
}

fn hash(value: &serde_json::Value) -> String {
    pi_base::text::hex(&Sha256::digest(value.to_string())[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_program_is_another_server_in_another_directory() {
        let of = |config: &serde_json::Value, cwd: &str| {
            let config = ServerConfig::parse("s", config).unwrap();
            let environment = Environment::new(cwd, "/agent");
            of_server("s", &config, place(&config, &environment).as_deref())
        };
        for (config, is_same) in [
            (json!({"command": "npx", "args": ["."]}), true),
            (json!({"command": "/bin/x"}), true),
            (json!({"command": "~/bin/x"}), true),
            (json!({"command": "/bin/x", "cwd": "/y"}), true),
            (json!({"url": "https://a.example"}), true),
            (json!({"command": "./x"}), false),
            (json!({"command": "bin/x"}), false),
            (json!({"command": "x", "cwd": "sub"}), false),
        ] {
            assert_eq!(of(&config, "/a") == of(&config, "/b"), is_same, "{config}");
        }
    }

    #[test]
    fn all_that_is_said_about_a_tool_counts() {
        let tool = |value: serde_json::Value| of_tool(&serde_json::from_value(value).unwrap());
        let plain = tool(json!({"name": "t", "inputSchema": {}}));
        for other in [
            json!({"name": "t", "inputSchema": {}, "description": "d"}),
            json!({"name": "t", "inputSchema": {"x": 1}}),
            json!({"name": "t", "inputSchema": {}, "outputSchema": {"description": "d"}}),
        ] {
            assert_ne!(tool(other.clone()), plain, "{other}");
        }
    }
}
