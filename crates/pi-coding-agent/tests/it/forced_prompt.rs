//! An extension that puts its own prompt in the place of the system prompt, for one run.

use std::sync::Arc;

use pi_ai::faux::Reply;
use pi_coding_agent::extension::{
    Answer, BeforeAgentStart, Extension, ExtensionContext, Extensions, StartAnswer,
};
use pi_coding_agent::session::PromptOptions;
use pi_protocol::{AgentMessage, Declarations, History, Message, SystemMessage};
use serde_json::json;

use crate::stage::Stage;

/// Forces a prompt when the user speaks of pirates.
struct Pirate;

impl Extension for Pirate {
    fn path(&self) -> &str {
        "builtin:pirate"
    }

    fn before_agent_start<'a>(
        &'a self,
        event: &'a BeforeAgentStart<'a>,
        _context: &'a ExtensionContext,
    ) -> Answer<'a, StartAnswer> {
        let wanted = event.prompt.is_some_and(|prompt| prompt.contains("pirate"));
        let system_prompt = wanted.then(|| "Talk like one.".to_owned());
        let answer = StartAnswer { system_prompt, ..StartAnswer::default() };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

fn system_messages(messages: &History<Message>) -> Vec<Arc<SystemMessage>> {
    let system = |message: &Message| match message {
        Message::System(system) => Some(Arc::clone(system)),
        _ => None,
    };
    messages.iter().filter_map(system).collect()
}

#[tokio::test]
async fn every_request_of_the_run_has_the_forced_prompt_and_nothing_else_has() {
    let stage = Stage::with(|parts| {
        parts.extensions = Extensions::new(vec![Arc::new(Pirate)]);
    });
    stage.model.push(Reply::new().text("Hello."));
    stage.session.prompt("Hi", PromptOptions::default()).await.unwrap();
    stage.model.push(Reply::new().tool_call("bash", &json!({"command": "true"})));
    stage.model.push(Reply::new().text("Arr."));
    stage.session.prompt("Be a pirate", PromptOptions::default()).await.unwrap();
    stage.model.push(Reply::new().text("As before."));
    stage.session.prompt("Enough", PromptOptions::default()).await.unwrap();

    let requests = stage.model.requests();
    let prompts: Vec<String> = requests
        .iter()
        .map(|request| Declarations::replay(request.context.messages.iter()).prompt())
        .collect();
    let usual = "You code.\n\nread bash edit write";
    assert_eq!(prompts, [usual, "Talk like one.", "Talk like one.", usual]);
    let forced = system_messages(&requests[1].context.messages);
    let tools: Vec<&str> = forced[0].tools_added.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((forced.len(), tools), (1, vec!["read", "bash", "edit", "write"]));

    let kept = stage.session.messages();
    let kept: Vec<Message> = kept
        .iter()
        .filter_map(|message| match message {
            AgentMessage::Llm(message) => Some(message.clone()),
            AgentMessage::Custom(_) => None,
        })
        .collect();
    assert_eq!(Declarations::replay(&kept).prompt(), usual, "the conversation is as it was");
}
