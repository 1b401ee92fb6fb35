//! A single tool call: lookup, validation, permission, execution, result.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pi_base::lock;
use pi_protocol::{AssistantMessage, CancelToken, Effects, ToolCall};
use pi_schema::arguments;
use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::error::HookError;
use crate::hooks::{AfterToolCall, BeforeToolCall, ContextView, Hook, Hooks, Permission};
use crate::limits::{Limit, Limits};
use crate::tool::{AgentTool, Invocation, RequiredApproval, ToolOutput, Updates};

const ABORTED: &str = "Operation aborted";
/// A call inside of another one has no place in the transcript at which it could be resumed.
const NESTED: &str = "Not executed: this call needs an approval, and a tool that calls tools \
    cannot wait for it. Call the tool directly.";
const BLOCKED: &str = "Tool execution was blocked";

/// Time that a cancelled tool gets before it is dropped. It suffices to stop what the tool started
/// and to report how far it came, and an abort still feels immediate.
const TOOL_GRACE: Duration = Duration::from_millis(40);

/// Time that a cancelled hook gets before it is dropped. A hook has nothing to stop.
const HOOK_GRACE: Duration = Duration::from_millis(20);

/// The surroundings of the tool calls in one message.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallContext {
    /// The available tools.
    pub tools: Vec<Arc<dyn AgentTool>>,
    /// The message with the tool calls.
    pub assistant_message: Arc<AssistantMessage>,
    /// The transcript, and the token that cancels the calls.
    pub context: ContextView,
    /// The hooks, of which `before_tool_call` and `after_tool_call` apply.
    pub hooks: Hooks,
    /// The budget that the calls are charged to.
    pub budget: Budget,
}

impl CallContext {
    /// Creates a context, with a budget without limits.
    pub fn new(
        tools: Vec<Arc<dyn AgentTool>>,
        assistant_message: Arc<AssistantMessage>,
        context: ContextView,
        hooks: Hooks,
    ) -> Self {
        let budget = Budget::new(Limits::default());
        Self { tools, assistant_message, context, hooks, budget }
    }

    /// Sets the budget that the calls are charged to.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FinishedCall {
    /// The output of the call.
    pub result: ToolOutput,
    /// True if the call failed.
    pub is_error: bool,
    /// Run time of the tool; `None` if it was not executed.
    pub duration_ms: Option<u64>,
}

/// A call that is allowed to execute.
pub(crate) struct Prepared {
    pub(crate) tool: Arc<dyn AgentTool>,
    /// The effects that the tool declares for the arguments.
    pub(crate) effects: Effects,
    args: Map<String, Value>,
    required_approvals: Vec<RequiredApproval>,
}

/// A call whose tool has returned.
pub(crate) struct Executed {
    args: Map<String, Value>,
    result: ToolOutput,
    is_error: bool,
    duration_ms: u64,
}

/// Executes a tool call outside of a transcript, with the same checks and hooks, but without events
/// and messages. Meant for tools that call tools.
pub async fn run_tool_call(
    call: &ToolCall,
    context: &CallContext,
    updates: Updates,
) -> FinishedCall {
    if let Err(limit) = context.budget.take_tool_call(&call.name) {
        return FinishedCall::over_limit(limit, &call.name);
    }
    let budget = context.budget.child(Limits::default());
    let executed = match prepare(call, context).await {
        Ok(prepared) => execute(prepared, call, context, updates, budget.clone()).await,
        Err(refused) => Err(refused),
    };
    let finished = match executed {
        Ok(executed) if executed.result.suspended => FinishedCall::refused(NESTED),
        Ok(executed) => finish(executed, call, context).await,
        Err(refused) => refused,
    };
    budget.add_result(finished.result.usage.as_ref(), finished.result.content_bytes());
    finished
}

impl FinishedCall {
    /// Creates the result of a call that was not executed.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self { result: failed_output(text), is_error: true, duration_ms: None }
    }

    /// Creates the state of a call that waits.
    pub(crate) fn suspended(text: &str) -> Self {
        Self { result: ToolOutput::suspended(text), is_error: false, duration_ms: None }
    }

    /// Creates the result of a call that a limit forbids.
    pub(crate) fn over_limit(limit: Limit, tool: &str) -> Self {
        Self::refused(match limit {
            Limit::CallsPerTool => {
                format!("Not executed: the run has reached its limit of calls of \"{tool}\".")
            }
            limit => format!("Not executed: the run has reached its limit of {limit}."),
        })
    }
}

/// Finds the tool, validates the arguments and asks the hook for permission.
pub(crate) async fn prepare(
    call: &ToolCall,
    context: &CallContext,
) -> Result<Prepared, FinishedCall> {
    let name = &call.name;
    let tool = context.tools.iter().find(|tool| tool.declaration().name == *name);
    let tool = tool.ok_or_else(|| FinishedCall::refused(format!("Tool {name} not found")))?;
    let mut args = validated_arguments(call, tool, &context.context.cancel)
        .await
        .map_err(FinishedCall::refused)?;
    let mut effects = declared_effects(&**tool, &args).map_err(FinishedCall::refused)?;
    let mut required_approvals = Vec::new();
    if let Some(before) = &context.hooks.before_tool_call {
        let argument = BeforeToolCall {
            assistant_message: Arc::clone(&context.assistant_message),
            tool_call: call.clone(),
            args: args.clone(),
            effects: effects.clone(),
            context: context.context.clone(),
        };
        let permission = call_contained(before, argument, &context.context.cancel)
            .await
            .map_err(|error| FinishedCall::refused(error.message()))?;
        let replaced = match permission {
            Permission::Allow { arguments } => arguments,
            Permission::Ask { arguments, approvals } => {
                required_approvals = approvals;
                arguments
            }
            Permission::Block { reason, terminate } => {
                let mut reason = reason.unwrap_or_default();
                if reason.is_empty() {
                    reason = BLOCKED.to_owned();
                }
                let mut refused = FinishedCall::refused(reason);
                refused.result.terminate = terminate;
                return Err(refused);
            }
        };
        if let Some(replaced) = replaced {
            effects = declared_effects(&**tool, &replaced).map_err(FinishedCall::refused)?;
            args = replaced;
        }
    }
    if let Some(approval) = required_approvals.first()
        && !tool.requests_approval()
    {
        let reason = &approval.reason;
        return Err(FinishedCall::refused(format!("{BLOCKED}: it needs approval: {reason}")));
    }
    if context.context.cancel.is_cancelled() {
        return Err(FinishedCall::refused(ABORTED));
    }
    Ok(Prepared { tool: Arc::clone(tool), effects, args, required_approvals })
}

/// Returns the effects that a tool declares for a call. A tool that panics here is not executed.
fn declared_effects(tool: &dyn AgentTool, args: &Map<String, Value>) -> Result<Effects, String> {
    let declared = std::panic::catch_unwind(AssertUnwindSafe(|| tool.effects(args)));
    declared.map_err(|panic| panic_text(&*panic))
}

async fn validated_arguments(
    call: &ToolCall,
    tool: &Arc<dyn AgentTool>,
    cancel: &CancelToken,
) -> Result<Map<String, Value>, String> {
    let preparing = AssertUnwindSafe(async { tool.prepare_arguments(&call.arguments).await });
    let prepared = with_grace(preparing.catch_unwind(), cancel, HOOK_GRACE).await;
    let prepared = prepared.ok_or_else(|| ABORTED.to_owned())?;
    let prepared = prepared.map_err(|panic| panic_text(&*panic))?;
    let schema = match tool.validates_arguments() {
        true => &Value::Null,
        false => &tool.declaration().parameters,
    };
    let validated = match prepared.map_err(|error| error.message().to_owned())? {
        None => arguments::check(call, schema),
        Some(arguments) => arguments::check(&ToolCall { arguments, ..call.clone() }, schema),
    };
    validated.map_err(|error| error.to_string())
}

/// Executes a prepared call, unless the run was aborted meanwhile. Progress that the tool reports
/// after it has returned is ignored.
pub(crate) async fn execute(
    prepared: Prepared,
    call: &ToolCall,
    context: &CallContext,
    updates: Updates,
    budget: Budget,
) -> Result<Executed, FinishedCall> {
    let cancel = &context.context.cancel;
    if cancel.is_cancelled() {
        return Err(FinishedCall::refused(ABORTED));
    }
    let Prepared { tool, effects, args, required_approvals } = prepared;
    let open = Arc::new(AtomicBool::new(true));
    let last_report = Arc::new(Mutex::new(None));
    let (is_open, last, cancelled) = (Arc::clone(&open), Arc::clone(&last_report), cancel.clone());
    let updates = Updates::new(move |output| {
        if !is_open.load(Ordering::Acquire) {
            return;
        }
        // After an abort no listener follows the progress, but it may be the only output.
        if cancelled.is_cancelled() {
            *lock(&last) = Some(output);
        } else {
            updates.send(output);
        }
    });
    let invocation = Invocation {
        id: call.id.clone(),
        arguments: args.clone(),
        effects: Some(effects),
        required_approvals,
        cancel: cancel.clone(),
        updates,
        budget,
    };
    let started = Instant::now();
    let running = AssertUnwindSafe(async { tool.execute(invocation).await }).catch_unwind();
    let (result, is_error) = match with_grace(running, cancel, TOOL_GRACE).await {
        None => {
            let last_report = lock(&last_report).take();
            let output = match last_report {
                Some(output) => ToolOutput { content: output.content, ..failed_output("") },
                None => failed_output(ABORTED),
            };
            (output, true)
        }
        Some(Err(panic)) => (failed_output(panic_text(&*panic)), true),
        Some(Ok(Err(error))) => (failed_output(error.message()), true),
        Some(Ok(Ok(output))) => {
            let is_error = output.is_error;
            (output, is_error)
        }
    };
    open.store(false, Ordering::Release);
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Executed { args, result, is_error, duration_ms })
}

/// Creates the output of a call that failed without an output of its own. Its `is_error` is not
/// set: as in pi, that field is only part of outputs in which the tool set it.
fn failed_output(text: impl Into<String>) -> ToolOutput {
    ToolOutput { is_error: false, ..ToolOutput::error(text) }
}

/// Lets the application change the output of a call.
pub(crate) async fn finish(
    executed: Executed,
    call: &ToolCall,
    context: &CallContext,
) -> FinishedCall {
    let Executed { args, result, is_error, duration_ms } = executed;
    if result.suspended {
        return FinishedCall { result, is_error: false, duration_ms: None };
    }
    let (result, is_error) = match &context.hooks.after_tool_call {
        None => (result, is_error),
        Some(after) => {
            let argument = AfterToolCall {
                assistant_message: Arc::clone(&context.assistant_message),
                tool_call: call.clone(),
                args,
                is_error,
                result: result.clone(),
                context: context.context.clone(),
            };
            match call_contained(after, argument, &context.context.cancel).await {
                Ok(change) => {
                    let is_error = change.is_error.unwrap_or(is_error);
                    (change.apply(result), is_error)
                }
                Err(error) => (failed_output(error.message()), true),
            }
        }
    };
    FinishedCall { result, is_error, duration_ms: Some(duration_ms) }
}

/// Waits for a tool or a hook. Once cancelled, waits no longer than `grace`.
async fn with_grace<F: Future>(
    running: F,
    cancel: &CancelToken,
    grace: Duration,
) -> Option<F::Output> {
    let mut running = std::pin::pin!(running);
    let mut cancelled = std::pin::pin!(cancel.cancelled());
    tokio::select! {
        biased;
        output = &mut running => return Some(output),
        () = &mut cancelled => {}
    }
    tokio::time::timeout(grace, running).await.ok()
}

/// Calls a hook. A panic is a failure, and a hook that ignores cancellation is dropped.
pub(crate) async fn call_contained<A, R>(
    hook: &Hook<A, R>,
    argument: A,
    cancel: &CancelToken,
) -> Result<R, HookError> {
    let calling = AssertUnwindSafe(async { hook(argument).await }).catch_unwind();
    match with_grace(calling, cancel, HOOK_GRACE).await {
        None => Err(HookError::new(ABORTED)),
        Some(Ok(result)) => result,
        Some(Err(panic)) => Err(HookError::new(panic_text(&*panic))),
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panicked: {}", text.as_deref().unwrap_or("no message"))
}

pi_protocol::debug_fields!(CallContext);
