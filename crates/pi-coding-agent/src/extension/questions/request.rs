//! Questions about one request to a provider: its messages, headers and body.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_protocol::{AgentMessage, History, Message};
use serde::Serialize;
use serde_json::{Value, json};

use crate::extension::question::wrapping;
use crate::extension::{Ask, Flow};

/// Asks for the messages of a request, without system messages.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Context {
    /// The messages, as changed by the extensions asked before.
    pub messages: History<AgentMessage>,
}

/// Asks for the messages of a request with system messages, after [`Context`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ContextWithSystem {
    /// The messages, as changed by the extensions asked before.
    pub messages: History<AgentMessage>,
}

/// Replacement for the messages of one request; `None` leaves them as they are.
#[derive(Debug, Clone, Default)]
pub struct ContextMessages(pub Option<History<AgentMessage>>);

impl From<Vec<AgentMessage>> for ContextMessages {
    fn from(messages: Vec<AgentMessage>) -> Self {
        Self(Some(messages.into_iter().collect()))
    }
}

impl Context {
    /// Takes the system messages out.
    pub(crate) fn of(messages: &History<AgentMessage>) -> Self {
        Self { messages: messages.iter().filter(|message| !is_system(message)).cloned().collect() }
    }
}

impl ContextWithSystem {
    pub(crate) fn new(messages: History<AgentMessage>) -> Self {
        Self { messages }
    }
}

impl Ask for Context {
    type Answer = ContextMessages;
    wrapping!(Context);

    fn merge(&mut self, combined: &mut ContextMessages, answer: ContextMessages) -> Flow {
        if let Some(messages) = answer.0 {
            self.messages = messages.clone();
            combined.0 = Some(messages);
        }
        Flow::Next
    }

    fn payload(&self) -> Value {
        json!({ "messages": self.messages })
    }
}

impl Ask for ContextWithSystem {
    type Answer = ContextMessages;
    wrapping!(ContextWithSystem);

    fn merge(&mut self, combined: &mut ContextMessages, answer: ContextMessages) -> Flow {
        let Some(messages) = answer.0 else { return Flow::Next };
        let led = |messages: &History<AgentMessage>| messages.iter().next().is_some_and(is_system);
        let lost = led(&self.messages) && !led(&messages);
        self.messages = messages.clone();
        combined.0 = Some(messages);
        if lost {
            return Flow::Invalid("the leading system message was removed".to_owned());
        }
        Flow::Next
    }

    fn payload(&self) -> Value {
        json!({ "messages": self.messages })
    }
}

fn is_system(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::Llm(Message::System(_)))
}

/// Puts system messages back where they were, counted in other messages.
pub(crate) fn with_system(
    messages: &History<AgentMessage>,
    others: &History<AgentMessage>,
) -> History<AgentMessage> {
    let mut merged = History::new();
    let mut others = others.iter().cloned();
    for message in messages.iter() {
        if is_system(message) {
            merged.push(message.clone());
        } else if let Some(other) = others.next() {
            merged.push(other);
        }
    }
    merged.extend(others);
    merged
}

/// Headers of a request by name; `None` removes a header.
pub type HeaderMap = BTreeMap<String, Option<String>>;

/// Asks for the headers that the program adds to a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeProviderHeaders {
    /// The headers, as changed by the extensions asked before.
    pub headers: HeaderMap,
}

impl BeforeProviderHeaders {
    pub(crate) fn new(headers: HeaderMap) -> Self {
        Self { headers }
    }
}

/// Replacement for the headers of one request; `None` leaves them as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub Option<HeaderMap>);

impl Ask for BeforeProviderHeaders {
    type Answer = Headers;
    wrapping!(BeforeProviderHeaders);

    fn merge(&mut self, combined: &mut Headers, answer: Headers) -> Flow {
        if let Some(headers) = answer.0 {
            self.headers = headers.clone();
            combined.0 = Some(headers);
        }
        Flow::Next
    }

    fn payload(&self) -> Value {
        json!({ "headers": self.headers })
    }
}

/// Asks for the body of a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeProviderRequest {
    /// The body, as changed by the extensions asked before.
    pub payload: Arc<Value>,
}

impl BeforeProviderRequest {
    pub(crate) fn new(payload: Value) -> Self {
        Self { payload: Arc::new(payload) }
    }
}

/// Another body for one request; `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Payload(pub Option<Arc<Value>>);

impl From<Value> for Payload {
    fn from(payload: Value) -> Self {
        Self(Some(Arc::new(payload)))
    }
}

impl Ask for BeforeProviderRequest {
    type Answer = Payload;
    wrapping!(BeforeProviderRequest);

    fn merge(&mut self, combined: &mut Payload, answer: Payload) -> Flow {
        if let Some(payload) = answer.0 {
            self.payload = Arc::clone(&payload);
            combined.0 = Some(payload);
        }
        Flow::Next
    }

    fn payload(&self) -> Value {
        json!({ "payload": self.payload })
    }
}

/// Asks whether a prompt cache that is about to expire is kept warm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CacheWarming {
    /// Cost of a request that keeps the cache, in US dollars.
    pub warm_cost: f64,
    /// Cost of losing the cache, in US dollars.
    pub miss_cost: f64,
    /// Probability that the user continues.
    pub continuation_probability: f64,
    /// The action that would be taken.
    pub action: Warming,
}

/// Action for a prompt cache that is about to expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Warming {
    /// A request keeps the cache.
    Warm,
    /// The cache expires.
    Stop,
}

/// Another action; `None` leaves it as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheWarmingAction(pub Option<Warming>);

impl Ask for CacheWarming {
    type Answer = CacheWarmingAction;
    wrapping!(CacheWarming);

    fn merge(&mut self, combined: &mut CacheWarmingAction, answer: CacheWarmingAction) -> Flow {
        if let Some(action) = answer.0 {
            self.action = action;
            *combined = answer;
        }
        Flow::Next
    }

    fn payload(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
