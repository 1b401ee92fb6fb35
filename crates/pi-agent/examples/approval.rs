//! An approval gate: the application decides about every tool call, and the model reads the reason
//! for a refusal.
//!
//!     cargo run -p pi-agent --example approval

use std::sync::Arc;

use pi_agent::{
    Agent, AgentError, AgentMessage, BeforeToolCall, FnTool, Permission, RunSettings, hook,
};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::{Message, Tool, UserBlock};
use serde_json::json;

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    for line in run().await? {
        println!("{line}");
    }
    Ok(())
}

/// Calls a harmless and a harmful command. Returns the results that the model reads.
pub async fn run() -> Result<Vec<String>, AgentError> {
    let model = Faux::new();
    let harmless = json!({"command": "ls"});
    let harmful = json!({"command": "rm -rf /"});
    model.push(Reply::new().tool_call("shell", &harmless).tool_call("shell", &harmful));
    model.push(Reply::new().text("Understood."));

    let schema = json!({
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    });
    let shell =
        FnTool::new(Tool::new("shell", "Runs a shell command.", schema), |call| async move {
            Ok(format!("(pretending to run {})", call.arguments["command"]))
        });
    let mut settings = RunSettings::new(Arc::new(Faux::model()));
    settings.tools = vec![Arc::new(shell)];
    // An interactive program would ask the user here, and wait.
    settings.hooks.before_tool_call = hook(|call: BeforeToolCall| async move {
        let command = call.args["command"].as_str().unwrap_or_default();
        Ok(if command.starts_with("rm") {
            Permission::block("The user does not allow deleting files.")
        } else {
            Permission::allow()
        })
    });
    let agent = Agent::new(Arc::new(model), settings);
    agent.prompt("Tidy up.").await?;

    let messages = agent.messages();
    let results = messages.iter().filter_map(|message| match message {
        AgentMessage::Llm(Message::ToolResult(result)) => Some(result.content.clone()),
        _ => None,
    });
    let texts = results.flatten().filter_map(|block| match block {
        UserBlock::Text(text) => Some(text.text),
        _ => None,
    });
    Ok(texts.collect())
}
