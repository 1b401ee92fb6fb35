//! A result as data: the model ends the run by calling a tool that takes what was asked for.
//!
//!     cargo run -p pi-agent --example structured

use std::sync::{Arc, Mutex};

use pi_agent::{Agent, AgentError, FnTool, RunSettings, ToolOutput};
use pi_ai::faux::{Faux, Reply};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// What is wanted in the end.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether the change may go in.
    pub approved: bool,
    /// Why, in a sentence.
    pub reason: String,
}

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    println!("{:?}", run().await?);
    Ok(())
}

/// Reviews; returns the verdict, checked against its type.
pub async fn run() -> Result<Option<Verdict>, AgentError> {
    let model = Faux::new();
    // The first try does not fit the schema; the model is told, and tries again.
    model.push(Reply::new().tool_call("verdict", &json!({"approved": "maybe"})));
    let good = json!({"approved": true, "reason": "It is small and tested."});
    model.push(Reply::new().tool_call("verdict", &good));

    let verdict = Arc::new(Mutex::new(None));
    let place = Arc::clone(&verdict);
    let tool = FnTool::typed("verdict", "Gives the verdict.", move |verdict: Verdict, _| {
        if let Ok(mut place) = place.lock() {
            *place = Some(verdict);
        }
        // Nothing is left to be said after this.
        async { Ok(ToolOutput::text("Noted.").terminating()) }
    });
    let mut settings = RunSettings::new(Arc::new(Faux::model()));
    settings.tools = vec![Arc::new(tool)];
    Agent::new(Arc::new(model), settings).prompt("Review the change.").await?;
    Ok(verdict.lock().ok().and_then(|verdict| verdict.clone()))
}
