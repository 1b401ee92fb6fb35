//! The agent loop of pi: a model, its tools, and the conversation between them.

pub mod arguments;

mod agent;
mod batch;
mod call;
mod conversation;
mod event;
mod hooks;
mod limits;
mod listener;
mod message;
mod outcome;
mod queue;
mod repetition;
mod run;
mod stream;
mod tool;

pub use agent::{Agent, AgentError, Subscription};
pub use call::{CallContext, FinishedCall, run_tool_call};
pub use event::AgentEvent;
pub use hooks::{
    AfterToolCall, BeforeToolCall, ContextView, FinishedTurn, Hook, HookError, Hooks, NextTurn,
    OutputChange, Permission, PrepareRequest, RunChange, TurnDecision, hook,
};
pub use limits::{Limit, Limits};
pub use listener::{Heard, Listener, Scene};
pub use message::{AgentMessage, CustomMessage};
pub use outcome::Outcome;
pub use queue::QueueMode;
pub use repetition::{Repetition, RepetitionLimits};
pub use run::{QueueFn, RunError, RunSettings, SteeringDelivery};
pub use stream::{AgentStream, agent_loop, agent_loop_continue};
pub use tool::{
    AgentTool, BoxFuture, ExecutionMode, FnTool, Invocation, ToolError, ToolOutput, Updates,
    schema_of,
};
