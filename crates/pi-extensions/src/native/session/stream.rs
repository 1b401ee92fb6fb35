//! Requests of extensions to models: through the providers of the session, with its credentials.

use std::str::FromStr as _;
use std::sync::Arc;

use pi_coding_agent::AgentSession;
use pi_protocol::{
    AssistantBlock, AssistantEvent, AssistantMessage, CancelToken, Context, Model, Request,
    StreamOptions, ThinkingLevel,
};
use rquickjs::{Ctx, Function, IntoJs as _, Object};
use serde_json::{Value, json};

use super::{cancellable, session_of};
use crate::error::NativeError;
use crate::host::{ExtensionId, Host, Poster};
use crate::value::Json;

/// Adds `complete` and `stream` to the area of models.
pub(super) fn install<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    object: &Object<'js>,
) -> rquickjs::Result<()> {
    let state = host.clone();
    object.set(
        "complete",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: ExtensionId, model: Json, context: Json, options: Json| {
                let (session, request) = prepare(&ctx, &state, id, model, context, &options)?;
                let cancel = CancelToken::new();
                let token = cancel.clone();
                let promise = state.promise_on_main(&ctx, async move {
                    let provider = Arc::clone(session.provider());
                    let message = pi_protocol::complete(&*provider, request, token).await;
                    Ok(Json(json!(*message)))
                })?;
                cancellable(&ctx, promise, cancel)
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "stream",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>,
                  id: ExtensionId,
                  number: f64,
                  model: Json,
                  context: Json,
                  options: Json| {
                let (session, request) = prepare(&ctx, &state, id, model, context, &options)?;
                let cancel = CancelToken::new();
                let token = cancel.clone();
                let poster = state.poster();
                let promise = state.promise_on_main(&ctx, async move {
                    follow(&session, request, token, &poster, number).await;
                    Ok(())
                })?;
                cancellable(&ctx, promise, cancel)
            },
        )?,
    )?;
    Ok(())
}

/// Reads the model, the context and the options of a request.
fn prepare(
    ctx: &Ctx<'_>,
    host: &Host,
    id: ExtensionId,
    model: Json,
    context: Json,
    options: &Json,
) -> rquickjs::Result<(AgentSession, Request)> {
    let session = session_of(ctx, host, id)?;
    session.refresh_registry();
    let invalid = |error: serde_json::Error| NativeError::from(error).throw(ctx);
    let model: Model = serde_json::from_value(model.0).map_err(invalid)?;
    let context: Context = serde_json::from_value(context.0).map_err(invalid)?;
    let request = Request::new(Arc::new(model), context, stream_options(&options.0));
    Ok((session, request))
}

/// Reads the options of a request. Unknown ones are ignored.
fn stream_options(options: &Value) -> StreamOptions {
    let mut read = StreamOptions::default();
    let text = |name: &str| options[name].as_str().map(str::to_owned);
    if let Some(key) = text("apiKey") {
        read.api_key = Some(key.into());
    }
    read.temperature = options["temperature"].as_f64();
    read.max_tokens = options["maxTokens"].as_u64();
    read.session_id = text("sessionId");
    read.reasoning = text("reasoning").and_then(|level| ThinkingLevel::from_str(&level).ok());
    let parsed = |name: &str| options[name].clone();
    read.cache_retention = serde_json::from_value(parsed("cacheRetention")).unwrap_or_default();
    read.tool_choice = serde_json::from_value(parsed("toolChoice")).unwrap_or_default();
    read.headers = serde_json::from_value(parsed("headers")).unwrap_or_default();
    read.metadata = options["metadata"].as_object().cloned().unwrap_or_default();
    read.thinking_budgets = serde_json::from_value(parsed("thinkingBudgets")).unwrap_or_default();
    read
}

/// Sends the events of a request to JavaScript, without the message so far: `js/pi/streams.js`
/// builds it from the parts, so that the cost of an event does not grow with the message.
async fn follow(
    session: &AgentSession,
    request: Request,
    cancel: CancelToken,
    poster: &Poster,
    number: f64,
) {
    let mut stream = session.provider().stream(request, cancel);
    while let Some(event) = stream.next().await {
        let event = describe(&event, stream.message());
        let sent = poster.post(move |ctx, host| {
            let arguments = [number.into_js(ctx), Json(event).into_js(ctx)];
            let called = arguments
                .into_iter()
                .collect::<rquickjs::Result<Vec<_>>>()
                .and_then(|arguments| host.call_entry(ctx, "streamEvent", arguments));
            if let Err(error) = called {
                crate::native::report_uncaught(ctx, host, &error);
            }
        });
        if !sent {
            return;
        }
    }
}

/// Describes an event: with the block where one begins or ends, and the message at both ends.
fn describe(event: &AssistantEvent, message: &AssistantMessage) -> Value {
    let mut described = json!(event);
    let block = |index: &usize| message.content.get(*index).map_or(Value::Null, block_json);
    match event {
        AssistantEvent::Start | AssistantEvent::Done { .. } | AssistantEvent::Error { .. } => {
            described["message"] = json!(message);
        }
        AssistantEvent::TextStart { content_index }
        | AssistantEvent::TextEnd { content_index }
        | AssistantEvent::ThinkingStart { content_index }
        | AssistantEvent::ThinkingEnd { content_index }
        | AssistantEvent::ToolCallStart { content_index }
        | AssistantEvent::ToolCallEnd { content_index } => {
            described["block"] = block(content_index);
        }
        AssistantEvent::ToolCallDelta { content_index, .. } => {
            described["block"] = block(content_index);
        }
        _ => {}
    }
    described
}

fn block_json(block: &AssistantBlock) -> Value {
    json!(block)
}
