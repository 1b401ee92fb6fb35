//! A tool of a server, as a tool of the agent.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pi_agent::{AgentTool, BoxFuture, Invocation, ToolError, ToolOutput, Updates};
use pi_base::lock;
use pi_config::mcp::Transport;
use pi_mcp::client::{CallOptions, ClientError};
use pi_mcp::protocol::{Progress, Tool as RemoteTool};
use pi_protocol::{Effects, Tool, UserBlock};
use serde_json::{Map, Value, json};

use crate::fingerprint;
use crate::parameters::{self, SchemaError};
use crate::result::{error_output, tool_output};
use crate::server::Server;
use crate::servers::WeakServers;
use crate::text::{self, clean};

/// A tool of a server.
pub(crate) struct McpTool {
    declaration: Tool,
    /// Name of the tool at the server.
    pub(crate) remote: String,
    pub(crate) server: Arc<Server>,
    servers: WeakServers,
    /// Hash of what the server says about the tool.
    pub(crate) hash: String,
}

impl McpTool {
    /// Makes a tool under this name. Fails if its schema is not usable.
    pub(crate) fn new(
        name: String,
        tool: &RemoteTool,
        server: &Arc<Server>,
        servers: WeakServers,
    ) -> Result<Self, SchemaError> {
        let parameters = parameters::parameters(Some(&tool.input_schema))?;
        Ok(Self {
            declaration: Tool::new(name, description(tool, &server.name), parameters),
            remote: tool.name.clone(),
            server: Arc::clone(server),
            servers,
            hash: fingerprint::of_tool(tool),
        })
    }

    async fn call(&self, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let gone = || ToolError::new("The session of this tool has ended.");
        let servers = self.servers.upgrade().ok_or_else(gone)?;
        let Invocation { arguments, cancel, updates, .. } = invocation;
        let client = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ToolError::new("Operation aborted")),
            client = servers.client(&self.server) => client,
        };
        let client = client.map_err(|error| ToolError::new(error.to_string()))?;
        let (fingerprint, remote) = (self.server.fingerprint(), &self.remote);
        if self.is_outdated() {
            let (server, tool) = (&self.server.name, text::clean_line(remote, 100));
            return Err(ToolError::new(format!(
                "The call was not made: the MCP server {server} has changed {tool} since it was \
                 declared. Read its new description, and call it again if it still fits."
            )));
        }
        // The guard let the call pass, so the tool is approved as it is.
        servers.0.pins.pin(fingerprint, remote, &self.hash);
        let details = json!({ "server": self.server.name, "tool": remote });
        let reports = Reports::new(updates, details);
        let options = CallOptions {
            cancel: Some(cancel),
            on_progress: Some(Arc::new(move |progress| reports.report(&progress))),
            ..CallOptions::default()
        };
        match client.call_tool(remote, arguments, &options).await {
            Ok(result) => {
                let output = tool_output(&self.server.name, remote, result, &servers.0.files);
                Ok(self.with_news(output))
            }
            Err(ClientError::Remote(error)) => {
                Ok(error_output(&self.server.name, remote, &error.message))
            }
            Err(ClientError::Cancelled) => Err(ToolError::new("Operation aborted")),
            Err(error) => {
                if let ClientError::Unauthorized(reason) = &error {
                    servers.needs_sign_in(&self.server, reason);
                }
                let server = &self.server.name;
                let error = clean(&error.to_string(), text::ERROR);
                Err(ToolError::new(format!("MCP server {server}: {error}")))
            }
        }
    }

    /// Adds which resources have changed since the model read them.
    fn with_news(&self, mut output: ToolOutput) -> ToolOutput {
        let news = self.server.watched.take_news();
        if !news.is_empty() {
            let uris: Vec<String> = news.iter().map(|uri| text::clean_line(uri, 200)).collect();
            output.content.push(UserBlock::text(format!(
                "[Resources of the MCP server {} that changed since you read them: {}. Read them \
                 again if you need them.]",
                self.server.name,
                uris.join(", ")
            )));
        }
        output
    }

    /// Returns true if the present list of the server has another tool of this name. A connection
    /// that was made for the call may have brought it.
    fn is_outdated(&self) -> bool {
        let Some(lists) = self.server.known_lists() else { return false };
        let present = lists.tools.iter().find(|tool| tool.name == self.remote);
        present.is_some_and(|tool| fingerprint::of_tool(tool) != self.hash)
    }
}

/// Returns the description of a tool: that of the server, else its name for people.
fn description(tool: &RemoteTool, server: &str) -> String {
    let title = tool.annotations.as_ref().and_then(|annotations| annotations.title.as_deref());
    let mut given = [tool.description.as_deref(), tool.title.as_deref(), title].into_iter();
    let cleaned = |text: &str| clean(text.trim(), text::DESCRIPTION).trim().to_owned();
    given.find_map(|text| text.map(cleaned).filter(|text| !text.is_empty())).unwrap_or_else(|| {
        let remote = text::clean_line(&tool.name, 200);
        format!("MCP tool {remote} from server {server}")
    })
}

impl AgentTool for McpTool {
    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    /// Declares nothing but the host: annotations are claims of the server, and no permission.
    fn effects(&self, _arguments: &Map<String, Value>) -> Effects {
        let unknown = Effects::unknown();
        match &self.server.config.transport {
            Transport::Http(http) => unknown.connect(http.url.host_str().unwrap_or_default()),
            Transport::Stdio(_) => unknown,
        }
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.call(invocation))
    }
}

/// Progress reports of a call, bounded in rate: each becomes an event.
struct Reports {
    updates: Updates,
    details: Value,
    /// Reports that may be sent at once, and the time of the last refill.
    room: Mutex<(u32, Instant)>,
}

/// Reports that a call may send at once, and the time after which it may send another one.
const BURST: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

impl Reports {
    fn new(updates: Updates, details: Value) -> Self {
        Self { updates, details, room: Mutex::new((BURST, Instant::now())) }
    }

    fn report(&self, progress: &Progress) {
        {
            let mut room = lock(&self.room);
            if room.0 == 0 && room.1.elapsed() < PAUSE {
                return;
            }
            *room = (room.0.saturating_sub(1), Instant::now());
        }
        let output = ToolOutput::text(describe(progress));
        self.updates.send(output.with_details(self.details.clone()));
    }
}

fn describe(progress: &Progress) -> String {
    match (&progress.message, progress.total) {
        (Some(message), _) if !message.is_empty() => text::clean(message, 1000),
        (_, Some(total)) => format!("Progress {}/{total}", progress.progress),
        (_, None) => format!("Progress {}", progress.progress),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_described_by_its_server_or_its_name() {
        for (tool, expected) in [
            (json!({ "description": " Does it.\n", "title": "T" }), "Does it."),
            (json!({ "description": " \u{200b}", "title": "T" }), "T"),
            (json!({ "title": "T", "annotations": { "title": "A" } }), "T"),
            (json!({ "title": "", "annotations": { "title": "A" } }), "A"),
            (json!({}), "MCP tool t from server s"),
        ] {
            let mut named = tool.clone();
            named["name"] = "t".into();
            let named: RemoteTool = serde_json::from_value(named).unwrap();
            assert_eq!(description(&named, "s"), expected, "{tool}");
        }
    }
}
