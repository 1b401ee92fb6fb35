//! The MCP servers that a client brings to a session.

use pi_config::mcp::ServerConfig;
use pi_config::mcp::{ConfiguredServer, Origin};
use pi_jsonrpc::Error;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Longest name of a server, in characters.
const LONGEST: usize = 64;

#[derive(Deserialize)]
struct Server {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: String,
    command: Option<String>,
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(default)]
    env: Option<Vec<Pair>>,
    url: Option<String>,
    #[serde(default)]
    headers: Option<Vec<Pair>>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    value: String,
}

/// Reads the servers of a session. Names that differ stay different.
pub(crate) fn read_all(values: Vec<Value>) -> Result<Vec<ConfiguredServer>, Error> {
    let mut servers: Vec<ConfiguredServer> = Vec::new();
    for value in values {
        let mut server = read(value)?;
        let taken = |name: &str| servers.iter().any(|server| server.name == name);
        if taken(&server.name) {
            let short: String = server.name.chars().take(LONGEST - 4).collect();
            let names = (2..).map(|number| format!("{short}_{number}"));
            let mut free = names.take(servers.len() + 1).filter(|name| !taken(name));
            server.name = free.next().unwrap_or(server.name);
        }
        servers.push(server);
    }
    Ok(servers)
}

/// Reads a server, in the form of either version. A transport that is not supported is an error.
fn read(value: Value) -> Result<ConfiguredServer, Error> {
    let invalid = |problem: String| Error::invalid_params(format!("mcpServers: {problem}"));
    let server: Server =
        serde_json::from_value(value).map_err(|error| invalid(error.to_string()))?;
    let title = server.name;
    let entry = match server.kind.as_deref() {
        None | Some("stdio") => json!({
            "command": server.command,
            "args": server.args.unwrap_or_default(),
            "env": literal(server.env),
        }),
        Some("http") => json!({ "url": server.url, "headers": literal(server.headers) }),
        Some(kind) => {
            let problem = format!("{title:?} uses the transport {kind:?}; use stdio or http");
            return Err(invalid(problem));
        }
    };
    let name = name(&title);
    let config = ServerConfig::parse(&name, &entry);
    let config = config.map_err(|problem| invalid(format!("{title:?}{problem}")))?;
    Ok(ConfiguredServer { name, origin: Origin::Program, config })
}

/// Returns the name of a server with the characters that names of servers have.
fn name(title: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String =
        title.trim().chars().map(|c| if allowed(c) { c } else { '_' }).take(LONGEST).collect();
    if name.is_empty() { "server".to_owned() } else { name }
}

/// Returns values as `mcp.json` writes them. There, `$` is a variable and `!` a command; the values
/// of a client are what they are.
fn literal(pairs: Option<Vec<Pair>>) -> Map<String, Value> {
    let text = |value: &str| {
        let text = value.replace('$', "$$");
        match text.strip_prefix('!') {
            Some(rest) => format!("$!{rest}"),
            None => text,
        }
    };
    let pairs = pairs.unwrap_or_default().into_iter();
    pairs.map(|pair| (pair.name, text(&pair.value).into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_literally() {
        let pairs = ["!rm x", "a$HOME", "$!x"]
            .map(|value| Pair { name: value.to_owned(), value: value.to_owned() });
        let written: Vec<Value> = literal(Some(pairs.into())).into_values().collect();
        assert_eq!(written, ["$!rm x", "a$$HOME", "$$!x"]);
    }

    #[test]
    fn names_that_differ_stay_different() {
        let long = "n".repeat(80);
        let titles = ["a b", "a_b", "a-b", "a/b", &long, &format!("{long}x")];
        let values = titles.map(|name| json!({ "name": name, "command": "/bin/x" }));
        let servers = read_all(values.into()).expect("all are valid");
        let names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
        let cut = format!("{}_2", "n".repeat(60));
        assert_eq!(names, ["a_b", "a_b_2", "a-b", "a_b_3", &"n".repeat(64), &cut]);
    }

    #[test]
    fn servers_are_read_and_others_refused() {
        let server =
            read(json!({ "name": "My files", "command": "/bin/x", "args": [], "env": [] }));
        assert_eq!(server.map(|server| server.name), Ok("My_files".to_owned()));
        let http =
            json!({ "type": "http", "name": "h", "url": "https://a.example", "headers": [] });
        assert!(read(http).is_ok());
        let refused = [
            json!({ "type": "sse", "name": "h", "url": "https://a.example", "headers": [] }),
            json!({ "name": "no command" }),
            json!({ "type": "http", "name": "no url" }),
            json!({ "command": "/bin/x" }),
            json!(7),
        ];
        for value in refused {
            let error = read(value.clone()).map(|server| server.name).expect_err("refused");
            assert_eq!(error.code, Error::INVALID_PARAMS, "{value}");
        }
    }
}
