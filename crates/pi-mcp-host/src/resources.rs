//! Tools for the resources of all servers.

use std::sync::Arc;

use pi_agent::{AgentTool, FnTool, Invocation, ToolError, ToolOutput};
use pi_coding_agent::extension::{Exposure, ToolWait};
use pi_config::mcp::{Approval, RESOURCE_TOOLS};
use pi_mcp::client::{CallOptions, Client, ClientError};
use pi_protocol::{CancelToken, Effects, Tool, UserBlock};
use serde_json::{Map, Value, json};

use crate::result::{error_output, finish, resource_output};
use crate::server::Server;
use crate::servers::{McpServers, WeakServers};
use crate::text::{ERROR, clean};

/// Resources and templates of one page. A cursor continues after them.
const PAGE: usize = 500;

/// Makes the tools for the resources of all servers, with the schemas of their results.
pub(crate) fn tools(servers: &WeakServers) -> Vec<(Arc<dyn AgentTool>, Value)> {
    let [list, templates, read] = RESOURCE_TOOLS;
    let listed = json!({
        "type": "object",
        "properties": {
            "server": { "type": "string", "description": "Name of a server. Leave it out to list all servers." },
            "cursor": { "type": "string", "description": "Cursor of the previous result, to continue the list of this server." },
        },
        "additionalProperties": false,
    });
    let addressed = json!({
        "type": "object",
        "properties": {
            "server": { "type": "string", "description": "Name of the server, as list_mcp_resources returns it." },
            "uri": { "type": "string", "description": "URI of the resource, as list_mcp_resources returns it." },
        },
        "required": ["server", "uri"],
        "additionalProperties": false,
    });
    let list_text = "List resources of MCP servers: files, schemas and other data that a server \
                     offers to read.";
    let templates_text = "List resource templates of MCP servers: URIs with variables, which name \
                          resources that can be read.";
    let read_text = "Read a resource of an MCP server.";
    let make = |declaration, operation| (tool(declaration, servers, operation), result(operation));
    vec![
        make(Tool::new(list, list_text, listed.clone()), Operation::List(Kind::Resources)),
        make(Tool::new(templates, templates_text, listed), Operation::List(Kind::Templates)),
        make(Tool::new(read, read_text, addressed), Operation::Read),
    ]
}

/// Returns the schema of the result, as scripts get it.
fn result(operation: Operation) -> Value {
    let string = json!({ "type": "string" });
    let kind = match operation {
        Operation::List(kind) => kind,
        Operation::Read => {
            let contents = |name: &str, field: Value| {
                json!({
                    "type": "object",
                    "properties": { "uri": string, "mimeType": string, (name): field },
                    "required": ["uri", name],
                })
            };
            let blob = json!({ "type": "string", "description": "base64" });
            let contents = [contents("text", string.clone()), contents("blob", blob)];
            return json!({
                "type": "object",
                "properties": {
                    "server": string,
                    "uri": string,
                    "contents": { "type": "array", "items": { "anyOf": contents } },
                },
                "required": ["server", "uri", "contents"],
            });
        }
    };
    let address = match kind {
        Kind::Resources => json!({ "uri": string, "size": { "type": "number" } }),
        Kind::Templates => {
            json!({ "uriTemplate": { "type": "string", "description": "Template by RFC 6570" } })
        }
    };
    let mut item = json!({
        "type": "object",
        "properties": {
            "server": string, "name": string, "title": string,
            "mimeType": string, "description": string,
            "changed": { "type": "boolean", "description": "Changed since you read it" },
        },
        "required": ["server", "name", kind.address()],
    });
    if let (Some(properties), Value::Object(address)) =
        (item["properties"].as_object_mut(), address)
    {
        properties.extend(address);
    }
    let error = json!({
        "type": "object",
        "properties": { "server": string, "error": string },
        "required": ["server", "error"],
    });
    json!({
        "type": "object",
        "properties": {
            "server": string,
            (kind.field()): { "type": "array", "items": item },
            "nextCursor": string,
            "errors": {
                "type": "array", "items": error,
                "description": "Servers that could not be listed",
            },
        },
        "required": [kind.field()],
    })
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    List(Kind),
    Read,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Resources,
    Templates,
}

impl Kind {
    /// The field of a result that lists the items.
    fn field(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The field of an item that addresses it.
    fn address(self) -> &'static str {
        match self {
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}

fn tool(declaration: Tool, servers: &WeakServers, operation: Operation) -> Arc<dyn AgentTool> {
    let servers = servers.clone();
    let name = declaration.name.clone();
    let tool = FnTool::new(declaration, move |invocation| {
        let (servers, name) = (servers.clone(), name.clone());
        async move {
            let gone = || ToolError::new("The session of this tool has ended.");
            let servers = servers.upgrade().ok_or_else(gone)?;
            let Invocation { arguments, cancel, .. } = invocation;
            let running = async {
                servers.wait(&ToolWait::All).await;
                match operation {
                    Operation::List(kind) => list(&servers, kind, &name, &arguments).await,
                    Operation::Read => read(&servers, &name, &arguments, &cancel).await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ToolError::new("Operation aborted")),
                output = running => output,
            }
        }
    });
    Arc::new(tool.effects(|_| Effects::unknown()))
}

/// Returns true if a server has resources that the model may reach.
pub(crate) fn has_resources(server: &Server) -> bool {
    let is_open = server.config.enabled && server.config.exposure != Exposure::Hidden;
    let lists = server.known_lists().filter(|_| is_open);
    lists.is_some_and(|lists| lists.capabilities.resources.is_some())
}

/// Returns the servers whose resources a tool may access: all, or the one of this name.
fn with_resources(
    servers: &McpServers,
    tool: &str,
    name: Option<&str>,
) -> Result<Vec<Arc<Server>>, ToolError> {
    let is_usable = |server: &Arc<Server>| {
        has_resources(server) && server.config.approvals.get(tool) != Some(Approval::Deny)
    };
    let all: Vec<Arc<Server>> = servers.all().into_iter().filter(is_usable).collect();
    let Some(name) = name else { return Ok(all) };
    match all.iter().find(|server| server.name == name) {
        Some(server) => Ok(vec![Arc::clone(server)]),
        None => {
            let names: Vec<&str> = all.iter().map(|server| server.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(ToolError::new(format!(
                "MCP server \"{name}\" has no resources. Servers with resources: {names}"
            )))
        }
    }
}

async fn list(
    servers: &McpServers,
    kind: Kind,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, ToolError> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
    let start = match argument("cursor").map(str::parse::<usize>) {
        None => 0,
        Some(Ok(start)) => start,
        Some(Err(_)) => return Err(ToolError::new("The cursor is not one of an earlier result.")),
    };
    let wanted = argument("server");
    let chosen = with_resources(servers, tool, wanted)?;
    let listing = chosen.iter().map(|server| items(servers, server, kind));
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for (server, listed) in chosen.iter().zip(futures_util::future::join_all(listing).await) {
        match listed {
            Ok(items) => found.extend(items),
            Err(error) => errors.push(json!({ "server": server.name, "error": error })),
        }
    }
    let has_more = found.len() > start + PAGE;
    let page: Vec<Value> = found.into_iter().skip(start).take(PAGE).collect();
    let mut data = Map::new();
    if let Some(wanted) = wanted {
        data.insert("server".to_owned(), wanted.into());
    }
    data.insert(kind.field().to_owned(), page.into());
    if has_more {
        data.insert("nextCursor".to_owned(), (start + PAGE).to_string().into());
    }
    if !errors.is_empty() {
        data.insert("errors".to_owned(), errors.into());
    }
    let data = Value::Object(data);
    let content = vec![UserBlock::text(data.to_string())];
    Ok(finish(wanted.unwrap_or_default(), tool, content, data, &servers.0.files))
}

/// Lists the resources or templates of one server, without those for user interfaces.
async fn items(
    servers: &McpServers,
    server: &Arc<Server>,
    kind: Kind,
) -> Result<Vec<Value>, String> {
    let client = servers.client(server).await.map_err(|error| error.to_string())?;
    let shown = |error: ClientError| clean(&error.to_string(), ERROR);
    let listed: Vec<Value> = match kind {
        Kind::Resources => {
            let list = client.list_resources().await.map_err(shown)?;
            list.items.into_iter().filter_map(|one| serde_json::to_value(one).ok()).collect()
        }
        Kind::Templates => {
            let list = client.list_resource_templates().await.map_err(shown)?;
            list.items.into_iter().filter_map(|one| serde_json::to_value(one).ok()).collect()
        }
    };
    let is_interface = |item: &Value| {
        let field = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        field("uri").starts_with("ui://")
            || field("uriTemplate").starts_with("ui://")
            || field("mimeType").replace(' ', "") == "text/html;profile=mcp-app"
    };
    let named = listed.into_iter().filter(|item| !is_interface(item)).map(|item| {
        // Ours, and what is not for models.
        let is_shown = |field: &str| !matches!(field, "server" | "changed" | "icons" | "_meta");
        let mut named = Map::new();
        named.insert("server".to_owned(), server.name.clone().into());
        if let Value::Object(fields) = item {
            named.extend(fields.into_iter().filter(|(field, _)| is_shown(field)));
        }
        let uri = named.get("uri").and_then(Value::as_str);
        if uri.is_some_and(|uri| server.watched.has_changed(uri)) {
            named.insert("changed".to_owned(), true.into());
        }
        Value::Object(named)
    });
    Ok(named.collect())
}

/// Asks a server to announce changes of a resource, if it can. Nothing waits for its answer.
fn subscribe(server: &Arc<Server>, client: &Client, uri: &str) {
    let resources = client.facts().capabilities.resources;
    if resources.is_some_and(|resources| resources.subscribe) && server.watched.read(uri) {
        let (client, uri) = (client.clone(), uri.to_owned());
        // Without a subscription, changes are not noticed; reading works all the same.
        tokio::spawn(async move { client.subscribe(&uri).await });
    }
}

async fn read(
    servers: &McpServers,
    tool: &str,
    arguments: &Map<String, Value>,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let (name, uri) = (argument("server"), argument("uri"));
    let failed = |error: String| ToolError::new(error);
    if uri.is_empty() {
        return Err(ToolError::new("The uri is empty."));
    }
    let chosen = with_resources(servers, tool, Some(name))?;
    let server = chosen.first().ok_or_else(|| failed(format!("MCP server \"{name}\" is gone")))?;
    let client = servers.client(server).await.map_err(|error| failed(error.to_string()))?;
    let options = CallOptions::cancelled_by(cancel.clone());
    subscribe(server, &client, uri);
    let read = match client.read_resource(uri, &options).await {
        Ok(read) => read,
        Err(ClientError::Remote(error)) => return Ok(error_output(name, tool, &error.message)),
        Err(error) => {
            if let ClientError::Unauthorized(reason) = &error {
                servers.needs_sign_in(server, reason);
            }
            return Err(failed(clean(&error.to_string(), ERROR)));
        }
    };
    Ok(resource_output(name, uri, &read.contents, &servers.0.files))
}
