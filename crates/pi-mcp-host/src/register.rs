//! Tools and commands of servers, as they are registered in a session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pi_agent::AgentTool;
use pi_coding_agent::extension::{Command, Exposure, ToolRegistration};
use pi_config::mcp;
use serde_json::{Map, Value, json};

use crate::names::tool_names;
use crate::server::Server;
use crate::servers::{McpServers, WeakServers};
use crate::text::{clean, clean_line};
use crate::tool::McpTool;
use crate::{command, parameters, prompts, resources};

/// The most tools of one server.
const MOST_TOOLS: usize = 2_000;

/// The longest instructions of a server that scripts can read.
const LONGEST_INSTRUCTIONS: usize = 16 << 10;

/// The tools and commands of all servers.
#[derive(Default)]
pub(crate) struct Items {
    pub(crate) tools: Vec<ToolRegistration>,
    pub(crate) commands: Vec<Command>,
    /// The tools by name, to judge their calls.
    pub(crate) by_name: BTreeMap<String, Arc<McpTool>>,
    /// Tools that were left out, with the reasons.
    pub(crate) problems: Vec<String>,
}

/// Makes the tools and commands of all servers whose lists are known. The tools for resources follow
/// those of the first server that has resources. With `enables_codemode`, tools for scripts activate
/// the tool that runs scripts.
pub(crate) fn items(servers: &McpServers, enables_codemode: bool) -> Items {
    let weak = WeakServers::new(&servers.0);
    let mut items = Items::default();
    let mut of_resources: Option<(usize, Exposure)> = None;
    for server in servers.all().iter().filter(|server| server.config.enabled) {
        add_tools(server, &weak, &mut items);
        items.commands.extend(prompts::commands(server, &weak));
        let exposure = server.config.exposure;
        if resources::has_resources(server) {
            let (at, widest) = of_resources.unwrap_or((items.tools.len(), exposure));
            of_resources = Some((at, wider(widest, exposure)));
        }
    }
    items.commands.extend(command::command(servers));
    if let Some((at, exposure)) = of_resources {
        let later = items.tools.split_off(at);
        let tools = resources::tools(&weak).into_iter();
        items
            .tools
            .extend(tools.map(|(tool, schema)| registration(tool, exposure).output_schema(schema)));
        items.tools.extend(later);
    }
    if !enables_codemode {
        for registration in &mut items.tools {
            registration.activates_route &= registration.exposure != Exposure::Codemode;
        }
    }
    items
}

fn add_tools(server: &Arc<Server>, servers: &WeakServers, items: &mut Items) {
    let Some(lists) = server.known_lists() else { return };
    let mut seen = BTreeSet::new();
    let tools = lists.tools.iter().filter(|tool| seen.insert(&tool.name)).take(MOST_TOOLS);
    let tools: Vec<_> = tools.collect();
    let remote: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let names = tool_names(&server.name, &remote, |name| items.by_name.contains_key(name));
    let namespace = namespace(server, lists.instructions.as_deref());
    for (tool, name) in tools.into_iter().zip(names) {
        let exposure = server.config.exposure_of(&tool.name);
        let made = McpTool::new(name.clone(), tool, server, servers.clone());
        let mcp_tool = match made {
            Ok(mcp_tool) => Arc::new(mcp_tool),
            Err(problem) => {
                let shown = clean_line(&tool.name, 100);
                let problem =
                    format!("MCP server {}: {shown} was left out: {problem}", server.name);
                items.problems.push(problem);
                continue;
            }
        };
        items.by_name.insert(name, Arc::clone(&mcp_tool));
        let mut registration = registration(mcp_tool, exposure);
        registration.namespace = Some(namespace.clone());
        registration.annotations = tool
            .annotations
            .as_ref()
            .and_then(|annotations| serde_json::to_value(annotations).ok())
            .filter(|annotations| annotations.as_object().is_some_and(|map| !map.is_empty()));
        registration.output_schema = Some(result_schema(tool.output_schema.as_ref()));
        items.tools.push(registration);
    }
}

fn registration(tool: Arc<dyn AgentTool>, exposure: Exposure) -> ToolRegistration {
    let registration = ToolRegistration::new(tool).exposure(exposure);
    match exposure {
        Exposure::Codemode => registration.reached_through("codemode"),
        Exposure::Deferred => registration.reached_through("tool_search"),
        _ => registration,
    }
}

/// Returns the group of a server's tools.
fn namespace(server: &Server, instructions: Option<&str>) -> Value {
    let mut namespace = Map::new();
    namespace.insert("name".to_owned(), mcp::namespace(&server.name).into());
    namespace.insert("aliases".to_owned(), json!([server.name]));
    if let Some(description) = &server.config.description {
        namespace.insert("description".to_owned(), clean_line(description, 1000).into());
    }
    if let Some(instructions) = instructions {
        let instructions = clean(instructions, LONGEST_INSTRUCTIONS);
        namespace.insert("instructions".to_owned(), instructions.trim().into());
    }
    Value::Object(namespace)
}

/// Returns the schema of a call's result, as scripts get it.
fn result_schema(structured: Option<&Value>) -> Value {
    let usable =
        structured.and_then(Value::as_object).filter(|schema| parameters::check(schema).is_ok());
    json!({
        "type": "object",
        "properties": {
            "content": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "type": { "enum": ["text", "image", "audio", "resource_link", "resource"] },
                        "text": { "type": "string" },
                        "data": { "type": "string" },
                        "mimeType": { "type": "string" },
                    },
                    "required": ["type"],
                    "additionalProperties": true,
                },
            },
            "structuredContent": usable.cloned().unwrap_or_default(),
            "isError": { "type": "boolean" },
        },
        "required": ["content"],
        "additionalProperties": true,
    })
}

/// Returns the exposure that reaches more callers.
fn wider(a: Exposure, b: Exposure) -> Exposure {
    let width = |exposure: Exposure| match exposure {
        Exposure::Direct | Exposure::ModelOnly => 3,
        Exposure::Deferred => 2,
        Exposure::Codemode => 1,
        Exposure::Hidden => 0,
    };
    if width(a) >= width(b) { a } else { b }
}
