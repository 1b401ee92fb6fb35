//! A conversation with a peer: requests, history, and a log of the bodies that were sent.

use std::sync::{Arc, Mutex};

use pi_ai::{
    AssistantEvent, AssistantMessage, Client, Context, Message, Model, RequestHooks, StopReason,
    StreamOptions, ThinkingLevel, Tool, UserBlock,
};
use pi_base::lock;
use serde_json::{Value, json};

use crate::peer::{Format, Peer};

/// A conversation in progress, which may change its format between turns.
pub(crate) struct Conversation {
    client: Client,
    model: Arc<Model>,
    pub(crate) context: Context,
    pub(crate) options: StreamOptions,
    sent: Arc<Mutex<Vec<Value>>>,
}

impl Conversation {
    /// Creates an empty conversation with a system prompt.
    pub(crate) fn new(peer: &Peer, format: &Format) -> Result<Self, String> {
        let sent: Arc<Mutex<Vec<Value>>> = Arc::default();
        let mut options = StreamOptions::default();
        let log = Arc::clone(&sent);
        options.hooks = RequestHooks::default().with_payload(move |body, _| {
            lock(&log).push(body.clone());
            std::future::ready(body)
        });
        if !peer.scripted {
            options.temperature = Some(0.0);
            options.max_tokens = Some(300);
        }
        let context = Context::new().system("You are a terse assistant. Use tools when asked.");
        Ok(Self { client: peer.client(), model: peer.model(format)?, context, options, sent })
    }

    /// Adds a weather tool.
    #[must_use]
    pub(crate) fn with_tools(mut self) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The city's name."}},
            "required": ["city"],
        });
        let tool = Tool::new("get_weather", "Returns the weather in a city.", schema);
        self.context = self.context.tool(tool);
        self
    }

    /// Requests thinking from here on.
    #[must_use]
    pub(crate) fn with_thinking(mut self) -> Self {
        self.options.reasoning = Some(ThinkingLevel::Low);
        self
    }

    /// Continues in another format.
    pub(crate) fn switch(&mut self, peer: &Peer, format: &Format) -> Result<(), String> {
        self.model = peer.model(format)?;
        Ok(())
    }

    /// Continues with a model of another id.
    pub(crate) fn rename_model(&mut self, id: &str) {
        id.clone_into(&mut Arc::make_mut(&mut self.model).id);
    }

    /// Adds a user message.
    pub(crate) fn user(&mut self, text: &str) {
        self.context.messages.push(Message::user(text));
    }

    /// Adds a result for every call of `message`.
    pub(crate) fn results(&mut self, message: &AssistantMessage, content: &[UserBlock]) {
        for call in message.tool_calls() {
            let result = Message::tool_result(call, content.to_vec(), false);
            self.context.messages.push(result);
        }
    }

    /// Sends a request, checks the events, and adds the answer to the history. A failure is an `Err`.
    pub(crate) async fn ask(&mut self) -> Result<Arc<AssistantMessage>, String> {
        let message = self.attempt().await?;
        if message.stop_reason.is_failure() {
            return Err(message.error_message.clone().unwrap_or_default());
        }
        self.context.messages.push(Message::Assistant(Arc::clone(&message)));
        Ok(message)
    }

    /// Sends a request and returns the answer, failed or not.
    pub(crate) async fn attempt(&self) -> Result<Arc<AssistantMessage>, String> {
        let options = self.options.clone();
        let mut stream = self.client.stream(&self.model, self.context.clone(), options);
        let mut grammar = Grammar::default();
        while let Some(event) = stream.next().await {
            grammar.event(&event)?;
        }
        let message = stream.finished().ok_or("no message after the last event")?;
        grammar.end(&message)?;
        Ok(message)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Returns the body that was sent last.
    pub(crate) fn last_sent(&self) -> String {
        let sent = lock(&self.sent);
        sent.last().map(Value::to_string).unwrap_or_default()
    }
}

/// Checks the contract of [`AssistantEvent`]: blocks begin and end, the deltas of a text are the
/// text, and one terminal event comes last.
#[derive(Default)]
struct Grammar {
    open: Vec<usize>,
    text: String,
    terminals: usize,
}

impl Grammar {
    fn event(&mut self, event: &AssistantEvent) -> Result<(), String> {
        use AssistantEvent as E;
        if self.terminals > 0 {
            return Err(format!("{event:?} after the end"));
        }
        match event {
            E::TextStart { content_index }
            | E::ThinkingStart { content_index }
            | E::ToolCallStart { content_index } => self.open.push(*content_index),
            E::TextDelta { content_index, delta } => {
                self.text.push_str(delta);
                return self.within(*content_index, event);
            }
            E::ThinkingDelta { content_index, .. } | E::ToolCallDelta { content_index, .. } => {
                return self.within(*content_index, event);
            }
            E::TextEnd { content_index }
            | E::ThinkingEnd { content_index }
            | E::ToolCallEnd { content_index } => {
                self.within(*content_index, event)?;
                self.open.retain(|open| open != content_index);
            }
            E::Done { .. } | E::Error { .. } => self.terminals += 1,
            _ => {}
        }
        Ok(())
    }

    fn within(&self, index: usize, event: &AssistantEvent) -> Result<(), String> {
        let open = self.open.contains(&index);
        if open { Ok(()) } else { Err(format!("{event:?} outside of its block")) }
    }

    fn end(&self, message: &AssistantMessage) -> Result<(), String> {
        if self.terminals != 1 {
            return Err(format!("{} terminal events", self.terminals));
        }
        if message.stop_reason.is_failure() {
            return Ok(());
        }
        if !self.open.is_empty() {
            return Err(format!("blocks {:?} were never ended", self.open));
        }
        if self.text != message.text() {
            return Err(format!("deltas {:?}, but text {:?}", self.text, message.text()));
        }
        Ok(())
    }
}

/// Checks that the answer is a text, and the expected one if the peer has a script.
pub(crate) fn expect_text(
    peer: &Peer,
    message: &Arc<AssistantMessage>,
    words: &str,
) -> Result<(), String> {
    let text = message.text();
    let stops = matches!(message.stop_reason, StopReason::Stop | StopReason::Length);
    if !stops || (peer.scripted && message.stop_reason != StopReason::Stop) {
        return Err(format!("stopped for {:?} after {text:?}", message.stop_reason));
    }
    if text.trim().is_empty() || (peer.scripted && text != words) {
        return Err(format!("expected {words:?}, got {text:?}"));
    }
    Ok(())
}
