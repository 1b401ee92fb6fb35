//! Steering: a message during a run reaches the model with its next request.
//!
//!     cargo run -p pi-agent --example steering

use std::sync::Arc;

use pi_agent::{Agent, AgentError, AgentEvent, FnTool, RunSettings, ToolError};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{Message, Tool};
use serde_json::json;

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    println!("{}", run().await?.join("\n"));
    Ok(())
}

/// Runs a task and steers it. Returns the roles of the messages in order.
pub async fn run() -> Result<Vec<String>, AgentError> {
    let model = Faux::responding(|request| {
        let messages = serde_json::to_string(&request.context.messages).unwrap_or_default();
        if messages.contains("green") {
            Reply::new().text("Green it is.")
        } else {
            Reply::new().tool_call("paint", &json!({}))
        }
    });
    let declaration = Tool::new("paint", "Paints the wall blue.", json!({"type": "object"}));
    let paint = FnTool::new(declaration, |_| async { Ok::<_, ToolError>("Painted.".to_owned()) });
    let mut settings = RunSettings::new(Arc::new(Faux::model()));
    settings.tools = vec![Arc::new(paint)];
    let agent = Agent::new(Arc::new(model), settings);

    // A clone of the handle works from any task while `prompt` is waiting.
    let handle = agent.clone();
    let _subscription = agent.subscribe(move |event, _| {
        if matches!(event, AgentEvent::ToolExecutionStart { .. }) {
            handle.steer(Message::user("Wait, I meant green!"));
        }
    });
    agent.prompt("Paint the wall.").await?;
    Ok(agent.messages().iter().map(|message| message.role().to_owned()).collect())
}
