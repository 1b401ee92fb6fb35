//! The events of a session, as reports for the client.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pi_agent::BoxFuture;
use pi_coding_agent::session::{MessageDelta, SessionEvent, SessionListener};
use pi_coding_agent::{AgentSession, WeakAgentRuntime};
use pi_protocol::{
    AgentMessage, AssistantBlock, Effects, Message, MessageContent, UserBlock, UserMessage,
};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::client::Client;
use crate::config;
use crate::tool_calls::{self, Before, Output};
use crate::update::{Block, Severity, Status, ToolCall, ToolContent, Update};
use crate::wire::Version;

/// Least time between two reports on the progress of a call.
const PROGRESS: Duration = Duration::from_millis(200);
/// Largest file that is shown as the old side of a difference.
const OLD_SIDE: u64 = 512 << 10;

/// Reports the events of one session.
pub(crate) struct Reporter {
    client: Client,
    session: String,
    runtime: WeakAgentRuntime,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Id of the answer that grows.
    message: String,
    /// Text of the answer was reported while it grew.
    streamed: bool,
    calls: BTreeMap<String, Call>,
    cost: f64,
    /// Told the id of the next message of the user.
    inserted: Option<oneshot::Sender<String>>,
    profile: String,
    profiles: Vec<&'static str>,
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
    /// Makes a reporter. `cost` is what the session has cost so far.
    pub(crate) fn new(
        client: Client,
        session: String,
        runtime: WeakAgentRuntime,
        cost: f64,
    ) -> Self {
        let state = Mutex::new(State { cost, ..State::default() });
        Self { client, session, runtime, state }
    }

    /// Sets the profile in force and those that can be chosen.
    pub(crate) fn set_profile(&self, current: &str, profiles: &[&'static str]) {
        let mut state = self.state();
        (state.profile, state.profiles) = (current.to_owned(), profiles.to_vec());
    }

    /// Tells `inserted` the id of the next message of the user; `None` forgets about it.
    pub(crate) fn expect_message(&self, inserted: Option<oneshot::Sender<String>>) {
        self.state().inserted = inserted;
    }

    /// Reports a message of the user.
    pub(crate) async fn insert_message(&self, id: String, content: Vec<Block>) {
        let inserted = self.state().inserted.take();
        // A client of version 1 shows its prompts itself.
        if self.client.version == Version::V2 {
            self.report(Update::UserMessage { id: id.clone(), content }).await;
        }
        if let Some(inserted) = inserted {
            // The request may have ended meanwhile.
            let _ = inserted.send(id);
        }
    }

    /// Shows a terminal of the client in the call that runs this script.
    pub(crate) async fn show_terminal(&self, script: &str, terminal: &str) {
        let id = {
            let mut state = self.state();
            let running = state.calls.iter_mut().find(|(_, call)| {
                call.terminal.is_none()
                    && call.script.as_deref().is_some_and(|run| script.ends_with(run))
            });
            let Some((id, call)) = running else { return };
            call.terminal = Some(terminal.to_owned());
            id.clone()
        };
        let content = Some(vec![ToolContent::Terminal(terminal.to_owned())]);
        let call = ToolCall { id, content, ..ToolCall::default() };
        self.report(Update::ToolCallChange(call)).await;
    }

    async fn report(&self, update: Update) {
        self.client.report(&self.session, update).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Option<AgentSession> {
        Some(self.runtime.upgrade()?.session())
    }

    async fn handle(&self, event: &SessionEvent) {
        match event {
            SessionEvent::MessageStart { message } => self.message_start(message).await,
            SessionEvent::MessageUpdate { assistant_message_event, .. } => {
                self.delta(assistant_message_event).await;
            }
            SessionEvent::MessageEnd { message } => self.message_end(message).await,
            SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                self.call_start(tool_call_id, tool_name, args).await;
            }
            SessionEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                self.call_progress(tool_call_id, &partial_result.content).await;
            }
            SessionEvent::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
                let output = Output {
                    content: &result.content,
                    details: result.details.as_ref(),
                    is_error: *is_error,
                };
                self.call_end(tool_call_id, &output).await;
            }
            SessionEvent::TurnEnd { message, tool_results, .. } => {
                let results = tool_results.iter().filter_map(|result| result.usage.as_ref());
                let spent: f64 = results.map(|usage| usage.cost.total).sum();
                self.state().cost += spent + message.usage.cost.total;
                self.usage().await;
            }
            SessionEvent::AgentSettled { .. } => self.settled().await,
            // Prompts of MCP servers are commands.
            SessionEvent::McpServersChange { .. } => {
                if let Some(session) = self.current() {
                    self.report(Update::Commands(config::commands(&session))).await;
                }
            }
            SessionEvent::SessionInfoChanged { name } => {
                self.report(Update::Info { title: name.clone(), updated_at: None }).await;
            }
            SessionEvent::ModelSelect { .. } | SessionEvent::ThinkingLevelChanged { .. } => {
                self.options().await;
            }
            event => {
                if let Some((severity, text)) = notice(event) {
                    self.report(Update::Notice { severity, text }).await;
                }
            }
        }
    }

    /// Reports the options of the session.
    pub(crate) async fn options(&self) {
        let Some(session) = self.current() else { return };
        let options = {
            let state = self.state();
            config::options(&session, &state.profile, &state.profiles)
        };
        self.report(Update::Options(options)).await;
    }

    async fn usage(&self) {
        let Some(session) = self.current() else { return };
        let cost = self.state().cost;
        if let Ok(Some(usage)) = session.context_usage() {
            let (used, size) = (usage.tokens.unwrap_or(0), usage.context_window);
            self.report(Update::Usage { used, size, cost }).await;
        }
    }

    async fn message_start(&self, message: &AgentMessage) {
        match message {
            AgentMessage::Llm(Message::Assistant(answer)) => {
                let mut state = self.state();
                state.message = message_id("answer", answer.timestamp);
                state.streamed = false;
            }
            AgentMessage::Llm(Message::User(prompt)) => {
                let id = message_id("prompt", prompt.timestamp);
                self.insert_message(id, user_content(prompt)).await;
            }
            _ => {}
        }
    }

    async fn delta(&self, delta: &MessageDelta) {
        match delta {
            MessageDelta::TextDelta { delta, .. } => {
                let id = {
                    let mut state = self.state();
                    state.streamed = true;
                    state.message.clone()
                };
                self.report(Update::Text { id, text: delta.clone() }).await;
            }
            MessageDelta::ThinkingDelta { delta, .. } => {
                let id = thought_id(&self.state().message);
                self.report(Update::Thought { id, text: delta.clone() }).await;
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
                self.report(Update::ToolCall(call)).await;
            }
            _ => {}
        }
    }

    async fn message_end(&self, message: &AgentMessage) {
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
                self.report(Update::Text { id: id.clone(), text: text.text.clone() }).await;
            }
        }
    }

    fn effects(&self, name: &str, arguments: &Map<String, Value>) -> Effects {
        match self.current() {
            Some(session) => session.effects_of(name, arguments),
            None => Effects::unknown(),
        }
    }

    async fn call_start(&self, id: &str, name: &str, arguments: &Map<String, Value>) {
        let Some(session) = self.current() else { return };
        let effects = session.effects_of(name, arguments);
        let workspace = session.workspace();
        let resolve = |path: &str| workspace.resolve(path);
        let before = match tool_calls::replaced_file(arguments, &effects) {
            Some(path) => read_before(&session, path).await,
            None => Before::Unknown,
        };
        let differences = tool_calls::differences(arguments, &effects, &resolve, before);
        let mut call = tool_calls::describe(id, name, arguments, &effects, &resolve);
        call.status = Some(Status::Running);
        if !differences.is_empty() {
            call.content = Some(differences.clone());
        }
        let is_known = {
            let mut state = self.state();
            let script = effects.runs.first().cloned();
            let entry = Call { differences, script, ..Call::default() };
            state.calls.insert(id.to_owned(), entry).is_some()
        };
        let update = if is_known { Update::ToolCallChange } else { Update::ToolCall };
        self.report(update(call)).await;
    }

    async fn call_progress(&self, id: &str, content: &[UserBlock]) {
        {
            let mut state = self.state();
            let Some(call) = state.calls.get_mut(id) else { return };
            let is_due = call.reported.is_none_or(|last| last.elapsed() >= PROGRESS);
            if !is_due || call.terminal.is_some() || !call.differences.is_empty() {
                return;
            }
            call.reported = Some(Instant::now());
        }
        let content = Some(tool_calls::shown(content));
        let call = ToolCall { id: id.to_owned(), content, ..ToolCall::default() };
        self.report(Update::ToolCallChange(call)).await;
    }

    async fn call_end(&self, id: &str, output: &Output<'_>) {
        let call = self.state().calls.remove(id).unwrap_or_default();
        let mut change = tool_calls::finished(id, output, &call.differences);
        if let Some(terminal) = call.terminal {
            change.content = Some(vec![ToolContent::Terminal(terminal)]);
        }
        self.report(Update::ToolCallChange(change)).await;
        if let Some(plan) = tool_calls::plan(output.details) {
            self.report(Update::Plan(plan)).await;
        }
    }

    /// Ends the calls that were never executed, and reports what the run has used.
    async fn settled(&self) {
        let open = std::mem::take(&mut self.state().calls);
        for id in open.into_keys() {
            let status = Some(Status::Cancelled);
            let call = ToolCall { id, status, ..ToolCall::default() };
            self.report(Update::ToolCallChange(call)).await;
        }
        let updated_at = Some(jiff::Timestamp::now().to_string());
        let title = self.current().and_then(|session| session.name());
        self.report(Update::Info { title, updated_at }).await;
    }
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

/// Returns the content of a message of the user.
pub(crate) fn user_content(message: &UserMessage) -> Vec<Block> {
    let block = |block: &UserBlock| match block {
        UserBlock::Text(text) => Some(Block::Text(text.text.clone())),
        UserBlock::Image(image) => {
            let (data, mime_type) = (image.data.clone(), image.mime_type.clone());
            Some(Block::Image { data, mime_type })
        }
        UserBlock::Unknown(_) => None,
    };
    match &message.content {
        MessageContent::Text(text) => vec![Block::Text(text.clone())],
        MessageContent::Blocks(blocks) => blocks.iter().filter_map(block).collect(),
    }
}

async fn read_before(session: &AgentSession, path: &str) -> Before {
    let workspace = session.workspace();
    match workspace.executor().read(&workspace.resolve(path), OLD_SIDE + 1).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Before::Missing,
        Ok(content) if content.len() as u64 <= OLD_SIDE => {
            String::from_utf8(content).map_or(Before::Unknown, Before::Text)
        }
        _ => Before::Unknown,
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
