//! Where an application takes part in a run.
//!
//! Every hook is optional. A hook that fails or panics around a tool call makes that call fail;
//! anywhere else it ends the run as failed, with a complete tail of events.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantMessage, CancelToken, History, Message, Model, ThinkingLevel, ToolCall,
    ToolResultMessage, Usage, UserBlock,
};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::tool::{AgentTool, BoxFuture, ToolOutput};

/// A hook that takes `A` and answers `R`.
pub type Hook<A, R> = Arc<dyn Fn(A) -> BoxFuture<'static, Result<R, HookError>> + Send + Sync>;

/// A hook failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Makes a hook from an async function.
pub fn hook<A, R, F, Fut>(function: F) -> Option<Hook<A, R>>
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, HookError>> + Send + 'static,
{
    Some(Arc::new(move |argument| Box::pin(function(argument))))
}

/// All hooks of a run.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Before every request: the messages it is about, for this request only.
    pub transform_context: Option<Hook<ContextView, History<AgentMessage>>>,
    /// Before every request: turns messages into those a model understands. Without it, all others
    /// are left out.
    pub convert_to_llm: Option<Hook<History<AgentMessage>, Vec<Message>>>,
    /// Before every request: a fresh key for this provider.
    pub get_api_key: Option<Hook<String, Option<SecretString>>>,
    /// Before every request: may change model, thinking and transcript for the rest of the run.
    pub prepare_request: Option<Hook<PrepareRequest, RunChange>>,
    /// Before every turn but the first.
    pub prepare_next_turn: Option<Hook<FinishedTurn, NextTurn>>,
    /// When a message is complete, before its `message_end`: another one of the same role in its
    /// place.
    pub finish_message: Option<Hook<AgentMessage, Option<AgentMessage>>>,
    /// After every turn, before its `turn_end`.
    pub finish_turn: Option<Hook<FinishedTurn, TurnDecision>>,
    /// Before a tool runs, with checked arguments.
    pub before_tool_call: Option<Hook<BeforeToolCall, Permission>>,
    /// After a tool ran.
    pub after_tool_call: Option<Hook<AfterToolCall, OutputChange>>,
}

/// The transcript, and the run's token.
#[derive(Debug, Clone)]
pub struct ContextView {
    /// The messages so far.
    pub messages: History<AgentMessage>,
    /// Cancelled when the run is aborted.
    pub cancel: CancelToken,
}

/// A request is about to be made.
#[derive(Debug, Clone)]
pub struct PrepareRequest {
    /// The transcript.
    pub context: ContextView,
    /// The model that will be asked.
    pub model: Arc<Model>,
    /// How much it will think.
    pub thinking_level: ThinkingLevel,
}

/// Changes for the rest of the run.
#[derive(Clone, Default)]
pub struct RunChange {
    /// Another transcript.
    pub messages: Option<History<AgentMessage>>,
    /// Other tools.
    pub tools: Option<Vec<Arc<dyn AgentTool>>>,
    /// Another model.
    pub model: Option<Arc<Model>>,
    /// Another thinking level.
    pub thinking_level: Option<ThinkingLevel>,
}

/// What the next turn begins with.
#[derive(Clone, Default)]
pub struct NextTurn {
    /// Changes for the rest of the run.
    pub change: RunChange,
    /// Messages to add.
    pub messages: Vec<AgentMessage>,
}

/// A turn that is over.
#[derive(Debug, Clone)]
pub struct FinishedTurn {
    /// The model's answer.
    pub message: Arc<AssistantMessage>,
    /// The results of its calls.
    pub tool_results: Vec<Arc<ToolResultMessage>>,
    /// The transcript, and the run's token.
    pub context: ContextView,
}

/// Whether a run goes on after a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TurnDecision {
    /// As usual.
    #[default]
    Proceed,
    /// The run ends now; queued messages stay queued.
    End,
    /// One more request, even if there is no reason for one.
    Continue,
}

/// A tool is about to run.
#[derive(Debug, Clone)]
pub struct BeforeToolCall {
    /// The message with the call.
    pub assistant_message: Arc<AssistantMessage>,
    /// The call as the model made it.
    pub tool_call: ToolCall,
    /// The checked arguments.
    pub args: Map<String, Value>,
    /// The transcript, and the run's token.
    pub context: ContextView,
}

/// Whether a tool may run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Permission {
    /// It may not.
    pub block: bool,
    /// Why not, for the model.
    pub reason: Option<String>,
    /// If blocked: the run may end with this.
    pub terminate: bool,
    /// Run it with these arguments instead. They are not checked again.
    pub args: Option<Map<String, Value>>,
}

impl Permission {
    /// It may run.
    pub fn allow() -> Self {
        Self::default()
    }

    /// It may not; the model is told why.
    pub fn block(reason: impl Into<String>) -> Self {
        Self { block: true, reason: Some(reason.into()), ..Self::default() }
    }
}

/// A tool has run.
#[derive(Debug, Clone)]
pub struct AfterToolCall {
    /// The message with the call.
    pub assistant_message: Arc<AssistantMessage>,
    /// The call as the model made it.
    pub tool_call: ToolCall,
    /// The arguments it ran with.
    pub args: Map<String, Value>,
    /// What came of it.
    pub result: ToolOutput,
    /// It failed.
    pub is_error: bool,
    /// The transcript, and the run's token.
    pub context: ContextView,
}

/// Changes to what came of a call, field by field.
#[derive(Debug, Clone, Default)]
pub struct OutputChange {
    /// For the model.
    pub content: Option<Vec<UserBlock>>,
    /// For the program that shows it.
    pub details: Option<Value>,
    /// For programs. If `content` is replaced and this is not given, it is dropped.
    pub structured_content: Option<Value>,
    /// It failed.
    pub is_error: Option<bool>,
    /// Tokens spent.
    pub usage: Option<Usage>,
    /// The run may end with this.
    pub terminate: Option<bool>,
}

impl OutputChange {
    /// The output with the changes.
    #[must_use]
    pub fn apply(self, mut output: ToolOutput) -> ToolOutput {
        if self.structured_content.is_some() || self.content.is_some() {
            output.structured_content = self.structured_content;
        }
        output.content = self.content.unwrap_or(output.content);
        output.details = self.details.or(output.details);
        output.usage = self.usage.or(output.usage);
        output.is_error = self.is_error.unwrap_or(output.is_error);
        output.terminate = self.terminate.unwrap_or(output.terminate);
        output
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

impl fmt::Debug for RunChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunChange").finish_non_exhaustive()
    }
}

impl fmt::Debug for NextTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NextTurn").finish_non_exhaustive()
    }
}
