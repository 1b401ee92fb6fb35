//! Hooks: where an application takes part in a run.
//!
//! Every hook is optional. A hook that fails or panics around a tool call makes that call fail;
//! any other ends the run as failed, with a complete sequence of closing events.

use std::future::Future;
use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantMessage, CancelToken, Effects, History, Message, Model, ThinkingLevel,
    ToolCall, ToolResultMessage, Usage, UserBlock,
};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::error::HookError;
use crate::tool::{AgentTool, BoxFuture, RequiredApproval, ToolOutput};

/// A hook with an argument of type `A` and a result of type `R`.
pub type Hook<A, R> = Arc<dyn Fn(A) -> BoxFuture<'static, Result<R, HookError>> + Send + Sync>;

/// Makes a hook from an async function.
pub fn hook<A, R, F, Fut>(function: F) -> Option<Hook<A, R>>
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, HookError>> + Send + 'static,
{
    Some(Arc::new(move |argument| Box::pin(function(argument))))
}

/// The hooks of a run.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Hooks {
    /// Called before every request: returns the messages to send, for this request only.
    pub transform_context: Option<Hook<ContextView, History<AgentMessage>>>,
    /// Called before every request: converts all messages to the form that models read. Replaces
    /// [`RunSettings::convert`](crate::RunSettings::convert).
    pub convert_to_llm: Option<Hook<History<AgentMessage>, Vec<Message>>>,
    /// Called before every request with the name of the provider: returns a fresh API key, or
    /// `None` for the one in the settings.
    pub get_api_key: Option<Hook<String, Option<SecretString>>>,
    /// Called before every request: can change the settings for the rest of the run.
    pub prepare_request: Option<Hook<PrepareRequest, RunChange>>,
    /// Called before every turn but the first.
    pub prepare_next_turn: Option<Hook<FinishedTurn, NextTurn>>,
    /// Called when a message is complete, before `message_end`: can replace it by another one of
    /// the same role.
    pub finish_message: Option<Hook<AgentMessage, Option<AgentMessage>>>,
    /// Called after every turn, before `turn_end`.
    pub finish_turn: Option<Hook<FinishedTurn, TurnDecision>>,
    /// Called before a tool is executed, with validated arguments.
    pub before_tool_call: Option<Hook<BeforeToolCall, Permission>>,
    /// Called after a tool was executed.
    pub after_tool_call: Option<Hook<AfterToolCall, OutputChange>>,
}

/// The transcript and the cancellation of a run, as hooks see them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ContextView {
    /// The messages so far.
    pub messages: History<AgentMessage>,
    /// Cancelled when the run is aborted.
    pub cancel: CancelToken,
}

impl ContextView {
    /// Creates a view of a transcript.
    pub fn new(messages: History<AgentMessage>, cancel: CancelToken) -> Self {
        Self { messages, cancel }
    }
}

/// The argument of [`Hooks::prepare_request`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PrepareRequest {
    /// The transcript before the request.
    pub context: ContextView,
    /// The model that will receive the request.
    pub model: Arc<Model>,
    /// The thinking level of the request.
    pub thinking_level: ThinkingLevel,
}

/// Changes for the rest of a run. `None` leaves a setting as it is.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct RunChange {
    /// Replaces the transcript.
    pub messages: Option<History<AgentMessage>>,
    /// Replaces the tools.
    pub tools: Option<Vec<Arc<dyn AgentTool>>>,
    /// Replaces the model.
    pub model: Option<Arc<Model>>,
    /// Replaces the thinking level.
    pub thinking_level: Option<ThinkingLevel>,
}

/// The result of [`Hooks::prepare_next_turn`].
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct NextTurn {
    /// Changes for the rest of the run.
    pub change: RunChange,
    /// Messages to add before the request.
    pub messages: Vec<AgentMessage>,
}

/// The argument of [`Hooks::finish_turn`] and [`Hooks::prepare_next_turn`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FinishedTurn {
    /// The assistant's message of the turn.
    pub message: Arc<AssistantMessage>,
    /// The results of the tool calls in the answer.
    pub tool_results: Vec<Arc<ToolResultMessage>>,
    /// The transcript after the turn.
    pub context: ContextView,
}

/// The result of [`Hooks::finish_turn`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnDecision {
    /// Continue if the model called tools or messages are queued, end otherwise.
    #[default]
    Proceed,
    /// End the run now. Queued messages stay queued.
    End,
    /// Send one more request, even without tool results or queued messages.
    Continue,
}

/// The argument of [`Hooks::before_tool_call`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeToolCall {
    /// The message with the tool call.
    pub assistant_message: Arc<AssistantMessage>,
    /// The tool call as the model made it.
    pub tool_call: ToolCall,
    /// The validated arguments.
    pub args: Map<String, Value>,
    /// The effects that the tool declares for these arguments.
    pub effects: Effects,
    /// The transcript before the tool is executed.
    pub context: ContextView,
}

/// The result of [`Hooks::before_tool_call`].
#[derive(Debug, Clone, PartialEq)]
pub enum Permission {
    /// Execute the tool.
    Allow {
        /// Replaces the arguments. They are not validated again.
        arguments: Option<Map<String, Value>>,
    },
    /// Execute the tool if these approvals are given. The tool requests them; one that does not is
    /// not executed.
    Ask {
        /// Replaces the arguments. They are not validated again.
        arguments: Option<Map<String, Value>>,
        /// The approvals, at least one.
        approvals: Vec<RequiredApproval>,
    },
    /// Do not execute the tool. The call fails.
    Block {
        /// The reason that the model reads. Without one it reads a general text.
        reason: Option<String>,
        /// Ends the run if every call of the turn asks for it.
        terminate: bool,
    },
}

impl Permission {
    /// Allows the call.
    pub fn allow() -> Self {
        Self::Allow { arguments: None }
    }

    /// Allows the call with other arguments, which are not validated again.
    pub fn allow_with(arguments: Map<String, Value>) -> Self {
        Self::Allow { arguments: Some(arguments) }
    }

    /// Blocks the call. The model reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: Some(reason.into()), terminate: false }
    }
}

impl Default for Permission {
    fn default() -> Self {
        Self::allow()
    }
}

/// The argument of [`Hooks::after_tool_call`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AfterToolCall {
    /// The message with the tool call.
    pub assistant_message: Arc<AssistantMessage>,
    /// The tool call as the model made it.
    pub tool_call: ToolCall,
    /// The arguments that the tool was executed with.
    pub args: Map<String, Value>,
    /// The output of the tool.
    pub result: ToolOutput,
    /// True if the call failed.
    pub is_error: bool,
    /// The transcript before the result.
    pub context: ContextView,
}

/// The result of [`Hooks::after_tool_call`]: changes to the output, field by field. `None` leaves
/// a field as it is.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OutputChange {
    /// Replaces the content for the model.
    pub content: Option<Vec<UserBlock>>,
    /// Replaces the details for the user interface.
    pub details: Option<Value>,
    /// Replaces the structured content. If only `content` is replaced, it is removed.
    pub structured_content: Option<Value>,
    /// Marks the call as failed or successful.
    pub is_error: Option<bool>,
    /// Replaces the token usage.
    pub usage: Option<Usage>,
    /// Replaces [`ToolOutput::terminate`].
    pub terminate: Option<bool>,
}

impl OutputChange {
    /// Combines two changes into one that is equivalent to applying `self` and then `next`.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        let kept = if next.content.is_some() { None } else { self.structured_content };
        Self {
            structured_content: next.structured_content.or(kept),
            content: next.content.or(self.content),
            details: next.details.or(self.details),
            is_error: next.is_error.or(self.is_error),
            usage: next.usage.or(self.usage),
            terminate: next.terminate.or(self.terminate),
        }
    }

    /// Applies the changes to an output.
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

pi_protocol::debug_fields!(Hooks);

pi_protocol::debug_fields!(RunChange);

pi_protocol::debug_fields!(NextTurn);
