//! Tools that only look, and one of our own.
//!
//!     cargo run -p pi-coding-agent --example tools

use std::error::Error;
use std::sync::Arc;

use pi_agent::FnTool;
use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{
    AgentOptions, CustomModel, Environment, SessionSelector, ToolChoice, create_agent_session,
};
use pi_protocol::Tool;
use serde_json::json;

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", run().await?);
    Ok(())
}

/// Returns the names of the tools, and the last answer.
pub async fn run() -> Result<(Vec<String>, Option<String>), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let model = Faux::new();
    model.push(Reply::new().tool_call("dice", &json!({"sides": 6})));
    model.push(Reply::new().text("You rolled a four."));

    let schema = json!({
        "type": "object",
        "properties": {"sides": {"type": "integer"}},
        "required": ["sides"],
    });
    let dice = FnTool::new(Tool::new("dice", "Rolls a die.", schema), |call| async move {
        Ok(format!("4 of {}", call.arguments["sides"]))
    });

    let environment = Environment::new(directory.path(), directory.path().join("agent"));
    let mut options = AgentOptions::new(environment);
    options.session.selector = SessionSelector::InMemory;
    options.model.custom = Some(CustomModel::new(Arc::new(model), Arc::new(Faux::model())));
    let names = ["read", "grep", "find", "ls", "dice"].map(str::to_owned).to_vec();
    options.tools.selection.choice = Some(ToolChoice::Only(names));
    options.tools.custom = vec![Arc::new(dice)];
    let session = create_agent_session(options).await?.runtime.session();

    let names = session.active_tools().iter().map(|tool| tool.declaration().name.clone()).collect();
    session.prompt("Roll a die.", PromptOptions::default()).await?;
    Ok((names, session.last_assistant_text()))
}
