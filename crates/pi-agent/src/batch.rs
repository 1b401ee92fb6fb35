//! The calls of one message: one after the other, or beside each other.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use pi_protocol::{AssistantMessage, Message, StopReason, ToolCall, ToolResultMessage, now_ms};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::call::{CallContext, FinishedCall, Prepared, execute, finish, prepare};
use crate::event::AgentEvent;
use crate::limits::Limit;
use crate::run::{Run, RunError, SteeringDelivery};
use crate::tool::{BoxFuture, ExecutionMode, ToolOutput, Updates};

const STEERED: &str = "Skipped: a new message from the user came before this call ran.";

/// What came of the calls of a message.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) messages: Vec<Arc<ToolResultMessage>>,
    /// Every result says that the run may end.
    pub(crate) terminate: bool,
}

/// A call, and its raw arguments as events show them.
struct Called {
    call: ToolCall,
    args: Arc<Map<String, Value>>,
}

/// What a running call tells.
enum Step {
    /// What there is so far.
    Progress(ToolOutput),
    /// Its tool has returned. It goes on when this is answered.
    Executed(oneshot::Sender<()>),
    /// It is over.
    Finished(FinishedCall),
}

/// Calls that run beside each other, and what they have told, by their place in the batch.
///
/// The queue is unbounded: a tool that reports is not to wait for a listener, and each report
/// replaces the one before in everybody's eyes.
struct Running {
    calls: FuturesUnordered<BoxFuture<'static, ()>>,
    sender: mpsc::UnboundedSender<(usize, Step)>,
    steps: mpsc::UnboundedReceiver<(usize, Step)>,
}

impl Run<'_> {
    pub(crate) async fn run_calls(
        &mut self,
        message: &Arc<AssistantMessage>,
    ) -> Result<Batch, RunError> {
        let calls: Vec<Called> = message
            .tool_calls()
            .map(|call| Called { call: call.clone(), args: Arc::new(call.arguments.clone()) })
            .collect();
        if message.stop_reason == StopReason::Length {
            return self.refuse_all(&calls).await;
        }
        let context = Arc::new(CallContext {
            tools: self.settings.tools.clone(),
            assistant_message: Arc::clone(message),
            context: self.view(),
            hooks: self.settings.hooks.clone(),
        });
        let one_by_one = self.settings.tool_execution == ExecutionMode::Sequential
            || calls.iter().any(|called| {
                let named = context.tools.iter().find(|t| t.declaration().name == called.call.name);
                named.is_some_and(|tool| tool.execution_mode() == ExecutionMode::Sequential)
            });
        if one_by_one {
            self.one_by_one(&calls, &context).await
        } else {
            self.side_by_side(&calls, &context).await
        }
    }

    /// The answer was cut, so the arguments may be: nothing runs.
    async fn refuse_all(&mut self, calls: &[Called]) -> Result<Batch, RunError> {
        let mut batch = Batch::default();
        for called in calls {
            self.announce(called).await?;
            let text = format!(
                "Tool call \"{}\" was not executed: the response hit the output token limit, so \
                 its arguments may be truncated. Re-issue the tool call with complete arguments.",
                called.call.name
            );
            let finished = FinishedCall::refused(text);
            self.tell_end(called, &finished).await?;
            batch.messages.push(self.add_result(called, &finished).await?);
        }
        Ok(batch)
    }

    async fn one_by_one(
        &mut self,
        calls: &[Called],
        context: &Arc<CallContext>,
    ) -> Result<Batch, RunError> {
        let mut batch = Batch { messages: Vec::new(), terminate: true };
        for (index, called) in calls.iter().enumerate() {
            self.announce(called).await?;
            let finished = match self.admit(called, context).await {
                Err(refused) => refused,
                Ok(prepared) => {
                    let mut running = Running::new();
                    running.start(index, prepared, called.call.clone(), context);
                    self.next_done(calls, &mut running).await?.1
                }
            };
            self.tell_end(called, &finished).await?;
            batch.terminate &= finished.result.terminate;
            batch.messages.push(self.add_result(called, &finished).await?);
            if self.cancel.is_cancelled() {
                break;
            }
        }
        batch.terminate &= !batch.messages.is_empty();
        Ok(batch)
    }

    async fn side_by_side(
        &mut self,
        calls: &[Called],
        context: &Arc<CallContext>,
    ) -> Result<Batch, RunError> {
        let mut results: Vec<Option<FinishedCall>> = Vec::new();
        results.resize_with(calls.len(), || None);
        let mut admitted = Vec::new();
        for (index, called) in calls.iter().enumerate() {
            self.announce(called).await?;
            match self.admit(called, context).await {
                Ok(prepared) => admitted.push((index, prepared)),
                Err(refused) => {
                    self.tell_end(called, &refused).await?;
                    results[index] = Some(refused);
                }
            }
            if self.cancel.is_cancelled() {
                break;
            }
        }
        let mut running = Running::new();
        let mut left = admitted.len();
        for (index, prepared) in admitted {
            running.start(index, prepared, calls[index].call.clone(), context);
        }
        while left > 0 {
            let (index, finished) = self.next_done(calls, &mut running).await?;
            let event = end_event(&calls[index], &finished);
            self.emit_while(event, &mut running).await?;
            results[index] = Some(finished);
            left -= 1;
        }
        let mut batch = Batch { messages: Vec::new(), terminate: true };
        for (called, finished) in calls.iter().zip(results) {
            let Some(finished) = finished else { continue };
            batch.terminate &= finished.result.terminate;
            batch.messages.push(self.add_result(called, &finished).await?);
        }
        batch.terminate &= !batch.messages.is_empty();
        Ok(batch)
    }

    /// Whether a call may run: limits, steering, then the call's own checks.
    async fn admit(
        &mut self,
        called: &Called,
        context: &CallContext,
    ) -> Result<Prepared, FinishedCall> {
        if self.settings.steering_delivery == SteeringDelivery::AfterTool {
            self.poll_steering();
            if !self.pending.is_empty() {
                return Err(FinishedCall::refused(STEERED));
            }
        }
        if let Err(limit) = self.spent.take_tool_call() {
            self.limit = Some(limit);
        }
        if self.limit == Some(Limit::ToolCalls) {
            let text = "Not executed: the run has reached its limit of tool calls.";
            return Err(FinishedCall::refused(text));
        }
        prepare(&called.call, context).await
    }

    /// Waits for the next call to be done, and tells of progress meanwhile.
    async fn next_done(
        &mut self,
        calls: &[Called],
        running: &mut Running,
    ) -> Result<(usize, FinishedCall), RunError> {
        loop {
            let next = poll_fn(|cx| {
                running.poll(cx);
                running.steps.poll_recv(cx)
            });
            let step = match self.deadline() {
                None => next.await,
                Some(at) => tokio::time::timeout_at(at, next).await.unwrap_or_else(|_| {
                    self.enforce_time();
                    None
                }),
            };
            self.spent.activity();
            match step {
                Some((index, Step::Progress(output))) => {
                    self.tell_progress(&calls[index], output, running).await?;
                }
                Some((_, Step::Executed(go_on))) => {
                    // All it reported has been told. It waits for this as long as it lives.
                    let _ = go_on.send(());
                }
                Some((index, Step::Finished(finished))) => return Ok((index, finished)),
                // Time ran out: the queue itself stays open.
                None => {}
            }
        }
    }

    async fn tell_progress(
        &mut self,
        called: &Called,
        output: ToolOutput,
        running: &mut Running,
    ) -> Result<(), RunError> {
        let event = AgentEvent::ToolExecutionUpdate {
            tool_call_id: called.call.id.clone(),
            tool_name: called.call.name.clone(),
            args: Arc::clone(&called.args),
            partial_result: Arc::new(output),
        };
        self.emit_while(event, running).await
    }

    /// Delivers an event; the calls go on meanwhile.
    async fn emit_while(
        &mut self,
        event: AgentEvent,
        running: &mut Running,
    ) -> Result<(), RunError> {
        let mut emitting = pin!(self.sink.emit(event, None));
        poll_fn(|cx| {
            running.poll(cx);
            emitting.as_mut().poll(cx)
        })
        .await
    }

    async fn announce(&mut self, called: &Called) -> Result<(), RunError> {
        self.emit(AgentEvent::ToolExecutionStart {
            tool_call_id: called.call.id.clone(),
            tool_name: called.call.name.clone(),
            args: Arc::clone(&called.args),
        })
        .await
    }

    async fn tell_end(&mut self, called: &Called, finished: &FinishedCall) -> Result<(), RunError> {
        self.emit(end_event(called, finished)).await
    }

    async fn add_result(
        &mut self,
        called: &Called,
        finished: &FinishedCall,
    ) -> Result<Arc<ToolResultMessage>, RunError> {
        let FinishedCall { result, is_error, duration_ms } = finished;
        let message = Arc::new(ToolResultMessage {
            tool_call_id: called.call.id.clone(),
            tool_name: called.call.name.clone(),
            content: result.content.clone(),
            details: result.details.clone(),
            usage: result.usage.clone(),
            is_error: *is_error,
            // Milliseconds of a call stay far below 2^53.
            duration_ms: duration_ms.map(|millis| millis as f64),
            timestamp: now_ms(),
            ..ToolResultMessage::default()
        });
        self.add(Message::ToolResult(Arc::clone(&message)).into()).await?;
        Ok(message)
    }
}

impl Running {
    fn new() -> Self {
        let (sender, steps) = mpsc::unbounded_channel();
        Self { calls: FuturesUnordered::new(), sender, steps }
    }

    fn start(
        &mut self,
        index: usize,
        prepared: Prepared,
        call: ToolCall,
        context: &Arc<CallContext>,
    ) {
        let (context, sender) = (Arc::clone(context), self.sender.clone());
        // The receiver is gone only when the run is.
        let tell = move |step| drop(sender.send((index, step)));
        let progress = tell.clone();
        let updates = Updates::new(move |output| progress(Step::Progress(output)));
        self.calls.push(Box::pin(async move {
            let finished = match execute(prepared, &call, &context, updates).await {
                Err(refused) => refused,
                Ok(executed) => {
                    let (go_on, told) = oneshot::channel();
                    tell(Step::Executed(go_on));
                    // Not answered only when the run is gone.
                    let _ = told.await;
                    finish(executed, &call, &context).await
                }
            };
            tell(Step::Finished(finished));
        }));
    }

    /// Lets the calls go on.
    fn poll(&mut self, cx: &mut std::task::Context<'_>) {
        while let Poll::Ready(Some(())) = self.calls.poll_next_unpin(cx) {}
    }
}

fn end_event(called: &Called, finished: &FinishedCall) -> AgentEvent {
    AgentEvent::ToolExecutionEnd {
        tool_call_id: called.call.id.clone(),
        tool_name: called.call.name.clone(),
        result: Arc::new(finished.result.clone()),
        is_error: finished.is_error,
        duration_ms: finished.duration_ms,
    }
}
