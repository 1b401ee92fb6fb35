//! The agent loop of pi: requests to a model, tool calls, and events about both.
//!
#![doc = include_str!("../README.md")]
//!
//! # Runs
//!
//! A *run* is the work that one [`Agent::prompt`] starts. It consists of *turns*: a request to the
//! model, and the execution of the tool calls in its answer. A run ends when the model calls no
//! tools and no message is queued; its [`Outcome`] is the reason.
//!
//! - **Events** ([`AgentEvent`]) are delivered one after the other, and the run waits for every
//!   listener. `prompt` returns after all listeners have handled the last event.
//! - **Tools** ([`AgentTool`], [`FnTool`]) receive arguments that were validated against their
//!   schema and coerced where that is harmless ([`pi_schema::arguments`]). The calls of one turn are executed
//!   in parallel unless a tool or the settings require otherwise; calls that touch the same file
//!   are executed in the order of the message.
//! - **Steering** messages ([`Agent::steer`]) are delivered before the next request, **follow-ups**
//!   ([`Agent::follow_up`]) when the run would otherwise end.
//! - **Hooks** ([`Hooks`]) allow or block calls, change results, replace model or tools between
//!   requests, and end or prolong a run.
//! - **Abort** ([`Agent::abort`]) cancels the model's stream, the tools and the hooks. A tool that
//!   ignores cancellation is dropped after 40 ms.
//! - **Limits** ([`Limits`]) and **repetition checks** ([`RepetitionLimits`]) end a run early. Both
//!   are part of [`RunSettings`] and off by default.
//!
//! Failures are contained: the error or panic of a tool becomes a result that the model reads, the
//! error of a model becomes a message, and only a failing listener or hook fails the run. Queued
//! messages that a run took and could not deliver return to their queue.
//!
//! # What this crate must not know
//!
//! Files, terminals, processes, and which provider answers: a model is any [`Provider`]. The cost
//! of a turn does not grow with the transcript, which is a [`History`]: a snapshot copies two
//! pointers.
//!
//! # Where to start reading
//!
//! `run.rs` is the loop, `run/batch.rs` the tool calls of a turn, `call.rs` a single call, and
//! `agent.rs` the state around the loop.

mod agent;
mod ask;
mod budget;
mod call;
mod error;
mod event;
mod hooks;
mod limits;
mod listener;
mod order;
mod outcome;
mod queue;
mod repetition;
mod run;
mod settings;
mod tool;
mod transcript;
mod unanswered;

pub use agent::{Agent, AgentError, Subscription};
pub use ask::{ModelQuestion, Unanswered, ask_for, read_object};
pub use budget::{Budget, MeteredProvider, Spent};
pub use call::{CallContext, FinishedCall, run_tool_call};
pub use error::{HookError, RunError, ToolError};
pub use event::AgentEvent;
pub use hooks::{
    AfterToolCall, BeforeToolCall, ContextView, FinishedTurn, Hook, Hooks, NextTurn, OutputChange,
    Permission, PrepareRequest, RunChange, TurnDecision, hook,
};
pub use limits::{Limit, Limits};
pub use listener::{EventContext, Listener, ListenerResult};
pub use outcome::Outcome;
pub use queue::{QueueMode, QueuedId};
pub use repetition::{Repetition, RepetitionLimits};
pub use settings::{RunSettings, SteeringDelivery};
pub use tool::{
    AgentTool, BoxFuture, ExecutionMode, FnTool, Invocation, RequiredApproval, ToolOutput, Updates,
    schema_of,
};
pub use transcript::Convert;
pub use unanswered::{UnansweredCalls, unanswered_calls};

// The names of `pi-protocol` that appear in public signatures of this crate.
pub use pi_protocol::{
    AgentMessage, AssistantEvent, AssistantMessage, CancelToken, ConstrainedSampling, Declarations,
    Effects, History, ImageContent, Message, Model, Provider, StreamOptions, ThinkingLevel, Tool,
    ToolCall, ToolResultMessage, Usage, UserBlock,
};
