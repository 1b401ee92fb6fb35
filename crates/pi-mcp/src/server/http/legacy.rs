//! Requests of old clients: sessions, streams that can be continued, and their end.

use std::sync::Arc;
use std::time::Duration;

use pi_jsonrpc::{Error, Id, Message, Notification, Request};
use pi_protocol::CancelToken;
use pi_web::http::{HeaderMap, HeaderValue, Response, StatusCode};
use pi_web::server::{Body, empty, event_stream, last_event_id, single};
use serde_json::Value;

use super::super::LEGACY;
use super::super::context::cancelled;
use super::super::dispatch::{Asked, Step, dispatch};
use super::super::drive::{Outlet, drive};
use super::super::session::Session;
use super::body;
use super::headers::{self, SESSION, VERSION};
use super::modern::respond;
use super::sessions::{HttpSession, SessionOutlet};
use super::stream::{Events, KEEP_ALIVE, Reader};
use super::{Http, problem};
use crate::protocol::methods;

/// The most requests of a session at a time.
const REQUESTS: usize = 64;

/// The time that a client has to come back for the response to a request.
const ABANDONED: Duration = Duration::from_secs(5 * 60);

/// Answers a message of an old client.
pub(super) async fn post(http: &Http, headers: &HeaderMap, message: Message) -> Response<Body> {
    if let Message::Request(request) = &message
        && request.method == methods::INITIALIZE
    {
        return initialize(http, request);
    }
    let session = match find(http, headers) {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    match message {
        Message::Request(request) => perform(http, headers, &session, request).await,
        Message::Notification(notification) => {
            cancel(&session, &notification);
            empty(StatusCode::ACCEPTED)
        }
        Message::Response(response) => {
            if let Some(id) = response.id {
                session.answer(&id, response.result);
            }
            empty(StatusCode::ACCEPTED)
        }
    }
}

/// Opens the stream for what belongs to no request, or continues another one.
pub(super) fn get(http: &Http, headers: &HeaderMap) -> Response<Body> {
    if !headers::accepts_events(headers) {
        return problem(StatusCode::NOT_ACCEPTABLE, "The response is a text/event-stream");
    }
    let session = match find(http, headers) {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let (name, log, at) = match last_event_id(headers) {
        Some(last) => {
            let place = last.split_once('-').and_then(|(name, number)| {
                let (name, number) = (name.parse().ok()?, number.parse().ok()?);
                Some((name, session.stream(name)?, number))
            });
            let Some((name, log, number)) = place else {
                return problem(StatusCode::BAD_REQUEST, "The event of Last-Event-ID is unknown");
            };
            (name, log, Some(number))
        }
        None => match session.standing() {
            Some((name, log)) => (name, log, None),
            None => return problem(StatusCode::NOT_FOUND, "The session has ended"),
        },
    };
    // One reader at a time: a message must not be delivered twice.
    log.close_readers();
    let reader = at.map_or_else(|| Reader::of_future(&log), |at| Reader::new(&log, at));
    let is_primed = is_newest(&session);
    let (name, keep_alive) = (Some(name), KEEP_ALIVE);
    event_stream(Events { name, is_primed, first: None, keep_alive }.write(reader, session))
}

/// Ends a session.
pub(super) fn delete(http: &Http, headers: &HeaderMap) -> Response<Body> {
    let id = single(headers, SESSION).unwrap_or_default();
    match http.sessions.remove(id) {
        true => empty(StatusCode::NO_CONTENT),
        false => problem(StatusCode::NOT_FOUND, "No such session"),
    }
}

fn initialize(http: &Http, request: &Request) -> Response<Body> {
    let started = Session::start(http.server.about(), request.params.as_ref());
    let (session, result) = match started {
        Ok(started) => started,
        Err(error) => {
            let refused = Message::response(request.id.clone(), Err(error));
            return body::json(StatusCode::BAD_REQUEST, &refused);
        }
    };
    let id = http.sessions.add(session, http.server.changes().subscribe());
    let mut response =
        body::json(StatusCode::OK, &Message::response(request.id.clone(), Ok(result)));
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(SESSION, id);
    }
    response
}

fn find(http: &Http, headers: &HeaderMap) -> Result<Arc<HttpSession>, Box<Response<Body>>> {
    let refuse = |status, message| Err(Box::new(problem(status, message)));
    if let Some(version) = single(headers, VERSION)
        && !LEGACY.contains(&version)
    {
        return refuse(StatusCode::BAD_REQUEST, "Unsupported protocol version");
    }
    let Some(id) = single(headers, SESSION) else {
        return refuse(StatusCode::BAD_REQUEST, "The header Mcp-Session-Id is required");
    };
    match http.sessions.get(id) {
        Some(session) => Ok(session),
        None => refuse(StatusCode::NOT_FOUND, "No such session; initialize a new one"),
    }
}

fn cancel(session: &HttpSession, notification: &Notification) {
    if notification.method != methods::CANCELLED {
        return;
    }
    let id = notification.params.as_ref().and_then(|params| Id::from_value(&params["requestId"]));
    let cancel = id.and_then(|id| session.running().get(&id).cloned());
    if let Some(cancel) = cancel {
        cancel.cancel();
    }
}

/// Performs a request. It goes on if the connection breaks: the client can come back.
async fn perform(
    http: &Http,
    headers: &HeaderMap,
    session: &Arc<HttpSession>,
    request: Request,
) -> Response<Body> {
    let Request { id, method, params } = request;
    let client = session.session.client();
    let asked =
        Asked { method: &method, params: params.as_ref(), client, session: Some(&session.session) };
    let step = match dispatch(&http.server, asked).await {
        Step::Reply(result) => return body::json(StatusCode::OK, &Message::response(id, result)),
        step => step,
    };
    let cancel = match &step {
        Step::Call(call) => call.cancel_token().clone(),
        Step::Result(_) => CancelToken::new(),
        _ => {
            let error = Error::method_not_found(&method);
            return body::json(StatusCode::OK, &Message::response(id, Err(error)));
        }
    };
    let opened = Some(session.running().len()).filter(|running| *running < REQUESTS);
    let Some((name, log)) = opened.and_then(|_| session.open_stream()) else {
        let error = Error::internal("Too many requests at a time");
        return body::json(StatusCode::OK, &Message::response(id, Err(error)));
    };
    session.running().insert(id.clone(), cancel.clone());
    let outlet: Arc<dyn Outlet> =
        Arc::new(SessionOutlet { session: Arc::clone(session), log: Arc::clone(&log) });
    let (server, own, writing) = (http.server.clone(), Arc::clone(session), Arc::clone(&log));
    tokio::spawn(async move {
        let working = async {
            match step {
                Step::Call(call) => drive(&server, call, false, outlet).await,
                Step::Result(task) => task.result(outlet).await,
                _ => Err(cancelled()),
            }
        };
        let result: Result<Value, Error> = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(cancelled()),
            result = working => result,
            // The client is gone. What runs for it is dropped, and so is cancelled.
            () = writing.abandoned(ABANDONED) => Err(cancelled()),
        };
        own.running().remove(&id);
        writing.finish(&Message::response(id, result));
    });
    let is_primed = is_newest(session);
    let is_streamed = headers::accepts_events(headers);
    respond(&log, Arc::clone(session), is_streamed, Some((name, is_primed))).await
}

/// Events without a message confuse clients of older versions.
fn is_newest(session: &HttpSession) -> bool {
    session.session.client().version == LEGACY[0]
}

#[cfg(test)]
mod tests {
    use pi_jsonrpc::connection::BoxFuture;
    use serde_json::{Map, json};
    use tokio::sync::mpsc;

    use super::super::super::{About, Context, Listing, Offers, Server, Service, text_result};
    use super::super::sessions::Sessions;
    use super::*;

    /// A tool that ends when it is cancelled, and reports it.
    struct Waits(mpsc::UnboundedSender<()>);

    impl Service for Waits {
        fn about(&self) -> About {
            About { offers: Offers { tools: true, ..Offers::default() }, ..About::default() }
        }

        fn list(&self, _: Listing) -> BoxFuture<'_, Result<Vec<Value>, Error>> {
            Box::pin(std::future::ready(Ok(Vec::new())))
        }

        fn call_tool(
            &self,
            _: String,
            _: Map<String, Value>,
            context: Context,
        ) -> BoxFuture<'_, Result<Value, Error>> {
            Box::pin(async move {
                context.cancel().cancelled().await;
                let _ = self.0.send(());
                Ok(text_result("too late"))
            })
        }
    }

    fn request(method: &str, params: Value) -> Message {
        Message::request(Id::Number(1), method, Some(params))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_come_back_cancels_its_request() {
        let (sender, mut cancelled) = mpsc::unbounded_channel();
        let server = Server::new(Arc::new(Waits(sender)));
        let http = Http { server, sessions: Sessions::default() };
        let initialize = request("initialize", json!({ "protocolVersion": "2025-11-25" }));
        let answer = post(&http, &HeaderMap::new(), initialize).await;
        let mut headers = HeaderMap::new();
        headers.insert(SESSION, answer.headers()[SESSION].clone());
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        let stream = post(&http, &headers, request("tools/call", json!({ "name": "wait" }))).await;
        let left = tokio::time::Instant::now();
        drop(stream);
        assert_eq!(cancelled.recv().await, Some(()));
        assert!(left.elapsed() >= ABANDONED);
    }
}
