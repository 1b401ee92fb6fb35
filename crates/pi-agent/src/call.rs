//! One tool call: found, checked, allowed, run, finished.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pi_protocol::{AssistantMessage, CancelToken, ToolCall};
use serde_json::{Map, Value};

use crate::arguments;
use crate::hooks::{AfterToolCall, BeforeToolCall, ContextView, Hook, HookError, Hooks};
use crate::tool::{AgentTool, Invocation, ToolOutput, Updates};

const ABORTED: &str = "Operation aborted";
const BLOCKED: &str = "Tool execution was blocked";

/// How long a tool may go on after it was cancelled before it is dropped. One that listens has to
/// end what it started and say how far it came; whoever aborts should not have to wait.
const TOOL_GRACE: Duration = Duration::from_millis(40);

/// The same for a hook, which has nothing to end.
const HOOK_GRACE: Duration = Duration::from_millis(20);

/// What surrounds the calls of one message.
#[derive(Clone)]
pub struct CallContext {
    /// The tools there are.
    pub tools: Vec<Arc<dyn AgentTool>>,
    /// The message with the calls.
    pub assistant_message: Arc<AssistantMessage>,
    /// The transcript, and the token that cancels the calls.
    pub context: ContextView,
    /// `before_tool_call` and `after_tool_call` of these apply.
    pub hooks: Hooks,
}

/// A call that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedCall {
    /// What came of it.
    pub result: ToolOutput,
    /// It failed.
    pub is_error: bool,
    /// How long the tool ran; `None` if it did not.
    pub duration_ms: Option<u64>,
}

/// A call that may run.
pub(crate) struct Prepared {
    tool: Arc<dyn AgentTool>,
    args: Map<String, Value>,
}

/// A call whose tool has returned.
pub(crate) struct Executed {
    args: Map<String, Value>,
    result: ToolOutput,
    is_error: bool,
    duration_ms: u64,
}

/// Runs one call outside of a transcript: the same checks and hooks, but no events and no message.
/// For tools that call tools.
pub async fn run_tool_call(
    call: &ToolCall,
    context: &CallContext,
    updates: Updates,
) -> FinishedCall {
    match prepare(call, context).await {
        Ok(prepared) => match execute(prepared, call, context, updates).await {
            Ok(executed) => finish(executed, call, context).await,
            Err(refused) => refused,
        },
        Err(refused) => refused,
    }
}

impl FinishedCall {
    /// A call that did not run.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self { result: thrown(text), is_error: true, duration_ms: None }
    }
}

/// Finds the tool, checks the arguments and asks for permission.
pub(crate) async fn prepare(
    call: &ToolCall,
    context: &CallContext,
) -> Result<Prepared, FinishedCall> {
    let name = &call.name;
    let tool = context.tools.iter().find(|tool| tool.declaration().name == *name);
    let tool = tool.ok_or_else(|| FinishedCall::refused(format!("Tool {name} not found")))?;
    let mut args = checked_arguments(call, tool).map_err(FinishedCall::refused)?;
    if let Some(before) = &context.hooks.before_tool_call {
        let question = BeforeToolCall {
            assistant_message: Arc::clone(&context.assistant_message),
            tool_call: call.clone(),
            args: args.clone(),
            context: context.context.clone(),
        };
        let answer = contained(before, question, &context.context.cancel).await;
        let permission = answer.map_err(|error| FinishedCall::refused(error.0))?;
        if context.context.cancel.is_cancelled() {
            return Err(FinishedCall::refused(ABORTED));
        }
        if permission.block {
            let reason = permission.reason.filter(|reason| !reason.is_empty());
            let mut refused = FinishedCall::refused(reason.unwrap_or_else(|| BLOCKED.to_owned()));
            refused.result.terminate = permission.terminate;
            return Err(refused);
        }
        args = permission.args.unwrap_or(args);
    }
    if context.context.cancel.is_cancelled() {
        return Err(FinishedCall::refused(ABORTED));
    }
    Ok(Prepared { tool: Arc::clone(tool), args })
}

fn checked_arguments(
    call: &ToolCall,
    tool: &Arc<dyn AgentTool>,
) -> Result<Map<String, Value>, String> {
    let prepare = AssertUnwindSafe(|| tool.prepare_arguments(&call.arguments));
    let prepared = std::panic::catch_unwind(prepare).map_err(|panic| panic_text(&*panic))?;
    let schema = &tool.declaration().parameters;
    let checked = match prepared.map_err(|error| error.0)? {
        None => arguments::check(call, schema),
        Some(arguments) => arguments::check(&ToolCall { arguments, ..call.clone() }, schema),
    };
    checked.map_err(|error| error.to_string())
}

/// Runs a call that may run, unless it is too late for it. What the tool reports after it has
/// returned goes nowhere.
pub(crate) async fn execute(
    prepared: Prepared,
    call: &ToolCall,
    context: &CallContext,
    updates: Updates,
) -> Result<Executed, FinishedCall> {
    let cancel = &context.context.cancel;
    if cancel.is_cancelled() {
        return Err(FinishedCall::refused(ABORTED));
    }
    let Prepared { tool, args } = prepared;
    let open = Arc::new(AtomicBool::new(true));
    let last_words = Arc::new(Mutex::new(None));
    let (is_open, heard, cancelled) = (Arc::clone(&open), Arc::clone(&last_words), cancel.clone());
    let updates = Updates::new(move |output| {
        if !is_open.load(Ordering::Acquire) {
            return;
        }
        // After an abort nobody follows the progress, but it may be all there will be.
        if cancelled.is_cancelled() {
            *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(output);
        } else {
            updates.send(output);
        }
    });
    let invocation = Invocation {
        id: call.id.clone(),
        arguments: args.clone(),
        cancel: cancel.clone(),
        updates,
    };
    let started = Instant::now();
    let running = AssertUnwindSafe(async { tool.execute(invocation).await }).catch_unwind();
    let (result, is_error) = match until_dropped(running, cancel, TOOL_GRACE).await {
        None => {
            let last_words = last_words.lock().unwrap_or_else(PoisonError::into_inner).take();
            let said = |output: ToolOutput| ToolOutput { content: output.content, ..thrown("") };
            (last_words.map_or_else(|| thrown(ABORTED), said), true)
        }
        Some(Err(panic)) => (thrown(panic_text(&*panic)), true),
        Some(Ok(Err(error))) => (thrown(error.0), true),
        Some(Ok(Ok(output))) => {
            let is_error = output.is_error;
            (output, is_error)
        }
    };
    open.store(false, Ordering::Release);
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Executed { args, result, is_error, duration_ms })
}

/// A failure that is no result of the tool. Only a result that says so itself is marked as one.
fn thrown(text: impl Into<String>) -> ToolOutput {
    ToolOutput { is_error: false, ..ToolOutput::error(text) }
}

/// Lets the application change what came of a call.
pub(crate) async fn finish(
    executed: Executed,
    call: &ToolCall,
    context: &CallContext,
) -> FinishedCall {
    let Executed { args, result, is_error, duration_ms } = executed;
    let (result, is_error) = match &context.hooks.after_tool_call {
        None => (result, is_error),
        Some(after) => {
            let question = AfterToolCall {
                assistant_message: Arc::clone(&context.assistant_message),
                tool_call: call.clone(),
                args,
                is_error,
                result: result.clone(),
                context: context.context.clone(),
            };
            match contained(after, question, &context.context.cancel).await {
                Ok(change) => {
                    let is_error = change.is_error.unwrap_or(is_error);
                    (change.apply(result), is_error)
                }
                Err(error) => (thrown(error.0), true),
            }
        }
    };
    FinishedCall { result, is_error, duration_ms: Some(duration_ms) }
}

/// Waits for a tool or a hook; once cancelled, not for long.
async fn until_dropped<F: Future>(
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

/// Asks a hook. A panic is a failure; once cancelled, it is not waited for.
pub(crate) async fn contained<A, R>(
    hook: &Hook<A, R>,
    argument: A,
    cancel: &CancelToken,
) -> Result<R, HookError> {
    let asking = AssertUnwindSafe(async { hook(argument).await }).catch_unwind();
    match until_dropped(asking, cancel, HOOK_GRACE).await {
        None => Err(HookError(ABORTED.to_owned())),
        Some(Ok(answer)) => answer,
        Some(Err(panic)) => Err(HookError(panic_text(&*panic))),
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panicked: {}", text.as_deref().unwrap_or("no message"))
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext").finish_non_exhaustive()
    }
}
