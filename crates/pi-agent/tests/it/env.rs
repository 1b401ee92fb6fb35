//! The test environment: an agent with a scripted model, a few tools, and a log of its events.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pi_agent::{Agent, AgentMessage, AgentTool, FnTool, RunSettings, ToolError, ToolOutput};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{Message, Tool};
use serde_json::{Value, json};

use crate::notation::Log;

pub(crate) struct TestEnv {
    pub(crate) agent: Agent,
    pub(crate) faux: Faux,
    pub(crate) log: Log,
}

impl TestEnv {
    /// Creates an agent whose system prompt declares `tools` and whose model gives `replies`.
    pub(crate) fn new(
        tools: Vec<FnTool>,
        replies: Vec<Reply>,
        tweak: impl FnOnce(&mut RunSettings),
    ) -> Self {
        let faux = Faux::new();
        for reply in replies {
            faux.push(reply);
        }
        let mut settings = RunSettings::new(Arc::new(Faux::model()));
        settings.tools = shared(tools);
        tweak(&mut settings);
        let agent = Agent::with_messages(Arc::new(faux.clone()), settings, "Be brief.", []);
        let log = Log::of(&agent);
        Self { agent, faux, log }
    }

    pub(crate) async fn prompt(self) -> String {
        self.agent.prompt_messages(vec![user("u")]).await.unwrap();
        self.log.line()
    }

    /// Returns the text of the result of call `id`, as the model reads it.
    pub(crate) fn result(&self, id: &str) -> String {
        let messages = self.agent.messages();
        let found = messages.iter().rev().find_map(|message| match message {
            AgentMessage::Llm(Message::ToolResult(result)) if result.tool_call_id == id => {
                let blocks = serde_json::to_value(&result.content).unwrap();
                Some(blocks[0]["text"].as_str().unwrap_or_default().to_owned())
            }
            _ => None,
        });
        found.unwrap_or_else(|| "no result".to_owned())
    }
}

pub(crate) fn shared(tools: Vec<FnTool>) -> Vec<Arc<dyn AgentTool>> {
    tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn AgentTool>).collect()
}

pub(crate) fn user(text: &str) -> AgentMessage {
    Message::user(text).into()
}

pub(crate) fn answer() -> Reply {
    Reply::new().text("done")
}

/// Creates an answer that calls `(id, tool)` pairs without arguments.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Reply {
    calls.iter().fold(Reply::new(), |reply, (id, tool)| reply.raw_tool_call(*id, *tool, "{}"))
}

fn declared(name: &str, properties: &Value) -> Tool {
    Tool::new(name, "For tests.", json!({"type": "object", "properties": properties}))
}

/// Creates a tool that returns a text immediately.
pub(crate) fn echo() -> FnTool {
    named("echo", |_| ToolOutput::text("echoed"))
}

pub(crate) fn named(
    name: &str,
    run: impl Fn(&Value) -> ToolOutput + Send + Sync + 'static,
) -> FnTool {
    FnTool::new(declared(name, &json!({"value": {"type": "string"}})), move |invocation| {
        let output = run(&Value::Object(invocation.arguments));
        async move { Ok(output) }
    })
}

/// Creates a tool that returns after some milliseconds.
pub(crate) fn after(name: &str, millis: u64) -> FnTool {
    FnTool::new(declared(name, &json!({})), move |_| async move {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        Ok(ToolOutput::text("late"))
    })
}

/// Creates a tool that never returns and ignores cancellation.
pub(crate) fn stuck() -> FnTool {
    FnTool::new(declared("stuck", &json!({})), |_| {
        std::future::pending::<Result<ToolOutput, ToolError>>()
    })
}

pub(crate) fn failing(text: &'static str) -> FnTool {
    FnTool::new(declared("fails", &json!({})), move |_| async move {
        Err::<ToolOutput, _>(ToolError::new(text))
    })
}

/// Counts calls, across clones.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(crate) fn count(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}
