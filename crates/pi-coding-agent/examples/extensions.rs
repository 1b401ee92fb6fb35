//! An extension: a gate before commands, and a slash command.
//!
//!     cargo run -p pi-coding-agent --example extensions

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{Command, ExtensionError, Handlers, ToolCall, ToolDecision};
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{
    AgentOptions, CustomModel, Environment, SessionSelector, create_agent_session,
};
use pi_protocol::{AgentMessage, Message, UserBlock};
use serde_json::json;

/// Returns an extension that blocks commands which delete files, unless the user confirms, and
/// counts them.
fn gate() -> Handlers {
    let blocked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&blocked);
    Handlers::new("example:gate")
        .on(move |call: ToolCall, context| {
            let blocked = Arc::clone(&blocked);
            async move {
                let deleting = call.effects.runs.iter().find(|script| script.contains("rm "));
                let Some(script) = deleting else { return Ok(ToolDecision::allow()) };
                // Without a user the answer is no.
                if context.ui().confirm("Delete files?", script).await {
                    return Ok(ToolDecision::allow());
                }
                blocked.fetch_add(1, Ordering::Relaxed);
                Ok(ToolDecision::block("The user does not allow deleting files."))
            }
        })
        .command(Command::new(
            "blocked",
            "Name the session after the number of blocked calls",
            move |_, context| {
                let count = counted.load(Ordering::Relaxed);
                async move {
                    if let Some(session) = context.session() {
                        let named = session.set_name(&format!("{count} blocked")).await;
                        named.map_err(ExtensionError::with_source)?;
                    }
                    Ok(())
                }
            },
        ))
}

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", run().await?);
    Ok(())
}

/// Returns the result that the model sees for its call, and the name of the session.
pub async fn run() -> Result<(String, Option<String>), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let model = Faux::new();
    model.push(Reply::new().tool_call("bash", &json!({"command": "rm -rf ."})));
    model.push(Reply::new().text("I will not, then."));

    let environment = Environment::new(directory.path(), directory.path().join("agent"));
    let mut options = AgentOptions::new(environment);
    options.session.selector = SessionSelector::InMemory;
    options.model.custom = Some(CustomModel::new(Arc::new(model), Arc::new(Faux::model())));
    options.extensions.own = vec![Arc::new(gate())];
    let session = create_agent_session(options).await?.runtime.session();

    session.prompt("Tidy up.", PromptOptions::default()).await?;
    // Handled by the extension; the model does not see it.
    session.prompt("/blocked", PromptOptions::default()).await?;
    let messages = session.messages();
    let told = messages.iter().find_map(|message| match message {
        AgentMessage::Llm(Message::ToolResult(result)) => {
            result.content.first().and_then(UserBlock::as_text)
        }
        _ => None,
    });
    Ok((told.unwrap_or_default().to_owned(), session.name()))
}
