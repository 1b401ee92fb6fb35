//! The events of a session, as reports for the client.

mod calls;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Instant;

use pi_agent::BoxFuture;
use pi_base::lock;
use pi_base::text::{self, Cleaner};
use pi_coding_agent::AgentSession;
use pi_coding_agent::session::{MessageDelta, SessionEvent, SessionListener};
use pi_host::Hosted;
use pi_protocol::{AgentMessage, AssistantBlock, Message, MessageContent, UserBlock, UserContent};
use pi_session::ExtensionMessage;
use serde_json::Map;
use tokio::sync::oneshot;

use crate::client::Client;
use crate::config;
use crate::tool_calls::{self, Output};
use crate::update::{Block, Severity, Status, Title, ToolCall, ToolContent, Update};
use crate::wire::Version;

pub(crate) use calls::differences;

/// Reports the events of one session to a client. Events become reports when they happen, since
/// reports depend on the state of the session; the session waits for nothing but the old side of a
/// change, which its tool would read the same way.
pub(crate) struct Reporter {
    client: Client,
    /// The profiles that the client can select.
    profiles: Vec<&'static str>,
    /// The session, from its opening on.
    session: OnceLock<(String, Weak<Hosted>)>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Id of the answer that grows.
    message: String,
    /// Text of the answer was reported while it grew.
    streamed: bool,
    /// The ends of its text and of its thoughts.
    text: Cleaner,
    thought: Cleaner,
    calls: BTreeMap<String, Call>,
    cost: f64,
    /// Tokens of the context after a compaction, until a provider has counted them.
    estimate: Option<u64>,
    /// Told the id of the next message of the user, which is the prompt of the client.
    inserted: Option<oneshot::Sender<String>>,
}

/// A call without a result.
#[derive(Default)]
struct Call {
    differences: Vec<ToolContent>,
    terminal: Option<String>,
    script: Option<String>,
    reported: Option<Instant>,
}

impl Reporter {
    /// Creates a reporter without a session: nothing is reported yet.
    pub(crate) fn new(client: Client, profiles: Vec<&'static str>) -> Self {
        Self { client, profiles, session: OnceLock::new(), state: Mutex::default() }
    }

    /// Begins to report about a session.
    pub(crate) fn bind(&self, session: &Arc<Hosted>) {
        // A reporter is for one session.
        let _ = self.session.set((session.id().to_owned(), Arc::downgrade(session)));
        self.read_cost();
    }

    /// Returns the id of the session, once it is open.
    pub(crate) fn session(&self) -> Option<&str> {
        Some(&self.session.get()?.0)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the profiles that the client can select.
    pub(crate) fn profiles(&self) -> &[&'static str] {
        &self.profiles
    }

    /// Returns the current session of the agent.
    pub(crate) fn current(&self) -> Option<AgentSession> {
        self.session.get()?.1.upgrade()?.session().ok()
    }

    /// Sets the cost to what the log says.
    fn read_cost(&self) {
        let Some(session) = self.current() else { return };
        let cost = match session.with_log(|log| log.is_empty()) {
            true => 0.0,
            false => session.totals().map_or(0.0, |totals| totals.stats.cost),
        };
        self.state().cost = cost;
    }

    /// Tells `inserted` the id of the next message of the user; `None` forgets about it.
    pub(crate) fn expect_message(&self, inserted: Option<oneshot::Sender<String>>) {
        self.state().inserted = inserted;
    }

    /// Reports a message of the user.
    pub(crate) fn insert_message(&self, id: String, content: Vec<Block>) {
        let inserted = self.state().inserted.take();
        // A client of version 1 shows its prompts itself, and knows nothing of other messages.
        if self.client.version == Version::V2 || inserted.is_none() {
            self.report(Update::UserMessage { id: id.clone(), content });
        }
        if let Some(inserted) = inserted {
            // The request may have ended meanwhile.
            let _ = inserted.send(id);
        }
    }

    /// Reports something about the session.
    pub(crate) fn report(&self, update: Update) {
        if let Some(session) = self.session() {
            self.client.report(session, update);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    async fn handle(&self, event: &SessionEvent) {
        match event {
            SessionEvent::MessageStart { message } => self.message_start(message),
            SessionEvent::MessageUpdate { assistant_message_event, .. } => {
                self.delta(assistant_message_event);
            }
            SessionEvent::MessageEnd { message } => self.message_end(message),
            SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                self.call_start(tool_call_id, tool_name, args).await;
            }
            SessionEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                self.call_progress(tool_call_id, &partial_result.content);
            }
            SessionEvent::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
                let output = Output {
                    content: &result.content,
                    details: result.details.as_ref(),
                    is_error: *is_error,
                };
                self.call_end(tool_call_id, &output);
            }
            SessionEvent::TurnEnd { message, tool_results, .. } => {
                let results = tool_results.iter().filter_map(|result| result.usage.as_ref());
                let spent: f64 = results.map(|usage| usage.cost.total).sum();
                self.state().cost += spent + message.usage.cost.total;
                self.report_usage();
            }
            SessionEvent::CompactionEnd { result: Some(result), .. } => {
                self.state().estimate = Some(result.estimated_tokens_after);
                self.read_cost();
                self.report_usage();
            }
            SessionEvent::AgentSettled { .. } => self.settled(),
            // Prompts of MCP servers are commands.
            SessionEvent::McpServersChange { .. } => {
                if let Some(session) = self.current() {
                    self.report(Update::Commands(config::commands(&session)));
                }
            }
            SessionEvent::SessionInfoChanged { name } => {
                let title = name.clone().map_or(Title::Removed, Title::Set);
                self.report(Update::title(title));
            }
            SessionEvent::ModelSelect { .. } | SessionEvent::ThinkingLevelChanged { .. } => {
                self.options();
            }
            event => {
                if let Some((severity, text)) = notice(event) {
                    self.report(Update::Notice { severity, text });
                }
            }
        }
    }

    /// Reports the options of the session.
    pub(crate) fn options(&self) {
        let Some(session) = self.current() else { return };
        self.report(Update::Options(config::options(&session, &self.profiles)));
    }

    /// Returns the report on the size of the context and the cost; `None` if the size is unknown.
    pub(crate) fn usage(&self) -> Option<Update> {
        let usage = self.current()?.context_usage().ok()??;
        let state = self.state();
        let used = usage.tokens.or(state.estimate)?;
        Some(Update::Usage { used, size: usage.context_window, cost: state.cost })
    }

    fn report_usage(&self) {
        if let Some(usage) = self.usage() {
            self.report(usage);
        }
    }

    fn message_start(&self, message: &AgentMessage) {
        match message {
            AgentMessage::Llm(Message::Assistant(answer)) => {
                let mut state = self.state();
                state.message = message_id("answer", answer.timestamp);
                state.streamed = false;
                (state.text, state.thought) = (Cleaner::default(), Cleaner::default());
            }
            AgentMessage::Llm(Message::User(prompt)) => {
                let id = message_id("prompt", prompt.timestamp);
                self.insert_message(id, content(&prompt.content));
            }
            message => {
                let shown = message.as_custom::<ExtensionMessage>();
                for update in shown.iter().flat_map(extension_message) {
                    self.report(update);
                }
            }
        }
    }

    fn delta(&self, delta: &MessageDelta) {
        match delta {
            MessageDelta::TextDelta { delta, .. } => {
                let (id, text) = {
                    let mut state = self.state();
                    state.streamed = true;
                    (state.message.clone(), cleaned(&mut state.text, delta))
                };
                self.report(Update::Text { id, text });
            }
            MessageDelta::ThinkingDelta { delta, .. } => {
                let (id, text) = {
                    let mut state = self.state();
                    (thought_id(&state.message), cleaned(&mut state.thought, delta))
                };
                self.report(Update::Thought { id, text });
            }
            MessageDelta::ToolCallStart { id: Some(id), tool_name: Some(name), .. }
                if !id.is_empty() && !name.is_empty() =>
            {
                let call = ToolCall {
                    id: id.clone(),
                    name: Some(name.clone()),
                    title: Some(name.clone()),
                    kind: Some(tool_calls::kind(&self.effects(name, &Map::new()))),
                    status: Some(Status::Pending),
                    ..ToolCall::default()
                };
                self.state().calls.insert(id.clone(), Call::default());
                self.report(Update::ToolCall(call));
            }
            _ => {}
        }
    }

    fn message_end(&self, message: &AgentMessage) {
        let Some(answer) = message.as_assistant() else { return };
        let (id, streamed) = {
            let state = self.state();
            (state.message.clone(), state.streamed)
        };
        if streamed {
            return;
        }
        // An answer that came as a whole.
        for block in &answer.content {
            if let AssistantBlock::Text(text) = block
                && !text.text.is_empty()
            {
                let text = text::clean(&text.text).into_owned();
                self.report(Update::Text { id: id.clone(), text });
            }
        }
    }

    /// Ends the calls that were never executed, and reports what the run has used.
    fn settled(&self) {
        let open = std::mem::take(&mut self.state().calls);
        for id in open.into_keys() {
            let status = Some(Status::Cancelled);
            let call = ToolCall { id, status, ..ToolCall::default() };
            self.report(Update::ToolCallChange(call));
        }
        let updated_at = Some(jiff::Timestamp::now().to_string());
        let name = self.current().and_then(|session| session.name());
        let title = name.map_or(Title::Unchanged, Title::Set);
        self.report(Update::Info { title, updated_at });
    }
}

/// Returns the next piece of a text without invisible characters.
fn cleaned(before: &mut Cleaner, piece: &str) -> String {
    let mut cleaned = String::with_capacity(piece.len());
    before.push(piece, &mut cleaned);
    cleaned
}

impl SessionListener for Reporter {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(self.handle(event))
    }

    fn wants_progress(&self) -> bool {
        true
    }
}

/// Returns the id of a message. It follows from the log, so that a session that is opened again
/// has the same ids.
pub(crate) fn message_id(kind: &str, timestamp: f64) -> String {
    format!("{kind}-{timestamp}")
}

/// Returns the id of the thinking of an answer.
pub(crate) fn thought_id(message: &str) -> String {
    format!("{message}-thinking")
}

/// Returns a message of an extension as messages of the agent; none if it is not displayed.
pub(crate) fn extension_message(message: &ExtensionMessage) -> Vec<Update> {
    if !message.display {
        return Vec::new();
    }
    let id = message_id("extension", message.timestamp);
    let blocks = content(&message.content).into_iter();
    blocks.map(|block| Update::Content { id: id.clone(), block }).collect()
}

/// Returns the content of a message of the user or of an extension.
pub(crate) fn content(content: &UserContent) -> Vec<Block> {
    let block = |block: &UserBlock| match block {
        UserBlock::Text(text) => Some(Block::Text(text.text.clone())),
        UserBlock::Image(image) => {
            let (data, mime_type) = (image.data.clone(), image.mime_type.clone());
            Some(Block::Image { data, mime_type })
        }
        UserBlock::Unknown(_) => None,
    };
    match content {
        MessageContent::Text(text) => vec![Block::Text(text.clone())],
        MessageContent::Blocks(blocks) => blocks.iter().filter_map(block).collect(),
    }
}

/// Returns the text of an event that only notices can report.
fn notice(event: &SessionEvent) -> Option<(Severity, String)> {
    Some(match event {
        SessionEvent::AutoRetryStart { attempt, max_attempts, error_message, .. } => {
            let text = format!("Retry {attempt} of {max_attempts}: {error_message}");
            (Severity::Warning, text)
        }
        SessionEvent::ModelFallback { message, .. } => (Severity::Warning, message.clone()),
        SessionEvent::CompactionStart { .. } => {
            (Severity::Info, "The session is being compacted".to_owned())
        }
        SessionEvent::CompactionEnd { error_message: Some(error), .. } => {
            (Severity::Error, format!("The session was not compacted: {error}"))
        }
        SessionEvent::Diagnostic { severity, message, hint, .. } => {
            let severity = match severity {
                pi_coding_agent::Severity::Warning => Severity::Warning,
                pi_coding_agent::Severity::Error => Severity::Error,
            };
            let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            (severity, format!("{message}{hint}"))
        }
        SessionEvent::ExtensionError { extension_path, error, .. } => {
            (Severity::Error, format!("{extension_path}: {error}"))
        }
        _ => return None,
    })
}
