//! The agent loop of pi: a model, its tools, and the conversation between them.
//!
//! # An agent in a few lines
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use pi_agent::{Agent, AgentEvent, FnTool, Outcome, RunSettings};
//! use pi_ai::faux::{Faux, Reply}; // a scripted model; `pi_ai::Client` is a real one
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add { a: f64, b: f64 }
//!
//! let model = Faux::new();
//! model.push(Reply::new().tool_call("add", &serde_json::json!({"a": 2, "b": 3})));
//! model.push(Reply::new().text("It is 5."));
//!
//! let mut settings = RunSettings::new(Arc::new(Faux::model()));
//! settings.tools = vec![Arc::new(FnTool::typed("add", "Adds two numbers.", |sum: Add, _call| async move {
//!     Ok((sum.a + sum.b).to_string())
//! }))];
//! let agent = Agent::with_messages(Arc::new(model), settings, "You can add.", []);
//! agent.subscribe(|event, _context| {
//!     if let AgentEvent::ToolExecutionEnd { tool_name, is_error, .. } = event {
//!         assert_eq!((tool_name.as_str(), *is_error), ("add", false));
//!     }
//! }).forever();
//!
//! assert_eq!(agent.prompt("2 + 3?").await?, Outcome::Completed);
//! assert_eq!(agent.messages().len(), 5); // system, user, call, result, answer
//! # Ok(()) }
//! ```
//!
//! `examples/` has more: a chat, a tool of your own, an approval gate, steering, a structured
//! result. Each runs without a key.
//!
//! # How a run goes
//!
//! A *run* is what one [`Agent::prompt`] sets off. It consists of *turns*: a request to the model,
//! the execution of the tools it calls, their results. It ends when the model calls nothing and
//! nothing is queued, and says how with an [`Outcome`].
//!
//! - **Events** ([`AgentEvent`]) are delivered one after the other; the run waits for every
//!   listener. `prompt` returns when the listeners of the last event are done.
//! - **Tools** ([`AgentTool`], [`FnTool`]) get arguments that were checked against their schema and
//!   coerced where that is harmless ([`arguments`]). Calls of one turn run side by side unless a
//!   tool or the settings say otherwise.
//! - **Steering** ([`Agent::steer`]) reaches the model before its next request, **follow-ups**
//!   ([`Agent::follow_up`]) when the run would end.
//! - **Hooks** ([`Hooks`]) allow or block calls, change results, swap model or tools between
//!   requests, end or prolong a run.
//! - **Abort** ([`Agent::abort`]) reaches the model's stream, running tools and hooks; one that does
//!   not listen is dropped after 40 ms.
//! - **Limits** ([`Limits`]) and **circles** ([`RepetitionLimits`]) end a run with an outcome that
//!   says which. Both are off by default.
//!
//! What fails, fails where it belongs: a tool's error or panic is a result that the model sees, a
//! model's error is a message, and only a broken listener or hook of the loop fails a run. Messages
//! taken from a queue that a run could not deliver go back to it.
//!
//! # What this crate must not know
//!
//! Files, terminals, processes, providers: a model is a [`pi_protocol::Provider`], whatever is
//! behind it. Its cost per turn does not grow with the transcript, which is a
//! [`History`](pi_protocol::History): a snapshot is two pointers.
//!
//! # Where to start reading
//!
//! `run.rs` is the loop, `batch.rs` the tool calls of a turn, `call.rs` a single call, and
//! `agent.rs` the state around the loop.

pub mod arguments;

mod agent;
mod batch;
mod call;
mod error;
mod event;
mod hooks;
mod limits;
mod listener;
mod outcome;
mod queue;
mod repetition;
mod run;
mod settings;
mod tool;
mod transcript;

pub use agent::{Agent, AgentError, Subscription};
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
    AgentTool, BoxFuture, ExecutionMode, FnTool, Invocation, ToolOutput, Updates, schema_of,
};
pub use transcript::Convert;

// The names of `pi-protocol` that appear in public signatures of this crate.
pub use pi_protocol::{
    AgentMessage, AssistantEvent, AssistantMessage, CancelToken, ConstrainedSampling, Declarations,
    Effects, History, ImageContent, Message, Model, Provider, StreamOptions, ThinkingLevel, Tool,
    ToolCall, ToolResultMessage, Usage, UserBlock,
};
