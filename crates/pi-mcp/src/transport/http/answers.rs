//! The answer to a request: a JSON body, or a stream of events that ends with it.

use std::sync::Arc;
use std::time::Duration;

use pi_base::text;
use pi_jsonrpc::{Error, Id, Incoming, Invalid, Message, Notification, Request, Response};
use pi_web::WebResponse;
use pi_web::sse::{EventTooLong, SseParser};
use serde_json::Value;
use tokio::time::sleep;

use super::send::{Sending, header};
use super::{HttpLink, stream};
use crate::error::{ClientError, invalid};
use crate::protocol::Era;
use crate::text::shown;

/// The largest JSON body.
const MAX_BODY: usize = 64 << 20;
/// Bytes of the body of a failure that are read.
const MAX_FAILURE: usize = 64 << 10;
/// Bytes of the body of a failure that are shown.
const MAX_EXCERPT: usize = 300;

/// A stream of events.
pub(super) struct Events {
    response: WebResponse,
    parser: SseParser,
}

/// Reasons why a stream has no more events.
pub(super) enum Broken {
    /// The stream ended or broke.
    Ended(String),
    /// An event is too large.
    TooLong,
}

impl From<EventTooLong> for Broken {
    fn from(_: EventTooLong) -> Self {
        Self::TooLong
    }
}

impl Events {
    pub(super) fn new(response: WebResponse) -> Self {
        Self { response, parser: SseParser::new() }
    }

    /// Waits for the next events. Comments and events without data are none.
    pub(super) async fn next(&mut self) -> Result<Vec<String>, Broken> {
        let chunk = self.response.chunk().await;
        let chunk = chunk.map_err(|error| Broken::Ended(error.to_string()))?;
        let Some(chunk) = chunk else { return Err(Broken::Ended("the stream ended".to_owned())) };
        let mut events = Vec::new();
        self.parser.push(&chunk, |event| {
            if matches!(event.name, None | Some("message")) && !event.data.is_empty() {
                events.push(event.data.to_owned());
            }
            Ok::<_, Broken>(())
        })?;
        Ok(events)
    }

    /// Returns where the stream can be resumed.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.parser.last_event_id()
    }

    /// Returns how long the server wants the client to wait before it resumes the stream.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.parser.retry_ms().map(Duration::from_millis)
    }
}

impl HttpLink {
    /// Reads the answer to a request.
    pub(super) async fn answer(
        self: &Arc<Self>,
        response: WebResponse,
        id: &Id,
        method: &str,
        era: Era,
    ) -> Result<Value, ClientError> {
        if !(200..300).contains(&response.status) {
            return Err(failure(response).await);
        }
        if is_stream(&response) {
            return self.streamed(Events::new(response), id, era).await;
        }
        let body = body(response, MAX_BODY).await?;
        let messages =
            Message::parse_batch(&body).map_err(|problem| invalid(method, &problem.to_string()))?;
        for message in messages {
            if let Some(result) = self.receive(message, Some(id), era) {
                return result;
            }
        }
        let problem = "it does not answer the request".to_owned();
        Err(ClientError::Invalid { method: method.to_owned(), problem })
    }

    /// Reads events until the answer. A legacy stream that breaks is resumed.
    async fn streamed(
        self: &Arc<Self>,
        mut events: Events,
        id: &Id,
        era: Era,
    ) -> Result<Value, ClientError> {
        loop {
            match events.next().await {
                Ok(batch) => {
                    for event in batch {
                        let message = Message::parse(event.as_bytes());
                        if let Some(result) = self.receive(message, Some(id), era) {
                            return result;
                        }
                    }
                }
                Err(Broken::TooLong) => {
                    let problem = format!("an event of more than {} MiB", MAX_BODY >> 20);
                    return Err(ClientError::TooLarge(problem));
                }
                Err(Broken::Ended(reason)) => {
                    let last = events.last_id().filter(|_| era == Era::Legacy).map(str::to_owned);
                    let Some(last) = last else { return Err(ClientError::Closed(reason)) };
                    sleep(stream::pause(events.retry(), stream::FIRST_PAUSE)).await;
                    let mut headers = self.session().headers();
                    headers.push(("last-event-id".to_owned(), last));
                    let response = self.send(Sending::get(headers)).await?;
                    if response.status != 200 || !is_stream(&response) {
                        return Err(failure(response).await);
                    }
                    events.resume(response);
                }
            }
        }
    }

    /// Handles a message. Returns the result if the message answers the request `wanted`.
    pub(super) fn receive(
        self: &Arc<Self>,
        message: Result<Message, Invalid>,
        wanted: Option<&Id>,
        era: Era,
    ) -> Option<Result<Value, ClientError>> {
        let handler = &self.inbox.handler;
        match message {
            Ok(Message::Response(Response { id, result })) => {
                // An error without an id belongs to the only request that it can belong to.
                let is_ours = match &id {
                    Some(id) => wanted.is_some_and(|wanted| id.to_string() == wanted.to_string()),
                    None => wanted.is_some() && result.is_err(),
                };
                if is_ours {
                    return Some(result.map_err(ClientError::remote));
                }
                handler.problem("a response to no open request");
            }
            Ok(Message::Notification(Notification { method, params })) => {
                self.inbox.note(&method, params);
            }
            Ok(Message::Request(request)) if era == Era::Legacy => self.question(request),
            Ok(Message::Request(request)) => {
                handler.problem(&format!("a request in the modern era: {}", request.method));
            }
            Err(invalid) => {
                let is_ours =
                    |id: &Id| wanted.is_some_and(|wanted| id.to_string() == wanted.to_string());
                handler.problem(&shown(&invalid.to_string()));
                if let Invalid::Shape { id: Some(id), is_response: true, problem } = &invalid
                    && is_ours(id)
                {
                    let problem = format!("The response cannot be read: {problem}");
                    return Some(Err(ClientError::remote(Error::new(Error::PARSE, problem))));
                }
            }
        }
        None
    }

    /// Answers a question of the server in a task of its own.
    fn question(self: &Arc<Self>, request: Request) {
        let Request { id, method, params } = request;
        let Ok(permit) = Arc::clone(&self.questions).try_acquire_owned() else {
            self.inbox.handler.problem("too many requests at a time");
            return;
        };
        let link = Arc::clone(self);
        tokio::spawn(async move {
            let incoming = Incoming { id: id.clone(), method, params };
            let result = link.inbox.answer_request(incoming).await;
            if let Err(error) = link.post(&Message::response(id, result)).await {
                link.inbox.handler.problem(&format!("an answer was not accepted: {error}"));
            }
            drop(permit);
        });
    }
}

impl Events {
    /// Goes on with another response, which repeats an event that was cut off. The place of the last
    /// whole event is kept.
    fn resume(&mut self, response: WebResponse) {
        self.response = response;
        self.parser.restart();
    }
}

/// Returns true if the body is a stream of events.
pub(super) fn is_stream(response: &WebResponse) -> bool {
    let kind = header(response, "content-type").unwrap_or_default();
    kind.trim_start().get(..17).is_some_and(|kind| kind.eq_ignore_ascii_case("text/event-stream"))
}

/// Describes a response that is a failure.
pub(super) async fn failure(response: WebResponse) -> ClientError {
    let status = response.status;
    let body = body(response, MAX_FAILURE).await.unwrap_or_default();
    if let Ok(Message::Response(Response { result: Err(error), .. })) = Message::parse(&body) {
        return ClientError::remote(error);
    }
    let text = String::from_utf8_lossy(&body);
    let text = text::one_line(&text);
    ClientError::Http { status, body: text.chars().take(MAX_EXCERPT).collect() }
}

async fn body(mut response: WebResponse, limit: usize) -> Result<Vec<u8>, ClientError> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => {
                let problem = format!("more than {limit} bytes");
                return Err(ClientError::TooLarge(problem));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            // A tool may have run: this is no reason to repeat the request.
            Err(error) => return Err(ClientError::Closed(error.to_string())),
        }
    }
}
