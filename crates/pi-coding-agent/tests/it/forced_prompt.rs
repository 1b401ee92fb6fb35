//! Extensions that replace or extend the system prompt for one run.

use std::sync::Arc;

use pi_ai::faux::Reply;
use pi_coding_agent::Section;
use pi_coding_agent::extension::{BeforeAgentStart, Extensions, Handlers, RunStart};
use pi_coding_agent::session::PromptOptions;
use pi_protocol::{AgentMessage, Declarations, History, Message, SystemMessage};
use serde_json::json;

use crate::test_session::TestSession;

/// Forces a prompt when the user mentions pirates.
fn pirate() -> Handlers {
    Handlers::new("builtin:pirate").on(|start: BeforeAgentStart, _| async move {
        let mut answer = RunStart::default();
        if start.message.prompt().is_some_and(|prompt| prompt.contains("pirate")) {
            answer.system_prompt = Some("Talk like one.".to_owned());
        }
        Ok(answer)
    })
}

fn system_messages(messages: &History<Message>) -> Vec<Arc<SystemMessage>> {
    let system = |message: &Message| match message {
        Message::System(system) => Some(Arc::clone(system)),
        _ => None,
    };
    messages.iter().filter_map(system).collect()
}

#[tokio::test]
async fn only_the_requests_of_the_run_have_the_forced_prompt() {
    let (extensions, failures) = Extensions::load(vec![Arc::new(pirate())]).await;
    assert_eq!(failures, []);
    let test = TestSession::with(|parts| parts.extensions = extensions);
    test.model.push(Reply::new().text("Hello."));
    test.session.prompt("Hi", PromptOptions::default()).await.unwrap();
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "true"})));
    test.model.push(Reply::new().text("Arr."));
    test.session.prompt("Be a pirate", PromptOptions::default()).await.unwrap();
    test.model.push(Reply::new().text("As before."));
    test.session.prompt("Enough", PromptOptions::default()).await.unwrap();

    let requests = test.model.requests();
    let prompts: Vec<String> = requests
        .iter()
        .map(|request| Declarations::replay(request.context.messages.iter()).prompt())
        .collect();
    let usual = "You code.\n\n<tools>\nread bash edit write\n</tools>";
    assert_eq!(prompts, [usual, "Talk like one.", "Talk like one.", usual]);
    let forced = system_messages(&requests[1].context.messages);
    let tools: Vec<&str> = forced[0].tools_added.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((forced.len(), tools), (1, vec!["read", "bash", "edit", "write"]));

    let kept = test.session.messages();
    let kept: Vec<Message> = kept
        .iter()
        .filter_map(|message| match message {
            AgentMessage::Llm(message) => Some(message.clone()),
            AgentMessage::Custom(_) => None,
        })
        .collect();
    assert_eq!(Declarations::replay(&kept).prompt(), usual, "the conversation is as it was");
}

/// A section that an extension adds at the start of a run is part of all its requests.
#[tokio::test]
async fn an_added_section_stays_for_the_run() {
    let adding = Handlers::new("builtin:note").on(|start: BeforeAgentStart, _| async move {
        let mut answer = RunStart::default();
        if start.message.prompt().is_some_and(|prompt| prompt.contains("note")) {
            let mut options = (*start.options).clone();
            options.sections.push(Section::new("note", "Remember.").unwrap());
            answer.options = Some(Arc::new(options));
        }
        Ok(answer)
    });
    let (extensions, failures) = Extensions::load(vec![Arc::new(adding)]).await;
    assert_eq!(failures, []);
    let test = TestSession::with(|parts| parts.extensions = extensions);
    test.model.push(Reply::new().tool_call("bash", &json!({"command": "true"})));
    test.model.push(Reply::new().text("Done."));
    test.session.prompt("Take a note", PromptOptions::default()).await.unwrap();
    test.model.push(Reply::new().text("Done."));
    test.session.prompt("Go on", PromptOptions::default()).await.unwrap();
    let requests = test.model.requests();
    let has_note = requests.iter().map(|request| {
        let prompt = Declarations::replay(request.context.messages.iter()).prompt();
        prompt.contains("<note>\nRemember.\n</note>")
    });
    assert_eq!(has_note.collect::<Vec<_>>(), [true, true, false]);
}
