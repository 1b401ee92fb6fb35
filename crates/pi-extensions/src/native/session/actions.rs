//! Actions of extensions on their session: messages, entries, names, labels, the model.

use std::str::FromStr as _;
use std::sync::Arc;

use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::InputSource;
use pi_coding_agent::session::{
    Delivery, Disposition, ModelSelectError, Persistence, PromptOptions, Run, StreamingBehavior,
};
use pi_protocol::{ImageContent, Model, ThinkingLevel, UserBlock, UserContent};
use pi_session::ExtensionMessage;
use rquickjs::{Ctx, Function, Object};
use serde_json::Value;

use super::session_of;
use crate::error::NativeError;
use crate::host::{ExtensionId, Host};
use crate::value::Json;

/// Owner of failures that belong to no single extension.
const RUNTIME: &str = "<runtime>";

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = host.clone();
    object.set(
        "sendMessage",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, message: Json, options: Json| {
                let session = session_of(&ctx, &state, id)?;
                let message = extension_message(message.0).map_err(|error| error.throw(&ctx))?;
                let sending = send_message(session, message, options.0);
                state.actions().start(async move { finish_later(sending.await) });
                Ok::<_, rquickjs::Error>(())
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "sendUserMessage",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, content: Json, options: Json| {
                let session = session_of(&ctx, &state, id)?;
                let content = user_content(content.0).map_err(|error| error.throw(&ctx))?;
                let sending = send_user_message(session, content, options.0);
                state.actions().queue(async move { finish_later(sending.await) });
                Ok::<_, rquickjs::Error>(())
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "sendMessageAndWait",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, message: Json, options: Json| {
                let session = session_of(&ctx, &state, id)?;
                let message = extension_message(message.0).map_err(|error| error.throw(&ctx))?;
                state.promise_on_main(&ctx, async move {
                    if let Some(run) = send_message(session, message, options.0).await {
                        run.finish().await;
                    }
                    Ok(())
                })
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "sendUserMessageAndWait",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, content: Json, options: Json| {
                let session = session_of(&ctx, &state, id)?;
                let content = user_content(content.0).map_err(|error| error.throw(&ctx))?;
                state.promise_on_main(&ctx, async move {
                    if let Some(run) = send_user_message(session, content, options.0).await {
                        run.finish().await;
                    }
                    Ok(())
                })
            },
        )?,
    )?;
    install_entries(ctx, host, &object)?;
    install_model(ctx, host, &object)?;
    Ok(object)
}

fn install_entries<'js>(ctx: &Ctx<'js>, host: &Host, object: &Object<'js>) -> rquickjs::Result<()> {
    let state = host.clone();
    object.set(
        "appendEntry",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, custom_type: String, data: Option<Json>| {
                let session = session_of(&ctx, &state, id)?;
                let data = data.map(|data| data.0);
                state.actions().start(async move {
                    let appended = session.append_entry(&custom_type, data).await;
                    report(&session, "append_entry", appended.err()).await;
                });
                Ok::<_, rquickjs::Error>(())
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "setSessionName",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, name: String| {
            let session = session_of(&ctx, &state, id)?;
            state.actions().start(async move {
                let named = session.set_name(&name).await;
                report(&session, "set_session_name", named.err()).await;
            });
            Ok::<_, rquickjs::Error>(())
        })?,
    )?;
    let state = host.clone();
    object.set(
        "setLabel",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, entry: String, label: Option<String>| {
                let session = session_of(&ctx, &state, id)?;
                let labeled = session.set_label(&entry, label.as_deref());
                labeled.map(drop).map_err(|error| NativeError::from(error).throw(&ctx))
            },
        )?,
    )?;
    Ok(())
}

fn install_model<'js>(ctx: &Ctx<'js>, host: &Host, object: &Object<'js>) -> rquickjs::Result<()> {
    let state = host.clone();
    object.set(
        "setModel",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, model: Json| {
            let session = session_of(&ctx, &state, id)?;
            let model: Model = serde_json::from_value(model.0)
                .map_err(|error| NativeError::from(error).throw(&ctx))?;
            state.promise_on_main(&ctx, async move {
                let known = session.known_model(&model.provider, &model.id);
                let model = known.unwrap_or_else(|| Arc::new(model));
                match session.set_model(model, Persistence::Session).await {
                    Ok(()) => Ok(true),
                    Err(ModelSelectError::NoKey { .. }) => Ok(false),
                    Err(error) => Err(error.into()),
                }
            })
        })?,
    )?;
    let state = host.clone();
    object.set(
        "setThinkingLevel",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, level: String| {
            let session = session_of(&ctx, &state, id)?;
            let level = ThinkingLevel::from_str(&level).unwrap_or(ThinkingLevel::Off);
            state.actions().start(async move {
                let set = session.set_thinking_level(level, Persistence::Session).await;
                report(&session, "set_thinking_level", set.err()).await;
            });
            Ok::<_, rquickjs::Error>(())
        })?,
    )?;
    Ok(())
}

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

/// Reads `{ customType, content, display?, details? }`.
pub(super) fn extension_message(message: Value) -> Result<ExtensionMessage, NativeError> {
    let mut read: ExtensionMessage = serde_json::from_value(message).map_err(|error| {
        NativeError::of("TypeError", format!("sendMessage: invalid message: {error}"))
    })?;
    // Other fields are not part of a message.
    read.extra.clear();
    Ok(read)
}

/// Adds a message, and returns the run that it starts: `{ triggerTurn?, deliverAs? }` decides when.
pub(super) async fn send_message(
    session: AgentSession,
    message: ExtensionMessage,
    options: Value,
) -> Option<Run> {
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
pub(super) struct UserInput {
    text: String,
    images: Vec<ImageContent>,
}

/// Reads the content of a message of the user: a text, or blocks of text and images.
pub(super) fn user_content(content: Value) -> Result<UserInput, NativeError> {
    let content: UserContent = serde_json::from_value(content).map_err(|error| {
        NativeError::of("TypeError", format!("sendUserMessage: invalid content: {error}"))
    })?;
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
    input: UserInput,
    options: Value,
) -> Option<Run> {
    let mut prompt = PromptOptions::default().source(InputSource::Extension).images(input.images);
    if options["expandPromptTemplates"].as_bool() != Some(true) {
        prompt = prompt.literal();
    }
    prompt.streaming_behavior = match options["deliverAs"].as_str() {
        Some("steer") => Some(StreamingBehavior::Steer),
        Some("followUp") => Some(StreamingBehavior::FollowUp),
        _ => None,
    };
    match session.submit(&input.text, prompt).await {
        Ok(Disposition::Started(run)) => Some(run),
        Ok(_) => None,
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
