//! A custom tool: its arguments are a Rust type, from which the schema is generated.
//!
//!     cargo run -p pi-agent --example custom_tool

use std::sync::Arc;

use pi_agent::{Agent, AgentError, FnTool, RunSettings, ToolError};
use pi_ai::faux::{Faux, Reply};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// The arguments of the tool. The model reads the comments of the fields.
#[derive(Deserialize, JsonSchema)]
struct Roll {
    /// Number of dice.
    dice: u32,
    /// Number of sides of each die. Default: 6.
    sides: Option<u32>,
}

fn roll_tool() -> FnTool {
    FnTool::typed("roll", "Rolls dice and returns their sum.", |roll: Roll, _call| async move {
        let sides = roll.sides.unwrap_or(6);
        if roll.dice == 0 || sides == 0 {
            return Err(ToolError::new("dice and sides must be at least 1."));
        }
        Ok(format!(
            "The sum of {} dice with {sides} sides is {}.",
            roll.dice,
            roll.dice * sides / 2
        ))
    })
}

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    println!("{}", run().await?);
    Ok(())
}

/// Asks for a roll. Returns the answer of the model.
pub async fn run() -> Result<String, AgentError> {
    let model = Faux::new();
    model.push(Reply::new().tool_call("roll", &json!({"dice": "2"}))); // coerced to a number
    model.push(Reply::new().text("You rolled a six."));

    let mut settings = RunSettings::new(Arc::new(Faux::model()));
    settings.tools = vec![Arc::new(roll_tool())];
    let agent = Agent::new(Arc::new(model), settings);
    agent.prompt("Roll two dice.").await?;
    let messages = agent.messages();
    let last = messages.iter().rev().find_map(|message| message.as_assistant());
    Ok(last.map(|message| message.text()).unwrap_or_default())
}
