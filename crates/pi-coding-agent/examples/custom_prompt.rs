//! Another system prompt, and one that is added to.
//!
//!     cargo run -p pi-coding-agent --example custom_prompt

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
    for prompt in run().await? {
        println!("{prompt}\n---");
    }
    Ok(())
}

/// Returns the prompts: replaced, and added to.
pub async fn run() -> Result<[String; 2], Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let environment = Environment::new(directory.path(), directory.path().join("agent"));
    let mut options = AgentOptions::new(environment);
    options.session.selector = SessionSelector::InMemory;
    options.model.custom = Some(CustomModel::new(Arc::new(Faux::new()), Arc::new(Faux::model())));

    let mut replaced = options.clone();
    replaced.resources.system_prompt = Some("You are a pirate. Answer as one.".to_owned());
    let replaced = create_agent_session(replaced).await?.runtime.session();

    options.resources.append_system_prompt = Some(vec!["Be brief.".to_owned()]);
    let added = create_agent_session(options).await?.runtime.session();
    Ok([replaced.system_prompt(), added.system_prompt()])
}
