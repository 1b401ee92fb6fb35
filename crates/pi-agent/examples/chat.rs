//! The smallest agent: a model, a conversation, text as it streams.
//!
//!     cargo run -p pi-agent --example chat
//!
//! The model is scripted, so that this runs without a key. With `pi_ai::Client` in place of `Faux`
//! it is a real one.

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

/// Holds the conversation; returns how many messages it has in the end.
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
            // A demonstration may lose its audience.
            let _ = write!(std::io::stdout(), "{delta}");
        }
    });
    for words in ["Hi!", "A boat."] {
        let _ = writeln!(std::io::stdout(), "\n> {words}");
        agent.prompt(words).await?;
    }
    let _ = writeln!(std::io::stdout());
    Ok(agent.messages().len())
}
