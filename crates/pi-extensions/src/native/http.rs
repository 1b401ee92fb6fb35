//! HTTP exchanges of `fetch`, `http.request` and `WebSocket`.
//!
//! An exchange has a number. Its body is read chunk by chunk when JavaScript asks for one, so that
//! a slow reader slows down the server.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_protocol::CancelToken;
use pi_web::{WebBody, WebClient, WebError, WebRequest, WebResponse};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use crate::error::NativeError;
use crate::host::{Call, Host, Natives, Thrown};
use crate::value::Plain;

/// The state of one exchange.
#[derive(Default)]
struct Exchange {
    cancel: CancelToken,
    body: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    response: tokio::sync::Mutex<Option<WebResponse>>,
}

/// Exchanges by number.
type Exchanges = RefCell<BTreeMap<u64, Arc<Exchange>>>;

/// The client of all requests, made with the variables of the first one.
#[derive(Default)]
pub(super) struct Web(OnceCell<WebClient>);

impl Web {
    pub(super) fn client(&self, host: &Host) -> WebClient {
        let new = || {
            let variables = host.process.variables();
            WebClient::new(Arc::new(move |name| variables.get(name).cloned()))
        };
        self.0.get_or_init(new).clone()
    }
}

/// Options of `send`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    url: String,
    host: String,
    port: u16,
    method: String,
    headers: Vec<(String, String)>,
    is_stream: bool,
}

pub(super) const FUNCTIONS: Natives = &[
    ("open", |call| {
        let id = call.host.number();
        call.host.area::<Exchanges>().borrow_mut().insert(id, Arc::default());
        call.reply(id)
    }),
    // `send(id, options, bytes)` resolves with the head of the response.
    ("send", |call| {
        let (options, bytes) = (call.parse::<Options>(1)?, call.optional_bytes(2)?);
        call.host.access.connect(&options.host, options.port)?;
        let exchange = find(call)?;
        let body = if options.is_stream {
            let (sender, receiver) = mpsc::channel(1);
            *lock(&exchange.body) = Some(sender);
            WebBody::Stream(receiver)
        } else {
            bytes.map_or(WebBody::Empty, WebBody::Bytes)
        };
        let Options { url, method, headers, .. } = options;
        let request = WebRequest { method, url, headers, body };
        let client = call.host.area::<Web>().client(call.host);
        call.promise(async move {
            let response = tokio::select! {
                response = client.send(request) => response.map_err(failure)?,
                () = exchange.cancel.cancelled() => return Err(canceled()),
            };
            let head = json!({
                "status": response.status,
                "statusText": response.reason,
                "headers": response.headers,
            });
            *exchange.response.lock().await = Some(response);
            Ok(head.into())
        })
    }),
    // `sendChunk(id, bytes)` resolves with false if the body is not wanted any more.
    ("sendChunk", |call| {
        let (sender, bytes) =
            (found(call)?.and_then(|one| lock(&one.body).clone()), call.bytes(1)?);
        call.promise(async move {
            match sender {
                Some(sender) => Ok(sender.send(bytes).await.is_ok().into()),
                None => Ok(false.into()),
            }
        })
    }),
    ("endBody", |call| {
        if let Some(exchange) = found(call)? {
            lock(&exchange.body).take();
        }
        call.done()
    }),
    // `readChunk(id)` resolves with the next bytes, or with undefined at the end of the body.
    ("readChunk", |call| {
        let exchange = find(call)?;
        call.promise(async move {
            let mut response = exchange.response.lock().await;
            let Some(response) = response.as_mut() else { return Ok(Plain::Nothing) };
            tokio::select! {
                chunk = response.chunk() => Ok(chunk.map_err(failure)?.into()),
                () = exchange.cancel.cancelled() => Err(canceled()),
            }
        })
    }),
    // Ends an exchange; what waits for it fails.
    ("cancel", |call| {
        if let Some(exchange) = call.host.area::<Exchanges>().borrow_mut().remove(&call.handle(0)?)
        {
            exchange.cancel.cancel();
        }
        call.done()
    }),
];

impl Exchange {}

fn found(call: &Call<'_, '_>) -> Result<Option<Arc<Exchange>>, Thrown> {
    Ok(call.host.area::<Exchanges>().borrow().get(&call.handle(0)?).map(Arc::clone))
}

fn find(call: &Call<'_, '_>) -> Result<Arc<Exchange>, Thrown> {
    found(call)?.ok_or_else(|| canceled().into())
}

fn canceled() -> NativeError {
    NativeError::new("the exchange was canceled")
}

fn failure(error: WebError) -> NativeError {
    let message = match error.code {
        Some(code) => format!("{code}: {}", error.message),
        None => error.message,
    };
    let failure = NativeError::new(message);
    match error.code {
        Some(code) => failure.with("systemCode", code),
        None => failure,
    }
}
