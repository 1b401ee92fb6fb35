//! Actions of extensions on their session: messages, entries, names, labels, the model.

use std::str::FromStr as _;
use std::sync::Arc;

use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::InputSource;
use pi_coding_agent::session::{
    Delivery, ModelSelectError, Persistence, PromptOptions, Run, StreamingBehavior,
};
use pi_protocol::{ImageContent, Model, ThinkingLevel, UserBlock, UserContent};
use pi_session::ExtensionMessage;
use serde_json::Value;

use super::{log_error, session_of};
use crate::host::Natives;
use crate::value::Plain;

/// Owner of failures that belong to no single extension.
const RUNTIME: &str = "<runtime>";

pub(super) const FUNCTIONS: Natives = &[
    ("sendMessage", |call| {
        let sending = send_message(session_of(call)?, call.json(1)?, call.json(2)?);
        call.host.actions().start(async move { finish_later(sending.await) });
        call.done()
    }),
    ("sendUserMessage", |call| {
        let sending = send_user_message(session_of(call)?, call.json(1)?, call.json(2)?);
        call.host.actions().start(async move { finish_later(sending.await) });
        call.done()
    }),
    ("sendMessageAndWait", |call| {
        let sending = send_message(session_of(call)?, call.json(1)?, call.json(2)?);
        call.promise_on_main(async move {
            if let Some(run) = sending.await {
                run.finish().await;
            }
            Ok(Plain::Nothing)
        })
    }),
    ("sendUserMessageAndWait", |call| {
        let sending = send_user_message(session_of(call)?, call.json(1)?, call.json(2)?);
        call.promise_on_main(async move {
            if let Some(run) = sending.await {
                run.finish().await;
            }
            Ok(Plain::Nothing)
        })
    }),
    ("appendEntry", |call| {
        let (session, custom_type) = (session_of(call)?, call.text(1)?);
        let data = if call.is_missing(2) { None } else { Some(call.json(2)?) };
        call.host.actions().start(async move {
            let appended = session.append_entry(&custom_type, data).await;
            report(&session, "append_entry", appended.err()).await;
        });
        call.done()
    }),
    ("setSessionName", |call| {
        let (session, name) = (session_of(call)?, call.text(1)?);
        call.host.actions().start(async move {
            let named = session.set_name(&name).await;
            report(&session, "set_session_name", named.err()).await;
        });
        call.done()
    }),
    ("setLabel", |call| {
        let label = call.optional_text(2)?;
        let labeled = session_of(call)?.set_label(&call.text(1)?, label.as_deref());
        labeled.map_err(log_error)?;
        call.done()
    }),
    ("setModel", |call| {
        let (session, model) = (session_of(call)?, call.parse::<Model>(1)?);
        call.promise_on_main(async move {
            let known = session.known_model(&model.provider, &model.id);
            let model = known.unwrap_or_else(|| Arc::new(model));
            match session.set_model(model, Persistence::Session).await {
                Ok(()) => Ok(true.into()),
                Err(ModelSelectError::NoKey { .. }) => Ok(false.into()),
                Err(error) => Err(error.into()),
            }
        })
    }),
    ("setThinkingLevel", |call| {
        let session = session_of(call)?;
        let level = ThinkingLevel::from_str(&call.text(1)?).unwrap_or(ThinkingLevel::Off);
        call.host.actions().start(async move {
            let set = session.set_thinking_level(level, Persistence::Session).await;
            report(&session, "set_thinking_level", set.err()).await;
        });
        call.done()
    }),
];

/// Reports an action that failed.
pub(super) async fn report(
    session: &AgentSession,
    action: &str,
    error: Option<impl std::fmt::Display>,
) {
    if let Some(error) = error {
        session.report_extension_error(RUNTIME, action, &error.to_string()).await;
    }
}

/// Reads `{ customType, content?, display?, details? }`.
fn extension_message(message: &Value) -> Result<ExtensionMessage, String> {
    if !message.is_object() {
        return Err("sendMessage needs an object with customType and content".to_owned());
    }
    let content = match &message["content"] {
        Value::Null => UserContent::Blocks(Vec::new()),
        content => serde_json::from_value(content.clone())
            .map_err(|_| "the content of a message must be a text or blocks".to_owned())?,
    };
    Ok(ExtensionMessage {
        custom_type: message["customType"].as_str().unwrap_or_default().to_owned(),
        content,
        display: message["display"].as_bool().unwrap_or_default(),
        details: message.get("details").cloned(),
        ..ExtensionMessage::default()
    })
}

/// Adds a message, and returns the run that it starts: `{ triggerTurn?, deliverAs? }` decides when.
pub(super) async fn send_message(
    session: AgentSession,
    message: Value,
    options: Value,
) -> Option<Run> {
    let message = match extension_message(&message) {
        Ok(message) => message,
        Err(problem) => {
            report(&session, "send_message", Some(problem)).await;
            return None;
        }
    };
    let deliver_as = options["deliverAs"].as_str().unwrap_or_default();
    let trigger = options["triggerTurn"].as_bool();
    let is_streaming = session.is_streaming();
    if !is_streaming && trigger == Some(true) && deliver_as != "nextTurn" {
        return match session.start_with(&message).await {
            Ok(run) => Some(run),
            Err(error) => {
                report(&session, "send_message", Some(error)).await;
                None
            }
        };
    }
    let delivery = match deliver_as {
        "nextTurn" => Delivery::NextTurn,
        _ if trigger == Some(false) => Delivery::TurnEnd,
        "followUp" => Delivery::FollowUp,
        _ => Delivery::Steer,
    };
    let added = session.add_message(message, delivery).await;
    report(&session, "send_message", added.err()).await;
    None
}

/// The text and the images of a message of the user.
struct UserInput {
    text: String,
    images: Vec<ImageContent>,
}

/// Reads the content of a message of the user: a text, or blocks of text and images.
fn user_content(content: Value) -> Result<UserInput, String> {
    let content: UserContent = serde_json::from_value(content)
        .map_err(|_| "the content of a message must be a text or blocks".to_owned())?;
    let blocks = match content {
        UserContent::Text(text) => return Ok(UserInput { text, images: Vec::new() }),
        UserContent::Blocks(blocks) => blocks,
    };
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for block in blocks {
        match block {
            UserBlock::Text(text) => texts.push(text.text.to_string()),
            UserBlock::Image(image) => images.push(image),
            _ => {}
        }
    }
    Ok(UserInput { text: texts.join("\n"), images })
}

/// Submits a message of the user, and returns the run that it starts: `{ deliverAs?, expandPromptTemplates? }`.
pub(super) async fn send_user_message(
    session: AgentSession,
    content: Value,
    options: Value,
) -> Option<Run> {
    let input = match user_content(content) {
        Ok(input) => input,
        Err(problem) => {
            report(&session, "send_user_message", Some(problem)).await;
            return None;
        }
    };
    let mut prompt = PromptOptions::default().source(InputSource::Extension).images(input.images);
    if options["expandPromptTemplates"].as_bool() != Some(true) {
        prompt = prompt.literal();
    }
    prompt.streaming_behavior = match options["deliverAs"].as_str() {
        Some("steer") => Some(StreamingBehavior::Steer),
        Some("followUp") => Some(StreamingBehavior::FollowUp),
        _ => None,
    };
    match session.turn(input.text, prompt).begin().await {
        Ok(begun) => begun.into_run(),
        Err(error) => {
            report(&session, "send_user_message", Some(error)).await;
            None
        }
    }
}

/// Runs to the end without waiting for it.
fn finish_later(run: Option<Run>) {
    if let Some(run) = run {
        tokio::spawn(run.finish());
    }
}
