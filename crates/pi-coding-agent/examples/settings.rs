//! Settings: those of the user, and those of a program that count more and are not saved.
//!
//!     cargo run -p pi-coding-agent --example settings

use std::error::Error;
use std::sync::Arc;

use pi_ai::faux::Faux;
use pi_coding_agent::{
    AgentOptions, CustomModel, Environment, Project, SessionSelector, create_agent_session,
};
use pi_config::{SettingsChanges, SettingsScope};
use serde_json::json;

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", run().await?);
    Ok(())
}

/// Returns how often a failed request is made again, whether contexts are compacted, and the
/// user's file.
pub async fn run() -> Result<(u32, bool, String), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let environment = Environment::new(directory.path(), directory.path().join("agent"));

    // Only the fields that are set are changed; the rest of the file stays.
    let mut project = Project::open(environment.clone());
    let change = |changes: &mut SettingsChanges| changes.set(&["retry", "maxRetries"], 7);
    project.store_mut().update(SettingsScope::User, change)?;

    let mut options = AgentOptions::in_project(project);
    options.session.selector = SessionSelector::InMemory;
    options.model.custom = Some(CustomModel::new(Arc::new(Faux::new()), Arc::new(Faux::model())));
    options.project.change_overrides(|settings| {
        settings.insert("compaction".to_owned(), json!({"enabled": false}));
    });
    let session = create_agent_session(options).await?.runtime.session();

    let settings = session.settings();
    let file = std::fs::read_to_string(environment.agent_directory.join("settings.json"))?;
    Ok((settings.retry.max_retries, settings.compaction.enabled, file))
}
