//! Skills: found where the program says, listed as commands, handed to the model when used.
//!
//!     cargo run -p pi-coding-agent --example skills

use std::error::Error;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{
    AgentOptions, CustomModel, Environment, SessionSelector, create_agent_session,
};

const SKILL: &str = "\
---
name: greeting
description: How to greet people here.
---
Greet everyone with \"Moin\".
";

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (commands, told) = run().await?;
    println!("{commands:?}\n{told}");
    Ok(())
}

/// Returns the commands there are, and what the model was told.
pub async fn run() -> Result<(Vec<String>, String), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let skill = directory.path().join("my-skills/greeting");
    std::fs::create_dir_all(&skill)?;
    std::fs::write(skill.join("SKILL.md"), SKILL)?;

    let model = Faux::new();
    model.push(Reply::new().text("Moin!"));
    let environment = Environment::new(directory.path(), directory.path().join("agent"));
    let mut options = AgentOptions::new(environment);
    options.session.selector = SessionSelector::InMemory;
    options.model.custom = Some(CustomModel::new(Arc::new(model.clone()), Arc::new(Faux::model())));
    // None of the user's, only these.
    options.resources.no_skills = true;
    options.resources.skills = vec!["my-skills".to_owned()];
    let session = create_agent_session(options).await?.runtime.session();

    let commands = session.commands().into_iter().map(|command| command.name).collect();
    session.prompt("/skill:greeting Say hello.", PromptOptions::default()).await?;
    let messages = serde_json::to_value(&model.requests()[0].context.messages)?;
    let told = messages.as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    Ok((commands, told.to_string()))
}
