//! An extension: a gate before commands, and a slash command.
//!
//!     cargo run -p pi-coding-agent --example extensions

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_agent::Permission;
use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::extension::{
    Answer, Extension, ExtensionCommand, ExtensionContext, ExtensionError, ToolCallEvent,
};
use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{AgentOptions, Conversation, Environment, create_agent_session};
use pi_protocol::{AgentMessage, Message, UserBlock};
use serde_json::json;

/// Lets nothing be deleted unless the user says so, and counts.
#[derive(Debug, Default)]
struct Gate {
    blocked: AtomicUsize,
}

impl Extension for Gate {
    fn path(&self) -> &str {
        "example:gate"
    }

    fn tool_call<'a>(
        &'a self,
        event: &'a ToolCallEvent<'a>,
        context: &'a ExtensionContext,
    ) -> Answer<'a, Permission> {
        Box::pin(async move {
            let command = event.input.get("command").and_then(|command| command.as_str());
            let Some(command) = command.filter(|command| command.contains("rm ")) else {
                return Ok(Permission::allow());
            };
            // Where nobody can be asked, the answer is no.
            if context.ui.confirm("Delete something?", command).await {
                return Ok(Permission::allow());
            }
            self.blocked.fetch_add(1, Ordering::Relaxed);
            Ok(Permission::block("The user does not allow deleting files."))
        })
    }

    fn commands(&self) -> Vec<ExtensionCommand> {
        let description = Some("Names the conversation after what was blocked".to_owned());
        vec![ExtensionCommand { name: "blocked".to_owned(), description }]
    }

    fn run_command<'a>(
        &'a self,
        _name: &'a str,
        _arguments: &'a str,
        context: &'a ExtensionContext,
    ) -> Answer<'a, ()> {
        Box::pin(async move {
            let count = self.blocked.load(Ordering::Relaxed);
            if let Some(session) = context.session.upgrade() {
                let named = session.set_name(&format!("{count} blocked")).await;
                named.map_err(|error| ExtensionError(error.to_string()))?;
            }
            Ok(())
        })
    }
}

#[allow(dead_code)] // the tests call `run`
#[allow(clippy::print_stdout)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", run().await?);
    Ok(())
}

/// Returns what the model was told about its call, and the name of the conversation.
pub async fn run() -> Result<(String, Option<String>), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let model = Faux::new();
    model.push(Reply::new().tool_call("bash", &json!({"command": "rm -rf ."})));
    model.push(Reply::new().text("I will not, then."));

    let environment = Environment::new(directory.path(), directory.path().join("agent"));
    let mut options = AgentOptions::new(environment);
    options.conversation = Conversation::InMemory;
    options.custom_model = Some((Arc::new(model), Arc::new(Faux::model())));
    options.extensions = vec![Arc::new(Gate::default())];
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
