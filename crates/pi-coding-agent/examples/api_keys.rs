//! Sources of keys: given by the program, stored by the user, or in the environment.
//!
//!     cargo run -p pi-coding-agent --example api_keys
//!
//! Nothing is asked, so any key will do.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;

use pi_coding_agent::{AgentOptions, Environment, SessionSelector, create_agent_session};
use pi_config::{AuthStore, StoredCredential};
use serde_json::json;

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", run().await?);
    Ok(())
}

/// Returns the providers whose models can be asked.
pub async fn run() -> Result<BTreeSet<String>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let agent = directory.path().join("agent");

    // The user's file, as `pi auth` and the TypeScript pi write it.
    let stored: StoredCredential =
        serde_json::from_value(json!({"type": "api_key", "key": "any"}))?;
    AuthStore::new(&agent).set("openai", &stored)?;

    // The environment is what the program says it is.
    let mut environment = Environment::new(directory.path(), agent);
    environment.variables = Arc::new(BTreeMap::from([("GEMINI_API_KEY".into(), "any".into())]));

    let mut options = AgentOptions::new(environment);
    options.session.selector = SessionSelector::InMemory;
    // For the provider of this model, and not kept.
    options.model.requested = Some("anthropic/claude-sonnet-4-5".to_owned());
    options.model.api_key = Some("any".into());
    let session = create_agent_session(options).await?.runtime.session();
    Ok(session.available_models().iter().map(|model| model.provider.clone()).collect())
}
