//! The smallest agent: a chat whose answers are printed as they stream.
//!
//!     cargo run -p pi-agent --example chat
//!
//! The model is scripted, so that the example runs without an API key. Replace `Faux` by
//! `pi_ai::Client` to use a real one.

use std::io::Write as _;
use std::sync::Arc;

use pi_agent::{Agent, AgentError, AgentEvent, RunSettings};
use pi_ai::faux::{Faux, Reply};
use pi_protocol::AssistantEvent;

#[allow(dead_code)] // the tests call `run`
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    run().await.map(drop)
}

/// Runs the chat. Returns the number of messages in its transcript.
pub async fn run() -> Result<usize, AgentError> {
    let model = Faux::new();
    model.push(Reply::new().text("Hello! What shall we build?").chunks_of(4));
    model.push(Reply::new().text("A fine idea.").chunks_of(4));

    let settings = RunSettings::new(Arc::new(Faux::model()));
    let agent = Agent::with_messages(Arc::new(model), settings, "You are friendly.", []);
    let _subscription = agent.subscribe(|event, _| {
        if let AgentEvent::MessageUpdate {
            assistant_message_event: AssistantEvent::TextDelta { delta, .. },
        } = event
        {
            // Standard output may be closed; the example does not care.
            let _ = write!(std::io::stdout(), "{delta}");
        }
    });
    for prompt in ["Hi!", "A boat."] {
        let _ = writeln!(std::io::stdout(), "\n> {prompt}");
        agent.prompt(prompt).await?;
    }
    let _ = writeln!(std::io::stdout());
    Ok(agent.messages().len())
}
