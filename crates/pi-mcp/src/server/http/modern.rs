//! Requests of modern clients: each is complete in itself.

use std::sync::Arc;
use std::time::Duration;

use pi_jsonrpc::connection::BoxFuture;
use pi_jsonrpc::{Error, Message, Notification, Request};
use pi_web::http::{HeaderMap, Response, StatusCode};
use pi_web::server::{Body, empty, event_stream};
use serde_json::Value;
use tokio::task::AbortHandle;

use super::super::client::Client;
use super::super::dispatch::{Asked, Step, dispatch};
use super::super::drive::{Outlet, drive, resume};
use super::super::listen::listen;
use super::super::service::Listing;
use super::super::{Server, envelope};
use super::body;
use super::stream::{Events, KEEP_ALIVE, Log, Reader};
use super::{Http, headers, problem};
use crate::protocol::{errors, methods};

/// The time after which a response begins as a stream: clients do not wait long for its head.
const HEAD_WAIT: Duration = Duration::from_secs(5);

/// Answers a message of a modern client.
pub(super) async fn post(http: &Http, headers: &HeaderMap, message: Message) -> Response<Body> {
    let request = match message {
        Message::Request(request) => request,
        Message::Notification(_) => return empty(StatusCode::ACCEPTED),
        Message::Response(_) => {
            return problem(StatusCode::BAD_REQUEST, "This server sends no requests");
        }
    };
    let client = match check(&http.server, headers, &request).await {
        Ok(client) => client,
        Err(error) => return body::json(StatusCode::BAD_REQUEST, &refusal(&request, error)),
    };
    let Request { method, params, .. } = &request;
    let asked = Asked { method, params: params.as_ref(), client, session: None };
    let log = Arc::new(Log::default());
    let (server, writing) = (http.server.clone(), Arc::clone(&log));
    let outlet: Arc<dyn Outlet> = Arc::new(LogOutlet(Arc::clone(&log)));
    let step = dispatch(&http.server, asked).await;
    let is_subscription = matches!(step, Step::Listen(_));
    if let Step::Reply(result) = step {
        let status = status(result.as_ref().err().map(|error| error.code));
        return body::json(status, &Message::response(request.id, result));
    }
    let driving = tokio::spawn(async move {
        let result = match step {
            Step::Reply(result) => result,
            Step::Call(call) => drive(&server, call, true, outlet).await,
            Step::Resume(call, ask) => resume(&server, call, ask, outlet).await,
            Step::Listen(filter) => listen(&server, filter, &request.id, &*outlet).await,
            Step::Result(task) => task.result(outlet).await,
        };
        writing.finish(&Message::response(request.id, result));
    });
    // A client that goes away cancels its request.
    let guard = AbortOnDrop(driving.abort_handle());
    let is_streamed = is_subscription || headers::accepts_events(headers);
    respond(&log, guard, is_streamed, None).await
}

/// Answers with one message if there is only one, else with a stream.
pub(super) async fn respond<T: Send + 'static>(
    log: &Arc<Log>,
    keep: T,
    is_streamed: bool,
    name: Option<(u64, bool)>,
) -> Response<Body> {
    let mut reader = Reader::new(log, 0);
    let mut first = match is_streamed {
        true => tokio::time::timeout(HEAD_WAIT, reader.next()).await.unwrap_or(None),
        false => reader.next().await,
    };
    while !is_streamed && !reader.is_at_end() && first.is_some() {
        first = reader.next().await;
    }
    match first {
        Some(text) if reader.is_at_end() => {
            let status = if name.is_some() { StatusCode::OK } else { status(log.error()) };
            body::json_text(status, text.as_ref().to_owned())
        }
        first => {
            let (name, is_primed) =
                name.map_or((None, false), |(name, primed)| (Some(name), primed));
            let keep_alive = KEEP_ALIVE;
            event_stream(Events { name, is_primed, first, keep_alive }.write(reader, keep))
        }
    }
}

/// Checks a request before anything is done for it.
async fn check(server: &Server, headers: &HeaderMap, request: &Request) -> Result<Client, Error> {
    let params = request.params.as_ref();
    let client = envelope::read(params)?;
    headers::check_version(headers, params)?;
    envelope::check_version(&client)?;
    headers::check_names(headers, &request.method, params)?;
    if request.method == methods::TOOLS_CALL && server.about().offers.tools {
        let name = params.and_then(|params| params.get("name"));
        let tools = server.service().list(Listing::Tools).await?;
        let tool = tools.iter().find(|tool| tool.get("name") == name);
        if let Some(tool) = tool {
            let arguments = params.and_then(|params| params.get("arguments"));
            headers::check_arguments(headers, &tool["inputSchema"], arguments)?;
        }
    }
    Ok(client)
}

fn refusal(request: &Request, error: Error) -> Message {
    Message::response(request.id.clone(), Err(error))
}

/// Returns the status of a response with this error.
fn status(error: Option<i64>) -> StatusCode {
    match error {
        Some(Error::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(code) if errors::is_modern(code) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Ends a task with its owner.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The stream of one response.
struct LogOutlet(Arc<Log>);

impl Outlet for LogOutlet {
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        self.0.push(&Message::Notification(notification));
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, method: &'static str, _: Value) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(std::future::ready(Err(Error::method_not_found(method))))
    }
}
