//! Requests to models: JavaScript starts one and pulls its events.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use pi_ai::{AssistantStream, CancelToken, Client, Context, Model, Provider, Request};
use pi_protocol::AssistantEvent;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};

use super::options::RequestOptions;
use crate::error::NativeError;
use crate::host::{Host, Natives};

/// Events that wait for JavaScript at most. A slow reader slows the request down.
const BUFFERED: usize = 256;

/// A request whose events JavaScript reads.
struct Running {
    events: Arc<Mutex<mpsc::Receiver<Value>>>,
    cancel: CancelToken,
}

impl Running {
    fn events(&self) -> Arc<Mutex<mpsc::Receiver<Value>>> {
        Arc::clone(&self.events)
    }
}

/// Requests by number.
type Requests = RefCell<BTreeMap<u32, Running>>;

pub(in crate::native) const FUNCTIONS: Natives = &[
    ("start", |call| call.reply(start(call.host, call.json(0)?, call.json(1)?, call.json(2)?)?)),
    ("next", |call| {
        let events = call.host.area::<Requests>().borrow().get(&call.id(0)?).map(Running::events);
        call.promise(async move {
            let Some(events) = events else { return Ok(json!([]).into()) };
            let mut batch = Vec::new();
            events.lock().await.recv_many(&mut batch, BUFFERED).await;
            Ok(Value::Array(batch).into())
        })
    }),
    ("cancel", |call| {
        if let Some(running) = call.host.area::<Requests>().borrow().get(&call.id(0)?) {
            running.cancel.cancel();
        }
        call.done()
    }),
    ("close", |call| {
        if let Some(closed) = call.host.area::<Requests>().borrow_mut().remove(&call.id(0)?) {
            closed.cancel.cancel();
        }
        call.done()
    }),
];

fn start(host: &Host, model: Value, context: Value, options: Value) -> Result<u32, NativeError> {
    let wrong = |what: &str, error: &serde_json::Error| {
        NativeError::of("TypeError", format!("invalid {what}: {error}"))
    };
    let model: Model = serde_json::from_value(model).map_err(|error| wrong("model", &error))?;
    let context: Context =
        serde_json::from_value(context).map_err(|error| wrong("context", &error))?;
    let options = if options.is_null() { json!({}) } else { options };
    let options: RequestOptions =
        serde_json::from_value(options).map_err(|error| wrong("options", &error))?;
    let (address, port) = address_of(&model.base_url);
    host.access.connect(&address, port)?;
    let variables = host.process.variables();
    let client = Client::new(move |name| variables.get(name).cloned());
    let cancel = CancelToken::new();
    let request = Request::new(Arc::new(model), context, options.into_stream_options());
    let stream = Provider::stream(&client, request, cancel.clone());
    let (sender, events) = mpsc::channel(BUFFERED);
    host.main().spawn(forward(stream, sender));
    let handle = u32::try_from(host.number()).unwrap_or(u32::MAX);
    let events = Arc::new(Mutex::new(events));
    host.area::<Requests>().borrow_mut().insert(handle, Running { events, cancel });
    Ok(handle)
}

/// Sends the events of an answer, with the parts of the message that they complete.
async fn forward(mut stream: AssistantStream, events: mpsc::Sender<Value>) {
    while let Some(event) = stream.next().await {
        let mut value = serde_json::to_value(&event).unwrap_or_default();
        let Some(fields) = value.as_object_mut() else { continue };
        let block = |at: usize| {
            let block = stream.message().content.get(at);
            block.map_or(Value::Null, |block| serde_json::to_value(block).unwrap_or_default())
        };
        match &event {
            AssistantEvent::Start | AssistantEvent::Done { .. } | AssistantEvent::Error { .. } => {
                let message = serde_json::to_value(stream.message()).unwrap_or_default();
                fields.insert("message".to_owned(), message);
            }
            AssistantEvent::TextStart { content_index }
            | AssistantEvent::ThinkingStart { content_index }
            | AssistantEvent::ToolCallStart { content_index }
            | AssistantEvent::TextEnd { content_index }
            | AssistantEvent::ThinkingEnd { content_index }
            | AssistantEvent::ToolCallEnd { content_index } => {
                fields.insert("block".to_owned(), block(*content_index));
            }
            _ => {}
        }
        if events.send(value).await.is_err() {
            stream.cancel();
            return;
        }
    }
}

/// Returns host and port of a URL.
fn address_of(url: &str) -> (String, u16) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let default = if scheme == "http" { 80 } else { 443 };
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') => {
            (host.to_owned(), port.parse().unwrap_or(default))
        }
        _ => (authority.to_owned(), default),
    }
}
