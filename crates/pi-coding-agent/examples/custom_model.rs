//! Selecting the model and its thinking level, and changing both.
//!
//!     cargo run -p pi-coding-agent --example custom_model
//!
//! Nothing is asked, so any key will do.

use std::error::Error;

use pi_coding_agent::session::Persistence;
use pi_coding_agent::{AgentOptions, Environment, SessionSelector, create_agent_session};
use pi_protocol::ThinkingLevel;

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    for line in run().await? {
        println!("{line}");
    }
    Ok(())
}

/// Returns the models and levels, one after the other.
pub async fn run() -> Result<Vec<String>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let environment = Environment::new(directory.path(), directory.path().join("agent"));
    let mut options = AgentOptions::new(environment);
    options.session.selector = SessionSelector::InMemory;
    // As the user would write it; a part of a name will do, too.
    options.model.requested = Some("anthropic/claude-sonnet-4-5:high".to_owned());
    options.model.api_key = Some("any".into());
    let session = create_agent_session(options).await?.runtime.session();

    let now = || {
        let id = session.model().map(|model| model.id.clone()).unwrap_or_default();
        format!("{id}, thinking {}", session.thinking_level().as_str())
    };
    let mut seen = vec![now()];
    session.set_thinking_level(ThinkingLevel::Off, Persistence::Session).await?;
    seen.push(now());
    if let Some(other) = session.find_model("anthropic", "claude-haiku-4-5") {
        session.set_model(other, Persistence::Session).await?;
        seen.push(now());
    }
    Ok(seen)
}
