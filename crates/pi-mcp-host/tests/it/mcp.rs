//! MCP servers in sessions: real server processes and a scripted model.

mod auth;
mod behavior;
mod declarations;
mod hostile;
mod policy;
mod questions;
mod secrets;

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{RunMode, Ui};
use pi_coding_agent::guard::Approver;
use pi_coding_agent::session::{AgentSession, PromptOptions};
use pi_coding_agent::{
    AgentOptions, AgentRuntime, CustomModel, SessionSelector, create_agent_session,
};
use pi_protocol::{
    AgentMessage, Declarations, Message, Request, Tool, ToolResultMessage, UserBlock,
};
use serde_json::{Map, Value, json};

use crate::env::TestEnv;

/// A limit for waiting that a loaded machine does not reach.
const PATIENCE: Duration = Duration::from_secs(120);

/// A project with a server, and a model that calls its tools.
struct McpTest {
    env: TestEnv,
    model: Faux,
    settings: Map<String, Value>,
    approver: Option<Arc<dyn Approver>>,
    ui: Option<Arc<dyn Ui>>,
    mode: RunMode,
}

/// A session with the records of its tool executions.
struct Running {
    runtime: AgentRuntime,
    session: AgentSession,
    records: Arc<Mutex<Vec<Value>>>,
}

impl McpTest {
    /// Configures the server `s` with these tools, all of them declared to the model.
    fn new(tools: &[&str]) -> Self {
        Self::with(tools, &json!({ "exposure": "direct" }))
    }

    fn with(tools: &[&str], more: &Value) -> Self {
        let env = TestEnv::new();
        let script = env.write("server/server.sh", include_str!("mcp/server.sh"));
        let mut server = json!({
            "command": "/bin/sh",
            "args": [script, env.path("server")],
            "timeout": 100,
        });
        for (name, value) in more.as_object().unwrap() {
            server[name] = value.clone();
        }
        let test = Self {
            env,
            model: Faux::new(),
            settings: Map::new(),
            approver: None,
            ui: None,
            mode: RunMode::Print,
        };
        test.configure(&json!({ "mcpServers": { "s": server } }));
        let schema = json!({"type": "object", "properties": {"message": {"type": "string"}}});
        let tools = tools.iter().map(|name| {
            json!({"name": name, "description": format!("Does {name}."), "inputSchema": schema})
        });
        test.set_tools("tools.json", &tools.collect::<Vec<_>>());
        test
    }

    fn configure(&self, content: &Value) {
        self.env.write("home/.pi/agent/mcp.json", content.to_string());
    }

    fn set_tools(&self, file: &str, tools: &[Value]) {
        self.env.write(&format!("server/{file}"), json!({ "tools": tools }).to_string());
    }

    fn options(&self) -> AgentOptions {
        let mut environment = self.env.environment("home/proj");
        fs::create_dir_all(self.env.path("tmp")).unwrap();
        environment.variables = Arc::new(BTreeMap::from([
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("TMPDIR".to_owned(), self.env.path("tmp").to_string_lossy().into_owned()),
        ]));
        let mut options = AgentOptions::new(environment);
        options.session.selector = SessionSelector::New;
        options.model.custom =
            Some(CustomModel::new(Arc::new(self.model.clone()), Arc::new(Faux::model())));
        options.guard.checkpoints = false;
        options.extensions.builtins.push(pi_mcp_host::builtin());
        options.project.set_overrides(self.settings.clone());
        options.guard.approver.clone_from(&self.approver);
        options.ui = self.ui.clone().unwrap_or(options.ui);
        options.mode = self.mode;
        options
    }

    async fn start(&self) -> Running {
        let created = create_agent_session(self.options()).await.unwrap();
        let (runtime, session) = (created.runtime.clone(), created.runtime.session());
        let records: Arc<Mutex<Vec<Value>>> = Arc::default();
        let recorded = Arc::clone(&records);
        session
            .subscribe(move |event| {
                let record = serde_json::to_value(event).unwrap_or_default();
                let kind = record["type"].as_str().unwrap_or_default();
                if kind.starts_with("tool_execution_") {
                    recorded.lock().unwrap().push(record);
                }
            })
            .forever();
        Running { runtime, session, records }
    }

    /// Lets the model call a tool. Returns the result.
    async fn call(&self, running: &Running, tool: &str, arguments: Value) -> ToolResultMessage {
        self.model.push(Reply::new().tool_call(tool, &arguments));
        self.model.push(Reply::new().text("Done."));
        let prompting = running.session.prompt("Go", PromptOptions::default());
        tokio::time::timeout(PATIENCE, prompting).await.unwrap().unwrap();
        let messages = running.session.messages();
        let result = messages.iter().rev().find_map(|message| match message {
            AgentMessage::Llm(Message::ToolResult(result)) => Some(Arc::clone(result)),
            _ => None,
        });
        (*result.unwrap()).clone()
    }

    /// Lets the model answer without a call. Returns its request.
    async fn request(&self, running: &Running) -> Request {
        self.model.push(Reply::new().text("Done."));
        let prompting = running.session.prompt("Go", PromptOptions::default());
        tokio::time::timeout(PATIENCE, prompting).await.unwrap().unwrap();
        self.model.requests().pop().unwrap()
    }

    /// Returns the lines that the server wrote to its log.
    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.env.path("server/log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn count(&self, line: &str) -> usize {
        self.log().iter().filter(|other| *other == line).count()
    }
}

fn text(result: &ToolResultMessage) -> String {
    let texts: Vec<&str> = result.content.iter().filter_map(UserBlock::as_text).collect();
    texts.join("\n")
}

/// Returns the tools that a request declares.
fn tools(request: &Request) -> Vec<Tool> {
    Declarations::replay(request.context.messages.iter()).tools
}

fn declared(request: &Request) -> Vec<String> {
    tools(request).into_iter().map(|tool| tool.name).collect()
}
