//! Server-sent events: of one session, with exact resume, and of the lists of the server.
//!
//! The log is the stream: an event with an id is an entry, and a client that names the last one gets
//! what follows, without a gap or a duplicate. A session that is not open here is followed in its
//! file. Streams are read only as fast as the client takes them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use pi_base::lock;
use pi_web::http::header::HeaderName;
use pi_web::http::{HeaderValue, Response};
use pi_web::server::{Body, Event, event_stream, last_event_id};
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::entries::is_html;
use super::sessions::{now, open_questions};
use super::{Answer, ApiError, Call};
use crate::attached::{Attached, Form, From};
use crate::entrance::Identity;
use crate::items;
use crate::lists::Subscription;
use crate::metrics::OpenStream;
use crate::state::ServeState;

/// Pause between two signs of life.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The pause after which a client connects again, in milliseconds.
const RETRY: u32 = 1000;

/// The end of every stream: revoked or expired tokens, and a server that stops.
struct Life {
    state: Arc<ServeState>,
    identity: Identity,
    heartbeat: Interval,
    _counted: OpenStream,
}

/// A sign of life, or the reason why a stream ends.
enum Sign {
    Heartbeat,
    Ended(&'static str),
}

impl Life {
    fn new(call: &Call) -> Result<Self, ApiError> {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (state, identity) = (Arc::clone(&call.state), call.identity()?.clone());
        let counted = state.open_stream();
        Ok(Self { state, identity, heartbeat, _counted: counted })
    }

    /// Waits for the next sign. Safe to cancel.
    async fn sign(&mut self) -> Sign {
        tokio::select! {
            biased;
            () = self.identity.ended() => Sign::Ended("token ended"),
            () = self.state.stop.cancelled() => Sign::Ended("server stopped"),
            _ = self.heartbeat.tick() => Sign::Heartbeat,
        }
    }

    /// Returns the event of a sign of life; the first one also says when to connect again.
    fn heartbeat(&self, is_first: &mut bool) -> Bytes {
        let data = items::heartbeat(&self.state.server_id);
        let retry_ms = std::mem::take(is_first).then_some(RETRY);
        Event { retry_ms, data: &data, ..Event::default() }.to_bytes()
    }
}

/// Streams the entries and events of a session.
pub(crate) async fn of_session(call: Call) -> Answer {
    let (id, from) = start(&call)?;
    let form = Form::Full { html: is_html(&call)? };
    let attached = Attached::open(&call.state, call.identity()?, &id, from, form, None).await?;
    let stream =
        SessionStream { life: Life::new(&call)?, attached, is_first: true, has_ended: false };
    let events = unfold(stream, |mut stream| async move {
        let bytes = stream.next().await?;
        Some((bytes, stream))
    });
    Ok(answer(events))
}

/// Returns the session and the position that a request asks for: those of the last event which the
/// client has seen, or of `since`, where `-1` is the beginning. A client that comes back after its
/// session was replaced has seen events of the new one.
fn start(call: &Call) -> Result<(String, From), ApiError> {
    let id = call.param(0)?.to_owned();
    if let Some(last) = last_event_id(call.request.headers()) {
        let parsed = last.rsplit_once(':').and_then(|(id, seq)| Some((id, seq.parse().ok()?)));
        let Some((session, sequence)) = parsed else {
            let message = "Last-Event-ID is not one of this server";
            return Err(ApiError::bad_request("invalid_event_id", message));
        };
        call.identity()?.require_session(session)?;
        return Ok((session.to_owned(), From::After(sequence)));
    }
    match call.query("since").as_deref() {
        None => Ok((id, From::Now)),
        Some("-1") => Ok((id, From::Beginning)),
        Some(_) => Ok((id, From::After(call.number("since")?.unwrap_or_default()))),
    }
}

fn answer(events: impl futures_core::Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let mut response = event_stream(events);
    // Proxies that gather answers would hold events back.
    let buffering = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(buffering, HeaderValue::from_static("no"));
    response
}

struct SessionStream {
    life: Life,
    attached: Attached,
    is_first: bool,
    has_ended: bool,
}

impl SessionStream {
    async fn next(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        if self.is_first {
            return Some(self.life.heartbeat(&mut self.is_first));
        }
        let Self { life, attached, .. } = self;
        let sign = tokio::select! {
            biased;
            sign = life.sign() => sign,
            item = attached.next() => {
                let item = item?;
                let event = Event { id: item.id.as_deref(), data: &item.text, ..Event::default() };
                return Some(event.to_bytes());
            }
        };
        Some(match sign {
            Sign::Heartbeat => life.heartbeat(&mut self.is_first),
            Sign::Ended(reason) => {
                self.has_ended = true;
                let session = lock(&self.attached.current()).clone();
                data_event(&items::closed(&session, reason))
            }
        })
    }
}

fn data_event(data: &str) -> Bytes {
    Event { data, ..Event::default() }.to_bytes()
}

/// Streams the changes of the lists: sessions and questions.
pub(crate) async fn of_server(call: Call) -> Answer {
    let life = Life::new(&call)?;
    let subscription = life.state.lists.subscribe();
    let stream =
        ServerStream { life, subscription, is_first: true, has_ended: false, questions: None };
    let events = unfold(stream, |mut stream| async move {
        let bytes = stream.next().await?;
        Some((bytes, stream))
    });
    Ok(answer(events))
}

struct ServerStream {
    life: Life,
    subscription: Subscription,
    is_first: bool,
    has_ended: bool,
    /// The questions that were sent last.
    questions: Option<Value>,
}

impl ServerStream {
    async fn next(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        if self.is_first {
            return Some(self.life.heartbeat(&mut self.is_first));
        }
        loop {
            let Self { life, subscription, .. } = self;
            let changes = tokio::select! {
                biased;
                sign = life.sign() => match sign {
                    Sign::Heartbeat => return Some(self.life.heartbeat(&mut self.is_first)),
                    Sign::Ended(reason) => {
                        self.has_ended = true;
                        return Some(data_event(&json!({"type": "closed", "reason": reason}).to_string()));
                    }
                },
                changes = subscription.next() => changes,
            };
            let identity = &self.life.identity;
            let changed: Vec<_> =
                changes.changed.iter().filter(|one| identity.reaches(&one.id)).collect();
            let removed: Vec<_> =
                changes.removed.iter().filter(|id| identity.reaches(id)).collect();
            let mut events = Vec::new();
            if !changed.is_empty() || !removed.is_empty() {
                let item = json!({
                    "type": "sessions", "changed": changed, "removed": removed, "asOf": now(),
                });
                events.extend_from_slice(&data_event(&item.to_string()));
            }
            let questions = open_questions(&self.life.state, identity).await;
            let questions = serde_json::to_value(questions).unwrap_or_default();
            if self.questions.as_ref() != Some(&questions) {
                let item = json!({"type": "needs-you", "questions": questions, "asOf": now()});
                events.extend_from_slice(&data_event(&item.to_string()));
                self.questions = Some(questions);
            }
            if !events.is_empty() {
                return Some(events.into());
            }
        }
    }
}
