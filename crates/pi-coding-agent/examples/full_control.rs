//! Everything by hand: no files of the user are read and nothing is looked for.
//!
//!     cargo run -p pi-coding-agent --example full_control

use std::error::Error;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::{AgentSession, PromptOptions, SessionParts};
use pi_config::resources::SystemPromptOptions;
use pi_session::Session;
use pi_tools::{Host, Workspace, toolset};
use serde_json::json;

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run().await?);
    Ok(())
}

/// Returns what the agent wrote.
pub async fn run() -> Result<String, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let model = Faux::new();
    model.push(Reply::new().tool_call("write", &json!({"path": "a.txt", "content": "Done.\n"})));
    model.push(Reply::new().text("Written."));

    let cwd = directory.path().to_owned();
    let workspace = Arc::new(Workspace::new(Arc::new(Host::default()), cwd.clone(), None));
    let mut parts = SessionParts::new(
        Arc::new(model),
        Some(Arc::new(Faux::model())),
        Session::in_memory(cwd),
        Arc::clone(&workspace),
    );
    parts.tools = toolset::all(&workspace);
    parts.active_tools = vec!["read".to_owned(), "write".to_owned()];
    parts.resources.prompt = Arc::new(|_| SystemPromptOptions {
        custom_prompt: Some("You write files. Nothing else.".to_owned()),
        ..SystemPromptOptions::default()
    });
    parts.settings.retry.enabled = false;
    parts.settings.compaction.enabled = false;

    let session = AgentSession::new(parts)?;
    session.prompt("Write a file.", PromptOptions::default()).await?;
    Ok(std::fs::read_to_string(directory.path().join("a.txt"))?)
}
