//! A structured result: the model ends the run by calling a tool whose arguments are the result.
//!
//!     cargo run -p pi-agent --example structured

use std::sync::{Arc, Mutex};

use pi_agent::{Agent, AgentError, FnTool, RunSettings, ToolOutput};
use pi_ai::faux::{Faux, Reply};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// The result of the run.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct Verdict {
    /// True if the change can be merged.
    pub approved: bool,
    /// The reason, in one sentence.
    pub reason: String,
}

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    println!("{:?}", run().await?);
    Ok(())
}

/// Runs a review. Returns its verdict.
pub async fn run() -> Result<Option<Verdict>, AgentError> {
    let model = Faux::new();
    // The first call does not match the schema. The model reads the error and calls again.
    model.push(Reply::new().tool_call("verdict", &json!({"approved": "maybe"})));
    let good = json!({"approved": true, "reason": "It is small and tested."});
    model.push(Reply::new().tool_call("verdict", &good));

    let verdict = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&verdict);
    let tool = FnTool::typed(
        "verdict",
        "Reports the verdict of the review and ends it.",
        move |verdict: Verdict, _| {
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(verdict);
            }
            // The run ends with this call; no further request follows.
            async { Ok(ToolOutput::text("Recorded.").terminating()) }
        },
    );
    let mut settings = RunSettings::new(Arc::new(Faux::model()));
    settings.tools = vec![Arc::new(tool)];
    Agent::new(Arc::new(model), settings).prompt("Review the change.").await?;
    Ok(verdict.lock().ok().and_then(|verdict| verdict.clone()))
}
