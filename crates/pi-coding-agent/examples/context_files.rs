//! Instructions of a project: `AGENTS.md` files from the root down to the working directory.
//!
//!     cargo run -p pi-coding-agent --example context_files

use std::error::Error;
use std::sync::Arc;

use pi_ai::faux::Faux;
use pi_coding_agent::{
    AgentOptions, CustomModel, Environment, SessionSelector, create_agent_session,
};

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let [with, without] = run().await?;
    println!("{with}\n--- without:\n{without}");
    Ok(())
}

/// Returns the system prompt with the instructions, and without them.
pub async fn run() -> Result<[String; 2], Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let project = directory.path().join("project");
    std::fs::create_dir(&project)?;
    std::fs::write(directory.path().join("AGENTS.md"), "Of all projects: be polite.")?;
    std::fs::write(project.join("AGENTS.md"), "Of this one: use tabs.")?;

    let mut options = AgentOptions::new(Environment::new(&project, directory.path().join("agent")));
    options.session.selector = SessionSelector::InMemory;
    options.model.custom = Some(CustomModel::new(Arc::new(Faux::new()), Arc::new(Faux::model())));
    let with = create_agent_session(options.clone()).await?.runtime.session();
    options.resources.no_context_files = true;
    let without = create_agent_session(options).await?.runtime.session();
    Ok([with.system_prompt(), without.system_prompt()])
}
