//! A tap on a session: sees what the agent exchanges with models and tools, and may answer in their
//! place.
//!
//! Recordings and replays are taps. A session knows nothing about either.

use std::sync::Arc;
use std::time::Duration;

use pi_agent::{BoxFuture, ToolError, ToolOutput};
pub use pi_config::hooks::FinishedCommand;
use pi_protocol::Provider;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::guard_report::ToolDecision;

/// The most bytes that the command of a hook or guardrail may write to stdout.
pub(crate) const MAX_HOOK_OUTPUT: usize = 1024 * 1024;

/// Sees the requests and tool calls of a session and of everything that works for it.
///
/// Contract: a tap that changes nothing returns the provider or awaits the execution as it is. No
/// secret reaches a tap: arguments, decisions and results are redacted.
pub trait Tap: Send + Sync + std::fmt::Debug {
    /// Returns the provider that takes the place of `provider`.
    fn provider(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider>;

    /// Returns true if tools are executed. If not, no checkpoint is taken, and calls are judged as
    /// if there were one.
    fn executes_tools(&self) -> bool {
        true
    }

    /// Receives the decision about a call before the call runs or is refused.
    fn decided(&self, call: &TappedCall<'_>, decision: &ToolDecision);

    /// Returns the result of a call that was admitted: that of `execute`, or another one in its
    /// place. Nothing happens if `execute` is dropped.
    fn execute<'a>(
        &'a self,
        call: TappedCall<'a>,
        execute: BoxFuture<'a, Result<ToolOutput, ToolError>>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// Returns the result of a command of a hook or guardrail: that of `run`, or another one in its
    /// place. Nothing happens if `run` is dropped.
    fn run_hook<'a>(
        &'a self,
        command: &'a str,
        input: &'a str,
        run: BoxFuture<'a, Result<FinishedCommand, CommandFailure>>,
    ) -> BoxFuture<'a, Result<FinishedCommand, CommandFailure>>;
}

/// A tool call, as a tap sees it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TappedCall<'a> {
    /// Id of the call.
    pub id: &'a str,
    /// Name of the tool.
    pub tool: &'a str,
    /// Arguments as the model gave them.
    pub arguments: &'a Map<String, Value>,
    /// True if the tool is a part of the program and declares no effect outside of it, such as
    /// the tool that submits a result.
    pub is_internal: bool,
}

/// Reasons why a command has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CommandFailure {
    /// The command could not be started.
    #[error("it could not be started: {0}")]
    Start(String),
    /// The command took too long and was ended.
    #[error("it took longer than {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The command wrote too much and was ended.
    #[error("it wrote more than {} KiB to standard output", MAX_HOOK_OUTPUT / 1024)]
    TooMuchOutput,
    /// The run was aborted, and the command with it.
    #[error("it was aborted")]
    Aborted,
    /// The exit code is not known.
    #[error("its exit code is unknown")]
    Lost,
}
