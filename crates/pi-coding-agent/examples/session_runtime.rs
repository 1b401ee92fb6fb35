//! Replacing a session: new, forked, resumed.
//!
//!     cargo run -p pi-coding-agent --example session_runtime

use std::error::Error;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{AgentOptions, CustomModel, Environment, create_agent_session};
use pi_session::ForkPosition;

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
    let runtime = create_agent_session(options).await?.runtime;
    let mut seen = Vec::new();

    // A session that was replaced is over: always ask the runtime for the one in use.
    let first = runtime.session();
    first.prompt("One.", PromptOptions::default()).await?;
    first.prompt("Two.", PromptOptions::default()).await?;
    let entry = first.user_messages()?.pop().map(|message| message.entry_id).unwrap_or_default();
    let file = first.file().unwrap_or_default();

    let forked = runtime.fork(&entry, ForkPosition::Before).await?;
    let count = runtime.session().user_messages()?.len();
    seen.push(format!("forked: {count} left, to be written anew: {:?}", forked.text));
    drop(first);

    runtime.new_session(None).await?;
    seen.push(format!("new: {} messages", runtime.session().messages().len()));

    runtime.switch_session(&file).await?;
    seen.push(format!("back: {} of the user", runtime.session().user_messages()?.len()));
    runtime.shut_down().await;
    Ok(seen)
}
