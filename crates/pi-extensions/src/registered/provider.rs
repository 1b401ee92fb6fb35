//! A provider whose requests an extension answers with `streamSimple`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use pi_protocol::{
    AssistantBlock, AssistantMessage, AssistantStream, CancelToken, MessageBuilder, Provider,
    Request, Source, StopReason,
};
use rquickjs::{Ctx, IntoJs as _, Value as JsValue};
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::JsHandle;
use crate::error::ScriptError;
use crate::host::{ExtensionId, Host, Poster, function};
use crate::value::Json;

/// A provider whose requests an extension answers.
#[derive(Debug)]
pub(crate) struct JsProvider {
    handle: Arc<JsHandle>,
    poster: Poster,
}

/// A message of the stream in JavaScript: an event, or the reason why there are no more.
enum Report {
    Event(Value),
    Failed(String),
}

impl JsProvider {
    pub(crate) fn new(handle: Arc<JsHandle>, poster: Poster) -> Self {
        Self { handle, poster }
    }
}

impl Provider for JsProvider {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let (reports, receiver) = mpsc::unbounded_channel();
        let (number, _) = self.handle.parts();
        let extension = self.handle.extension;
        let model = Arc::clone(&request.model);
        let (abort, aborted) = tokio::sync::oneshot::channel();
        let failing = reports.clone();
        let posted = self.poster.post(move |ctx, host| {
            let token = host.number();
            let _ = abort.send(token);
            let started = start(ctx, host, extension, number, token, &request, &reports);
            if let Err(error) = started {
                let error = ScriptError::catch(ctx, &error);
                let _ = reports.send(Report::Failed(error.message));
            }
        });
        if !posted {
            let _ = failing.send(Report::Failed("the extension was stopped".to_owned()));
        }
        drop(failing);
        let source = JsSource {
            receiver,
            aborted: Some(aborted),
            poster: self.poster.clone(),
            indices: BTreeMap::new(),
        };
        AssistantStream::new(&model, source, cancel)
    }
}

/// Calls `startStream` of the entry object.
fn start(
    ctx: &Ctx<'_>,
    host: &Host,
    extension: ExtensionId,
    number: u32,
    token: u64,
    request: &Request,
    reports: &mpsc::UnboundedSender<Report>,
) -> rquickjs::Result<()> {
    let events = reports.clone();
    let push = function(ctx, host, move |call| {
        // Without a receiver the request is over.
        let _ = events.send(Report::Event(call.json(0)?));
        call.done()
    })?;
    let failures = reports.clone();
    let fail = function(ctx, host, move |call| {
        let _ = failures.send(Report::Failed(call.text(0)?));
        call.done()
    })?;
    let hooks = hooks(ctx, host, request)?;
    let context = json!({ "messages": request.context.clone().normalize() });
    let arguments: Vec<JsValue<'_>> = vec![
        extension.into_js(ctx)?,
        number.into_js(ctx)?,
        (token as f64).into_js(ctx)?,
        Json(serde_json::to_value(&*request.model).unwrap_or_default()).into_js(ctx)?,
        Json(context).into_js(ctx)?,
        Json(options(request)).into_js(ctx)?,
        hooks,
        push.into_value(),
        fail.into_value(),
    ];
    host.call_entry(ctx, "startStream", arguments).map(drop)
}

/// Returns the functions of a request that the extension may call.
fn hooks<'js>(ctx: &Ctx<'js>, host: &Host, request: &Request) -> rquickjs::Result<JsValue<'js>> {
    let object = rquickjs::Object::new(ctx.clone())?;
    if let Some(hook) = request.options.hooks.on_payload.clone() {
        let model = Arc::clone(&request.model);
        let on_payload = function(ctx, host, move |call| {
            let changed = hook(call.json(0)?, Arc::clone(&model));
            call.promise_on_main(async move { Ok(changed.await.into()) })
        });
        object.set("onPayload", on_payload?)?;
    }
    if let Some(hook) = request.options.hooks.on_provider_event.clone() {
        let on_event = function(ctx, host, move |call| {
            hook(&call.json(0)?.to_string());
            call.done()
        });
        object.set("onProviderStreamEvent", on_event?)?;
    }
    Ok(object.into_value())
}

/// Returns the plain options of a request.
fn options(request: &Request) -> Value {
    let options = &request.options;
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| {
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    };
    set("apiKey", json!(options.api_key.as_ref().map(|key| key.expose_secret().to_owned())));
    set("temperature", json!(options.temperature));
    set("maxTokens", json!(options.max_tokens));
    set("sessionId", json!(options.session_id));
    set("cacheRetention", json!(options.cache_retention));
    set("toolChoice", json!(options.tool_choice));
    set("reasoning", json!(options.reasoning));
    if !options.headers.is_empty() {
        set("headers", json!(options.headers));
    }
    if !options.metadata.is_empty() {
        set("metadata", Value::Object(options.metadata.clone()));
    }
    if options.thinking_budgets != Default::default() {
        set("thinkingBudgets", json!(options.thinking_budgets));
    }
    Value::Object(fields)
}

/// The events of a stream in JavaScript.
struct JsSource {
    receiver: mpsc::UnboundedReceiver<Report>,
    /// Number under which JavaScript can abort the request.
    aborted: Option<tokio::sync::oneshot::Receiver<u64>>,
    poster: Poster,
    /// Blocks of the builder by the index of the event.
    indices: BTreeMap<u64, usize>,
}

impl Drop for JsSource {
    fn drop(&mut self) {
        let Some(mut aborted) = self.aborted.take() else { return };
        self.poster.post(move |ctx, host| {
            if let Ok(token) = aborted.try_recv() {
                host.abort_call(ctx, token);
            }
        });
    }
}

impl Source for JsSource {
    fn poll(&mut self, cx: &mut TaskContext<'_>, out: &mut MessageBuilder) -> Poll<()> {
        match self.receiver.poll_recv(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => Poll::Ready(()),
            Poll::Ready(Some(Report::Failed(error))) => {
                self.aborted = None;
                out.fail(StopReason::Error, error);
                Poll::Ready(())
            }
            Poll::Ready(Some(Report::Event(event))) => {
                self.apply(&event, out);
                // Not every event has an effect; without one, the stream must be polled again.
                if !out.has_events() && !out.is_finished() {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(())
            }
        }
    }
}

impl JsSource {
    /// Applies an event: `{ type, contentIndex?, delta?, block?, message? }`.
    fn apply(&mut self, event: &Value, out: &mut MessageBuilder) {
        let index = event["contentIndex"].as_u64().unwrap_or_default();
        let block = &event["block"];
        let text = |name: &str| block[name].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "start" => out.start(),
            "text_start" => {
                self.indices.insert(index, out.text_start());
            }
            "thinking_start" => {
                self.indices.insert(index, out.thinking_start());
            }
            "toolcall_start" => {
                self.indices.insert(index, out.tool_call_start(text("id"), text("name")));
            }
            "text_delta" | "thinking_delta" | "toolcall_delta" => {
                if let Some(at) = self.indices.get(&index) {
                    out.delta(*at, event["delta"].as_str().unwrap_or_default());
                }
            }
            "text_end" | "thinking_end" | "toolcall_end" => {
                let Some(at) = self.indices.get(&index) else { return };
                out.end(*at);
                let whole = serde_json::from_value::<AssistantBlock>(block.clone());
                if let (Ok(whole), Some(own)) = (whole, out.message_mut().content.get_mut(*at)) {
                    *own = whole;
                }
            }
            "done" | "error" => self.end(event, out),
            _ => {}
        }
    }

    /// Ends the stream with the message of its last event.
    fn end(&mut self, event: &Value, out: &mut MessageBuilder) {
        self.aborted = None;
        let reason = serde_json::from_value(event["reason"].clone());
        let message = serde_json::from_value::<AssistantMessage>(event["message"].clone());
        if event["type"] == "done" {
            out.finish(reason.unwrap_or(StopReason::Stop));
        } else {
            let error = event["message"]["errorMessage"].as_str().unwrap_or("The request failed.");
            out.fail(reason.unwrap_or(StopReason::Error), error);
        }
        if let Ok(mut message) = message {
            message.thinking_level = message.thinking_level.or(out.message().thinking_level);
            *out.message_mut() = message;
        }
    }
}
