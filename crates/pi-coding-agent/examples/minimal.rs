//! The smallest coding agent: everything as the user has it, text as it streams.
//!
//!     cargo run -p pi-coding-agent --example minimal
//!
//! The model is scripted, so that this runs without a key. Without `custom_model` it is the one
//! that the user has chosen.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{AgentOptions, CustomModel, Environment, create_agent_session};
use serde_json::json;

#[allow(dead_code)] // the tests call `run`
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    run().await.map(drop)
}

/// Has a file listed; returns the last answer.
pub async fn run() -> Result<Option<String>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("notes.txt"), "Buy milk.\n")?;
    let model = Faux::new();
    model.push(Reply::new().tool_call("read", &json!({"path": "notes.txt"})));
    model.push(Reply::new().text("You wanted to buy milk.").chunks_of(4));

    let environment = Environment::new(directory.path(), directory.path().join("agent"));
    let mut options = AgentOptions::new(environment);
    options.model.custom = Some(CustomModel::new(Arc::new(model), Arc::new(Faux::model())));
    let session = create_agent_session(options).await?.runtime.session();

    let _listening = session.subscribe(|event| {
        if let Some(text) = event.text_delta() {
            // A demonstration may lose its audience.
            let _ = write!(std::io::stdout(), "{text}");
        }
    });
    session.prompt("What did I want to buy?", PromptOptions::default()).await?;
    Ok(session.last_assistant_text())
}
