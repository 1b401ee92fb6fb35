//! `/api/stream`: the server half of `streamProxy` of pi-agent-core. A program sends model, context
//! and options, and gets the answer as events without the message that they build.
//!
//! Keys stay here: of the model only provider and id count, which must name a model that this server
//! can use. What could lead a request elsewhere, or name another model, is ignored.

use bytes::Bytes;
use futures_util::stream::unfold;
use pi_coding_agent::Project;
use pi_host::credentials::Credentials;
use pi_protocol::{
    AssistantEvent, AssistantStream, CacheRetention, CancelToken, Context, Provider, Request,
    StreamOptions, ThinkingBudgets, ThinkingLevel, Transport,
};
use pi_web::http::StatusCode;
use pi_web::server::{Event, event_stream, read_body, whole};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, ApiError, Call};
use crate::entrance::Identity;

/// The longest request. A context has images.
const BODY: usize = 64 << 20;

/// Fields of a body that only this server sets.
const OWN_FIELDS: [&str; 6] = ["model", "models", "messages", "input", "stream", "tools"];

#[derive(Deserialize)]
struct Asked {
    model: AskedModel,
    context: Context,
    #[serde(default)]
    options: AskedOptions,
}

#[derive(Deserialize)]
struct AskedModel {
    provider: String,
    id: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AskedOptions {
    temperature: Option<f64>,
    sampling_params: Option<Map<String, Value>>,
    max_tokens: Option<u64>,
    reasoning: Option<ThinkingLevel>,
    cache_retention: Option<CacheRetention>,
    session_id: Option<String>,
    metadata: Option<Map<String, Value>>,
    transport: Option<Transport>,
    thinking_budgets: Option<ThinkingBudgets>,
    max_retry_delay_ms: Option<u64>,
}

impl AskedOptions {
    fn into_options(self) -> StreamOptions {
        let mut options = StreamOptions::default();
        options.temperature = self.temperature;
        options.sampling_params = self.sampling_params.unwrap_or_default();
        options.sampling_params.retain(|name, _| !OWN_FIELDS.contains(&name.as_str()));
        options.max_tokens = self.max_tokens;
        options.reasoning = self.reasoning;
        options.cache_retention = self.cache_retention;
        options.session_id = self.session_id;
        options.metadata = self.metadata.unwrap_or_default();
        options.transport = self.transport.unwrap_or_default();
        options.thinking_budgets = self.thinking_budgets.unwrap_or_default();
        if let Some(delay) = self.max_retry_delay_ms {
            options.retry.max_delay = std::time::Duration::from_millis(delay);
        }
        options
    }
}

/// Streams the answer of a model.
pub(crate) async fn stream(call: Call) -> Answer {
    match answer(call).await {
        // The client shows the text in `error`.
        Err(error) => {
            let body = json!({ "error": error.message }).to_string();
            Ok(whole(error.status, "application/json", body))
        }
        answer => answer,
    }
}

async fn answer(call: Call) -> Answer {
    let identity = call.identity()?.clone();
    let environment = call.state.host.environment().clone();
    let stop = call.state.stop.clone();
    let body = read_body(call.request.into_body(), BODY).await?;
    let asked: Asked = serde_json::from_slice(&body)
        .map_err(|error| ApiError::bad_request("invalid_body", format!("the body: {error}")))?;
    let AskedModel { provider, id } = asked.model;
    let found = tokio::task::spawn_blocking(move || {
        let registry = Credentials::open(&Project::open(environment)).registry;
        let model = registry.find(&provider, &id);
        let model = model.filter(|model| registry.is_available(&model.provider));
        model.map(|model| (registry, model)).ok_or((provider, id))
    });
    let found = found.await.map_err(|error| ApiError::internal(error.to_string()))?;
    let (registry, model) = found.map_err(|(provider, id)| {
        let problem = format!("this server cannot use the model {provider}/{id}");
        ApiError::new(StatusCode::NOT_FOUND, "no_model", problem)
    })?;
    let cancel = CancelToken::new();
    let request = Request::new(model, asked.context, asked.options.into_options());
    let stream = Provider::stream(registry.client(), request, cancel.clone());
    let answering = Answering { stream, cancel, stop, identity, has_ended: false };
    Ok(event_stream(unfold(answering, |mut answering| async move {
        let bytes = answering.next().await?;
        Some((bytes, answering))
    })))
}

/// An answer on its way. A client that goes away cancels the request.
struct Answering {
    stream: AssistantStream,
    cancel: CancelToken,
    stop: CancelToken,
    identity: Identity,
    has_ended: bool,
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Answering {
    async fn next(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        let event = loop {
            tokio::select! {
                biased;
                // The stream ends with an error then.
                () = self.stop.cancelled(), if !self.cancel.is_cancelled() => self.cancel.cancel(),
                () = self.identity.ended(), if !self.cancel.is_cancelled() => self.cancel.cancel(),
                event = self.stream.next() => break event?,
            }
        };
        self.has_ended = event.is_terminal();
        let data = self.describe(&event).to_string();
        Some(Event { data: &data, ..Event::default() }.to_bytes())
    }

    /// Writes an event with what the client needs to build the message.
    fn describe(&self, event: &AssistantEvent) -> Value {
        let message = self.stream.message();
        let mut described = serde_json::to_value(event).unwrap_or_default();
        let block = |index: &usize| {
            let block = message.content.get(*index);
            block.and_then(|block| serde_json::to_value(block).ok()).unwrap_or_default()
        };
        match event {
            AssistantEvent::TextEnd { content_index } => {
                set(
                    &mut described,
                    "contentSignature",
                    block(content_index)["textSignature"].take(),
                );
            }
            AssistantEvent::ThinkingEnd { content_index } => {
                let signature = block(content_index)["thinkingSignature"].take();
                set(&mut described, "contentSignature", signature);
            }
            AssistantEvent::ToolCallStart { content_index } => {
                let mut block = block(content_index);
                described["id"] = block["id"].take();
                described["toolName"] = block["name"].take();
            }
            AssistantEvent::ToolCallEnd { content_index } => {
                described["toolCall"] = block(content_index);
            }
            AssistantEvent::Done { .. } | AssistantEvent::Error { .. } => {
                described["usage"] = serde_json::to_value(&message.usage).unwrap_or_default();
                set(
                    &mut described,
                    "providerThinkingLevel",
                    message.provider_thinking_level.clone().into(),
                );
                if let AssistantEvent::Error { .. } = event {
                    set(&mut described, "errorMessage", message.error_message.clone().into());
                }
            }
            _ => {}
        }
        described
    }
}

/// Sets a field, unless it is null.
fn set(object: &mut Value, name: &str, value: Value) {
    if !value.is_null() {
        object[name] = value;
    }
}
