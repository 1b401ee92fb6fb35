//! Conversations: in memory, on disk, continued, named by id, listed.
//!
//!     cargo run -p pi-coding-agent --example sessions

use std::error::Error;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::{AgentSession, PromptOptions};
use pi_coding_agent::{
    AgentOptions, CustomModel, Environment, SessionSelector, create_agent_session,
};
use pi_session::{ListOptions, SessionIndex};

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    for line in run().await? {
        println!("{line}");
    }
    Ok(())
}

/// Returns what each step found.
pub async fn run() -> Result<Vec<String>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let environment = Environment::new(directory.path(), directory.path().join("agent"));
    let mut options = AgentOptions::new(environment);
    let model = Faux::responding(|_| Reply::new().text("Noted."));
    options.model.custom = Some(CustomModel::new(Arc::new(model), Arc::new(Faux::model())));
    let mut seen = Vec::new();

    let memory = open(&options, SessionSelector::InMemory).await?;
    memory.prompt("This is not stored.", PromptOptions::default()).await?;
    seen.push(format!("in memory: {:?}", memory.file()));

    let id = {
        let kept = open(&options, SessionSelector::New).await?;
        kept.prompt("Remember the milk.", PromptOptions::default()).await?;
        kept.id()
    };
    {
        let latest = open(&options, SessionSelector::Latest).await?;
        latest.prompt("And bread.", PromptOptions::default()).await?;
        seen.push(format!("the latest is the same: {}", latest.id() == id));
    }
    let again = open(&options, SessionSelector::Existing(id)).await?;
    seen.push(format!("by id: {} messages of the user", again.user_messages()?.len()));

    let root = options.environment().agent_directory.join("sessions");
    let listing = SessionIndex::new(root, None).list(&ListOptions::default());
    for session in listing.sessions {
        seen.push(format!("listed: {}", session.first_message));
    }
    Ok(seen)
}

async fn open(
    options: &AgentOptions,
    selector: SessionSelector,
) -> Result<AgentSession, Box<dyn Error>> {
    let mut options = options.clone();
    options.session.selector = selector;
    Ok(create_agent_session(options).await?.runtime.session())
}
