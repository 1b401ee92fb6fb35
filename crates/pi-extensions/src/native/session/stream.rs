//! Requests of extensions to models: through the providers of the session, with its credentials.

use std::str::FromStr as _;
use std::sync::Arc;

use pi_coding_agent::AgentSession;
use pi_protocol::{
    AssistantEvent, AssistantMessage, CancelToken, Context, Model, Request, StreamOptions,
    ThinkingLevel,
};
use serde_json::{Value, json};

use super::{cancellable, refreshed_session_of};
use crate::host::{Call, Natives, Poster, Thrown};
use crate::value::Plain;

/// `complete(id, model, context, options)` and `stream(id, number, model, context, options)`.
pub(super) const FUNCTIONS: Natives = &[
    ("complete", |call| {
        let (session, request) = prepare(call, 1)?;
        let cancel = CancelToken::new();
        let token = cancel.clone();
        let promise = call.promise_on_main(async move {
            let provider = Arc::clone(session.provider());
            let message = pi_protocol::complete(&*provider, request, token).await;
            Ok(json!(*message).into())
        })?;
        cancellable(call, promise, cancel)
    }),
    ("stream", |call| {
        let number = call.number(1)?;
        let (session, request) = prepare(call, 2)?;
        let cancel = CancelToken::new();
        let token = cancel.clone();
        let poster = call.host.poster();
        let promise = call.promise_on_main(async move {
            follow(&session, request, token, &poster, number).await;
            Ok(Plain::Nothing)
        })?;
        cancellable(call, promise, cancel)
    }),
];

/// Reads the model, the context and the options of a request.
fn prepare(call: &Call<'_, '_>, at: usize) -> Result<(AgentSession, Request), Thrown> {
    let session = refreshed_session_of(call)?;
    let (model, context): (Model, Context) = (call.parse(at)?, call.parse(at + 1)?);
    let options = stream_options(&call.json(at + 2)?);
    Ok((session, Request::new(Arc::new(model), context, options)))
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
        if !poster.post_call("streamEvent", vec![number.into(), event.into()]) {
            return;
        }
    }
}

/// Describes an event: with the block where one begins or ends, and the message at both ends.
fn describe(event: &AssistantEvent, message: &AssistantMessage) -> Value {
    let mut described = json!(event);
    let block =
        |index: &usize| message.content.get(*index).map_or(Value::Null, |block| json!(block));
    match event {
        AssistantEvent::Start | AssistantEvent::Done { .. } | AssistantEvent::Error { .. } => {
            described["message"] = json!(message);
        }
        AssistantEvent::TextStart { content_index }
        | AssistantEvent::TextEnd { content_index }
        | AssistantEvent::ThinkingStart { content_index }
        | AssistantEvent::ThinkingEnd { content_index }
        | AssistantEvent::ToolCallStart { content_index }
        | AssistantEvent::ToolCallEnd { content_index }
        | AssistantEvent::ToolCallDelta { content_index, .. } => {
            described["block"] = block(content_index);
        }
        _ => {}
    }
    described
}
