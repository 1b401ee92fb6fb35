//! All extensions of a session as one: asked in order, their answers put together.
//!
//! A failure or panic of one is reported to whoever listens and does not concern the others; only
//! a tool call and a command of the user are stopped by it.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use pi_agent::{AgentTool, OutputChange, Permission, ToolOutput};
use pi_protocol::{AgentMessage, History, ImageContent};
use serde_json::{Map, Value};

use super::{
    BeforeAgentStart, BeforeCompact, BeforeFork, BeforeSwitch, BeforeTree, BoundaryAnswer,
    BoundaryEvent, CompactAnswer, Extension, ExtensionCommand, ExtensionContext, ExtensionError,
    Input, InputAnswer, Interests, Notice, StartAnswer, ToolCallEvent, ToolResultEvent, TreeAnswer,
    UserBash,
};
use crate::session::{BashResult, StreamingBehavior};

/// An extension failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionFailure {
    /// Which.
    pub extension: String,
    /// At what.
    pub event: String,
    /// How.
    pub error: String,
}

type OnFailure = Arc<dyn Fn(&ExtensionFailure) + Send + Sync>;

/// The extensions of a session.
#[derive(Default)]
pub struct Extensions {
    all: Vec<Arc<dyn Extension>>,
    interests: Interests,
    on_failure: Mutex<Option<OnFailure>>,
}

impl Extensions {
    /// These extensions, asked in this order.
    pub fn new(all: Vec<Arc<dyn Extension>>) -> Self {
        let mut interests = Interests::default();
        for extension in &all {
            let one = extension.interests();
            interests.progress |= one.progress;
            interests.context |= one.context;
            interests.messages |= one.messages;
            interests.requests |= one.requests;
        }
        Self { all, interests, on_failure: Mutex::default() }
    }

    /// What any of them wants to be asked often.
    pub fn interests(&self) -> Interests {
        self.interests
    }

    /// Failures go to `report`.
    pub fn on_failure(&self, report: impl Fn(&ExtensionFailure) + Send + Sync + 'static) {
        let mut slot = self.on_failure.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Arc::new(report));
    }

    /// Their tools. Of several with one name the first counts.
    pub fn tools(&self) -> Vec<Arc<dyn AgentTool>> {
        let mut tools: Vec<Arc<dyn AgentTool>> = Vec::new();
        for tool in self.all.iter().flat_map(|extension| extension.tools()) {
            if !tools.iter().any(|known| known.declaration().name == tool.declaration().name) {
                tools.push(tool);
            }
        }
        tools
    }

    /// Their commands, under names that are told apart: the second `x` is `x:1`.
    pub fn commands(&self) -> Vec<(ExtensionCommand, String)> {
        self.named_commands().into_iter().map(|(command, path, _)| (command, path)).collect()
    }

    fn named_commands(&self) -> Vec<(ExtensionCommand, String, (Arc<dyn Extension>, String))> {
        let mut named: Vec<(ExtensionCommand, String, (Arc<dyn Extension>, String))> = Vec::new();
        for extension in &self.all {
            for command in extension.commands() {
                let own_name = command.name.clone();
                let same = named.iter().filter(|(_, _, (_, name))| *name == own_name).count();
                let name = if same == 0 { own_name.clone() } else { format!("{own_name}:{same}") };
                let command = ExtensionCommand { name, ..command };
                let owner = (Arc::clone(extension), own_name);
                named.push((command, extension.path().to_owned(), owner));
            }
        }
        named
    }

    /// Whether there is such a command.
    pub fn has_command(&self, name: &str) -> bool {
        self.named_commands().iter().any(|(command, ..)| command.name == name)
    }

    /// Runs a command, if there is one of this name.
    pub async fn run_command(
        &self,
        name: &str,
        arguments: &str,
        context: &ExtensionContext,
    ) -> bool {
        let commands = self.named_commands();
        let Some((_, _, (extension, own_name))) =
            commands.into_iter().find(|(command, ..)| command.name == name)
        else {
            return false;
        };
        let running = extension.run_command(&own_name, arguments, context);
        if let Err(error) = contain(running).await {
            self.report(&*extension, "command", error);
        }
        true
    }

    /// Tells all.
    pub async fn notice(&self, notice: &Notice<'_>, context: &ExtensionContext) {
        if notice.is_progress() && !self.interests.progress {
            return;
        }
        for extension in &self.all {
            if let Err(error) = contain(extension.notice(notice, context)).await {
                self.report(&**extension, notice.name(), error);
            }
        }
    }

    /// Whether the session may be left; the first who objects decides.
    pub async fn may_switch(&self, event: &BeforeSwitch, context: &ExtensionContext) -> bool {
        for extension in &self.all {
            match contain(extension.before_switch(event, context)).await {
                Ok(answer) if answer.cancel => return false,
                Ok(_) => {}
                Err(error) => self.report(&**extension, "session_before_switch", error),
            }
        }
        true
    }

    /// Whether the session may be forked; the first who objects decides.
    pub async fn may_fork(&self, event: &BeforeFork, context: &ExtensionContext) -> bool {
        for extension in &self.all {
            match contain(extension.before_fork(event, context)).await {
                Ok(answer) if answer.cancel => return false,
                Ok(_) => {}
                Err(error) => self.report(&**extension, "session_before_fork", error),
            }
        }
        true
    }

    /// What becomes of a compaction: the last word, or the first who cancels.
    pub async fn before_compact(
        &self,
        event: &BeforeCompact<'_>,
        context: &ExtensionContext,
    ) -> CompactAnswer {
        let mut last = CompactAnswer::Proceed;
        for extension in &self.all {
            match contain(extension.before_compact(event, context)).await {
                Ok(CompactAnswer::Proceed) => {}
                Ok(CompactAnswer::Cancel) => return CompactAnswer::Cancel,
                Ok(answer) => last = answer,
                Err(error) => self.report(&**extension, "session_before_compact", error),
            }
        }
        last
    }

    /// What becomes of a move: the last word, or the first who cancels.
    pub async fn before_tree(
        &self,
        event: &BeforeTree<'_>,
        context: &ExtensionContext,
    ) -> TreeAnswer {
        let mut last = TreeAnswer::default();
        for extension in &self.all {
            match contain(extension.before_tree(event, context)).await {
                Ok(answer) if answer.cancel => return answer,
                Ok(answer) if answer != TreeAnswer::default() => last = answer,
                Ok(_) => {}
                Err(error) => self.report(&**extension, "session_before_tree", error),
            }
        }
        last
    }

    /// The messages of a request, after all had a say.
    pub async fn context(
        &self,
        messages: History<AgentMessage>,
        context: &ExtensionContext,
    ) -> History<AgentMessage> {
        let is_system = |message: &AgentMessage| message.role() == "system";
        let mut changed = false;
        let mut others: Vec<AgentMessage> =
            messages.iter().filter(|message| !is_system(message)).cloned().collect();
        for extension in &self.all {
            match contain(extension.context(&others, context)).await {
                Ok(Some(replaced)) => (others, changed) = (replaced, true),
                Ok(None) => {}
                Err(error) => self.report(&**extension, "context", error),
            }
        }
        let mut messages = if changed { with_system(&messages, others) } else { messages };
        for extension in &self.all {
            match contain(extension.context_with_system(&messages, context)).await {
                Ok(Some(replaced)) => messages = replaced.into_iter().collect(),
                Ok(None) => {}
                Err(error) => self.report(&**extension, "context_with_system", error),
            }
        }
        messages
    }

    /// The body of a request, after all had a say; `None` if nobody changed it.
    pub fn before_provider_request(&self, payload: &Value) -> Option<Value> {
        let mut current: Option<Value> = None;
        for extension in &self.all {
            match extension.before_provider_request(current.as_ref().unwrap_or(payload)) {
                Ok(Some(replaced)) => current = Some(replaced),
                Ok(None) => {}
                Err(error) => self.report(&**extension, "before_provider_request", error),
            }
        }
        current
    }

    /// What all add to the beginning of a run.
    pub async fn before_agent_start(
        &self,
        event: &BeforeAgentStart<'_>,
        context: &ExtensionContext,
    ) -> Vec<StartAnswer> {
        let mut answers = Vec::new();
        for extension in &self.all {
            match contain(extension.before_agent_start(event, context)).await {
                Ok(answer) => answers.push(answer),
                Err(error) => self.report(&**extension, "before_agent_start", error),
            }
        }
        answers
    }

    /// What all add at the end of a turn, or of everything.
    pub async fn boundary(
        &self,
        event: &BoundaryEvent<'_>,
        settles: bool,
        context: &ExtensionContext,
    ) -> BoundaryAnswer {
        let mut sum = BoundaryAnswer { goes_on: event.goes_on, ..BoundaryAnswer::default() };
        for extension in &self.all {
            let event = BoundaryEvent { goes_on: sum.goes_on, ..*event };
            let (asked, name) = if settles {
                (extension.agent_before_settle(&event, context), "agent_before_settle")
            } else {
                (extension.turn_end(&event, context), "turn_end")
            };
            match contain(asked).await {
                Ok(answer) => {
                    sum.entries.extend(answer.entries);
                    sum.goes_on |= answer.goes_on;
                }
                Err(error) => self.report(&**extension, name, error),
            }
        }
        sum
    }

    /// A message as all want it; `None` if nobody changed it.
    pub async fn message_end(
        &self,
        message: &AgentMessage,
        context: &ExtensionContext,
    ) -> Option<AgentMessage> {
        let mut current: Option<AgentMessage> = None;
        for extension in &self.all {
            let shown = current.as_ref().unwrap_or(message);
            match contain(extension.message_end(shown, context)).await {
                Ok(Some(replaced)) if replaced.role() == message.role() => current = Some(replaced),
                Ok(Some(_)) => {
                    let error = "a message can only be replaced by one of the same role".to_owned();
                    self.report(&**extension, "message_end", ExtensionError(error));
                }
                Ok(None) => {}
                Err(error) => self.report(&**extension, "message_end", error),
            }
        }
        current
    }

    /// Whether a call may run: the first who blocks it decides, and a failure blocks it too.
    pub async fn tool_call(
        &self,
        tool_name: &str,
        tool_call_id: &str,
        arguments: &Map<String, Value>,
        context: &ExtensionContext,
    ) -> Permission {
        let mut replaced = None;
        for extension in &self.all {
            let input = replaced.as_ref().unwrap_or(arguments);
            let event = ToolCallEvent { tool_name, tool_call_id, input };
            match contain(extension.tool_call(&event, context)).await {
                Ok(Permission::Allow { arguments }) => replaced = arguments.or(replaced),
                Ok(blocked) => return blocked,
                Err(error) => return Permission::block(error.0),
            }
        }
        Permission::Allow { arguments: replaced }
    }

    /// A result as all want it, field by field.
    pub async fn tool_result(
        &self,
        tool_name: &str,
        tool_call_id: &str,
        input: &Map<String, Value>,
        output: ToolOutput,
        is_error: bool,
        context: &ExtensionContext,
    ) -> Option<OutputChange> {
        let (mut result, mut failed, mut sum) = (output, is_error, None::<OutputChange>);
        for extension in &self.all {
            let event = ToolResultEvent {
                tool_name,
                tool_call_id,
                input,
                result: &result,
                is_error: failed,
            };
            match contain(extension.tool_result(&event, context)).await {
                Ok(change) => {
                    failed = change.is_error.unwrap_or(failed);
                    result = change.clone().apply(result);
                    sum = Some(sum.unwrap_or_default().then(change));
                }
                Err(error) => self.report(&**extension, "tool_result", error),
            }
        }
        sum
    }

    /// The result of a command that an extension ran; the first who did decides. A failure stops
    /// the command.
    pub async fn user_bash(
        &self,
        event: &UserBash<'_>,
        context: &ExtensionContext,
    ) -> Result<Option<BashResult>, ExtensionError> {
        for extension in &self.all {
            match contain(extension.user_bash(event, context)).await {
                Ok(None) => {}
                Ok(result) => return Ok(result),
                Err(error) => {
                    self.report(&**extension, "user_bash", error.clone());
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// What the user said, after all had a say; `None` if one of them took care of it.
    pub async fn input(
        &self,
        text: String,
        images: Vec<ImageContent>,
        source: &str,
        streaming_behavior: Option<StreamingBehavior>,
        context: &ExtensionContext,
    ) -> Option<(String, Vec<ImageContent>)> {
        let (mut text, mut images) = (text, images);
        for extension in &self.all {
            let event = Input { text: &text, images: &images, source, streaming_behavior };
            match contain(extension.input(&event, context)).await {
                Ok(InputAnswer::Continue) => {}
                Ok(InputAnswer::Transform { text: other, images: others }) => {
                    text = other;
                    images = others.unwrap_or(images);
                }
                Ok(InputAnswer::Handled) => return None,
                Err(error) => self.report(&**extension, "input", error),
            }
        }
        Some((text, images))
    }

    fn report(&self, extension: &dyn Extension, event: &str, error: ExtensionError) {
        let report = self.on_failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(report) = report {
            let extension = extension.path().to_owned();
            report(&ExtensionFailure { extension, event: event.to_owned(), error: error.0 });
        }
    }
}

impl std::fmt::Debug for Extensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all.iter().map(|extension| extension.path())).finish()
    }
}

/// A panic is a failure like any other.
async fn contain<T>(
    answer: impl Future<Output = Result<T, ExtensionError>>,
) -> Result<T, ExtensionError> {
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(ExtensionError(format!("panicked: {}", text.unwrap_or_default())))
    })
}

/// Puts system messages back where they were, counted in other messages.
fn with_system(
    messages: &History<AgentMessage>,
    others: Vec<AgentMessage>,
) -> History<AgentMessage> {
    let mut merged = History::new();
    let mut others = others.into_iter();
    for message in messages.iter() {
        if message.role() == "system" {
            merged.push(message.clone());
        } else if let Some(other) = others.next() {
            merged.push(other);
        }
    }
    merged.extend(others);
    merged
}
