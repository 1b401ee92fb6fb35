//! HTTP exchanges of `fetch`, `http.request` and `WebSocket`.
//!
//! An exchange has a number. Its body is read chunk by chunk when JavaScript asks for one, so that
//! a slow reader slows down the server.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use pi_ai::web::{WebBody, WebClient, WebError, WebRequest, WebResponse};
use pi_protocol::CancelToken;
use rquickjs::{Ctx, Function, Object, Promise};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use crate::error::NativeError;
use crate::host::Host;
use crate::value::{Bytes, Json};

/// The state of one exchange.
#[derive(Default)]
struct Exchange {
    cancel: CancelToken,
    body: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    response: tokio::sync::Mutex<Option<WebResponse>>,
}

type Exchanges = Rc<RefCell<BTreeMap<u64, Arc<Exchange>>>>;

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

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let exchanges = Exchanges::default();
    let variables = host.process.variables();
    let client = WebClient::new(Arc::new(move |name| variables.get(name).cloned()));
    object.set("open", open(ctx, host, &exchanges)?)?;
    object.set("send", send(ctx, host, &exchanges, client)?)?;
    object.set("sendChunk", send_chunk(ctx, host, &exchanges)?)?;
    object.set("readChunk", read_chunk(ctx, host, &exchanges)?)?;
    let all = Rc::clone(&exchanges);
    object.set(
        "endBody",
        Function::new(ctx.clone(), move |id: u64| {
            if let Some(exchange) = all.borrow().get(&id) {
                exchange.body.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
        })?,
    )?;
    // Ends an exchange; what waits for it fails.
    object.set(
        "cancel",
        Function::new(ctx.clone(), move |id: u64| {
            if let Some(exchange) = exchanges.borrow_mut().remove(&id) {
                exchange.cancel.cancel();
            }
        })?,
    )?;
    Ok(object)
}

fn open<'js>(ctx: &Ctx<'js>, host: &Host, all: &Exchanges) -> rquickjs::Result<Function<'js>> {
    let (host, all) = (host.clone(), Rc::clone(all));
    Function::new(ctx.clone(), move || {
        let id = host.number();
        all.borrow_mut().insert(id, Arc::default());
        id
    })
}

/// `send(id, options, bytes)` resolves with the head of the response.
fn send<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    all: &Exchanges,
    client: WebClient,
) -> rquickjs::Result<Function<'js>> {
    let (host, all) = (host.clone(), Rc::clone(all));
    Function::new(
        ctx.clone(),
        move |ctx: Ctx<'js>, id: u64, options: Json, bytes: Option<Bytes>| {
            let options: Options = serde_json::from_value(options.0)
                .map_err(|error| NativeError::new(error.to_string()).throw(&ctx))?;
            host.access.connect(&options.host, options.port).map_err(|error| error.throw(&ctx))?;
            let exchange = find(&ctx, &all, id)?;
            let body = if options.is_stream {
                let (sender, receiver) = mpsc::channel(1);
                *exchange.body.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
                WebBody::Stream(receiver)
            } else {
                bytes.map_or(WebBody::Empty, |bytes| WebBody::Bytes(bytes.0))
            };
            let Options { url, method, headers, .. } = options;
            let request = WebRequest { method, url, headers, body };
            let client = client.clone();
            host.promise(&ctx, async move {
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
                Ok(Json(head))
            })
        },
    )
}

/// `sendChunk(id, bytes)` resolves with false if the body is not wanted any more.
fn send_chunk<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    all: &Exchanges,
) -> rquickjs::Result<Function<'js>> {
    let (host, all) = (host.clone(), Rc::clone(all));
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: u64, bytes: Bytes| {
        let sender = all.borrow().get(&id).and_then(|exchange| {
            exchange.body.lock().unwrap_or_else(PoisonError::into_inner).clone()
        });
        host.promise(&ctx, async move {
            match sender {
                Some(sender) => Ok(sender.send(bytes.0).await.is_ok()),
                None => Ok(false),
            }
        })
    })
}

/// `readChunk(id)` resolves with the next bytes, or with undefined at the end of the body.
fn read_chunk<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    all: &Exchanges,
) -> rquickjs::Result<Function<'js>> {
    let (host, all) = (host.clone(), Rc::clone(all));
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: u64| -> rquickjs::Result<Promise<'js>> {
        let exchange = find(&ctx, &all, id)?;
        host.promise(&ctx, async move {
            let mut response = exchange.response.lock().await;
            let Some(response) = response.as_mut() else { return Ok(None) };
            tokio::select! {
                chunk = response.chunk() => Ok(chunk.map_err(failure)?.map(Bytes)),
                () = exchange.cancel.cancelled() => Err(canceled()),
            }
        })
    })
}

fn find(ctx: &Ctx<'_>, all: &Exchanges, id: u64) -> rquickjs::Result<Arc<Exchange>> {
    let found = all.borrow().get(&id).map(Arc::clone);
    found.ok_or_else(|| canceled().throw(ctx))
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
