//! Prompt templates: files that are typed as commands, with arguments.
//!
//!     cargo run -p pi-coding-agent --example prompt_templates

use std::error::Error;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{
    AgentOptions, CustomModel, Environment, SessionSelector, create_agent_session,
};

const TEMPLATE: &str = "\
---
description: Looks at a file
---
Review $1 and say what is wrong with it. Look at: $2.
";

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", run().await?);
    Ok(())
}

/// Returns what was said instead of the command.
pub async fn run() -> Result<Option<String>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("review.md"), TEMPLATE)?;
    let model = Faux::new();
    model.push(Reply::new().text("Nothing."));

    let environment = Environment::new(directory.path(), directory.path().join("agent"));
    let mut options = AgentOptions::new(environment);
    options.session.selector = SessionSelector::InMemory;
    options.model.custom = Some(CustomModel::new(Arc::new(model), Arc::new(Faux::model())));
    options.resources.prompts = vec!["review.md".to_owned()];
    let session = create_agent_session(options).await?.runtime.session();

    session.prompt("/review main.rs \"the error paths\"", PromptOptions::default()).await?;
    Ok(session.user_messages()?.pop().map(|message| message.text))
}
