//! The tool calls of one message, executed sequentially or in parallel.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use pi_protocol::{
    AgentMessage, AssistantMessage, CancelToken, Message, StopReason, ToolCall, ToolResultMessage,
    now_ms,
};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use super::{EventDetails, Run};
use crate::budget::Budget;
use crate::call::{CallContext, FinishedCall, Prepared, execute, finish, prepare};
use crate::error::RunError;
use crate::event::AgentEvent;
use crate::limits::{Limit, Limits};
use crate::order::{Place, Touched, places};
use crate::settings::SteeringDelivery;
use crate::tool::{BoxFuture, ExecutionMode, ToolOutput, Updates};

const STEERED: &str = "Skipped: the user sent a new message before this call was executed.";

const FOLLOWS: &str = "Waits for an earlier call on the same file.";

/// The results of the tool calls of one message.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) messages: Vec<Arc<ToolResultMessage>>,
    /// True if every result asks for the end of the run.
    pub(crate) terminate: bool,
    /// True if a call waits for a decision.
    pub(crate) suspended: bool,
}

/// A tool call, with its raw arguments as events show them.
struct RequestedCall {
    call: ToolCall,
    args: Arc<Map<String, Value>>,
    budget: Budget,
}

/// A step of an executing call.
enum Step {
    /// The tool reported progress.
    Progress(ToolOutput),
    /// The tool has returned. The call continues when the sender is used.
    Executed(oneshot::Sender<()>),
    /// The call is complete.
    Finished(FinishedCall),
}

/// Executing calls and their steps, by their index in the message.
///
/// The channel is unbounded: a tool must not wait for listeners in order to report progress.
struct Executing {
    calls: FuturesUnordered<BoxFuture<'static, ()>>,
    sender: mpsc::UnboundedSender<(usize, Step)>,
    steps: mpsc::UnboundedReceiver<(usize, Step)>,
}

impl Run<'_> {
    /// Executes calls of a message: all of them, or those that have no result yet.
    pub(crate) async fn run_calls(
        &mut self,
        message: &Arc<AssistantMessage>,
        calls: Vec<ToolCall>,
    ) -> Result<Batch, RunError> {
        let calls: Vec<RequestedCall> = calls
            .into_iter()
            .map(|call| RequestedCall {
                args: Arc::new(call.arguments.clone()),
                call,
                budget: self.budget.child(Limits::default()),
            })
            .collect();
        if message.stop_reason == StopReason::Length {
            return self.refuse_all(&calls).await;
        }
        let context = Arc::new(CallContext {
            tools: self.settings.tools.clone(),
            assistant_message: Arc::clone(message),
            context: self.view(),
            hooks: self.settings.hooks.clone(),
            budget: self.budget.clone(),
        });
        let sequential = self.settings.tool_execution == ExecutionMode::Sequential
            || calls.iter().any(|requested| {
                let named =
                    context.tools.iter().find(|t| t.declaration().name == requested.call.name);
                named.is_some_and(|tool| tool.execution_mode() == ExecutionMode::Sequential)
            });
        if sequential {
            self.sequential(&calls, &context).await
        } else {
            self.parallel(&calls, &context).await
        }
    }

    /// Refuses all calls of an answer that was cut off, since their arguments may be incomplete.
    async fn refuse_all(&mut self, calls: &[RequestedCall]) -> Result<Batch, RunError> {
        let mut batch = Batch::default();
        for requested in calls {
            self.emit_start(requested).await?;
            let text = format!(
                "Tool call \"{}\" was not executed: the response hit the output token limit, so \
                 its arguments may be truncated. Re-issue the tool call with complete arguments.",
                requested.call.name
            );
            let finished = FinishedCall::refused(text);
            self.emit_end(requested, &finished).await?;
            batch.messages.push(self.add_result(requested, &finished).await?);
        }
        Ok(batch)
    }

    async fn sequential(
        &mut self,
        calls: &[RequestedCall],
        context: &Arc<CallContext>,
    ) -> Result<Batch, RunError> {
        let mut batch = Batch { terminate: true, ..Batch::default() };
        for (index, requested) in calls.iter().enumerate() {
            self.emit_start(requested).await?;
            let finished = match self.admit(requested, context).await {
                Err(refused) => refused,
                Ok(prepared) => {
                    let mut executing = Executing::new();
                    executing.start(index, prepared, None, requested, context);
                    self.next_finished(calls, &mut executing).await?.1
                }
            };
            self.emit_end(requested, &finished).await?;
            if finished.result.suspended {
                // Later calls may depend on this one.
                self.suspend(&mut batch, requested);
                break;
            }
            batch.terminate &= finished.result.terminate;
            batch.messages.push(self.add_result(requested, &finished).await?);
            if self.cancel.is_cancelled() {
                break;
            }
        }
        batch.terminate &= !batch.messages.is_empty();
        Ok(batch)
    }

    async fn parallel(
        &mut self,
        calls: &[RequestedCall],
        context: &Arc<CallContext>,
    ) -> Result<Batch, RunError> {
        let mut results: Vec<Option<FinishedCall>> = Vec::new();
        results.resize_with(calls.len(), || None);
        let mut admitted = Vec::new();
        for (index, requested) in calls.iter().enumerate() {
            self.emit_start(requested).await?;
            match self.admit(requested, context).await {
                Ok(prepared) => admitted.push((index, prepared)),
                Err(refused) => {
                    self.emit_end(requested, &refused).await?;
                    results[index] = Some(refused);
                }
            }
            if self.cancel.is_cancelled() {
                break;
            }
        }
        let mut executing = Executing::new();
        let mut left = admitted.len();
        let places = assign_places(&admitted, self.cancel.clone()).await;
        for ((index, prepared), place) in admitted.into_iter().zip(places) {
            executing.start(index, prepared, Some(place), &calls[index], context);
        }
        while left > 0 {
            let (index, finished) = self.next_finished(calls, &mut executing).await?;
            let event = end_event(&calls[index], &finished);
            self.emit_while(event, &mut executing).await?;
            results[index] = Some(finished);
            left -= 1;
        }
        let mut batch = Batch { terminate: true, ..Batch::default() };
        for (requested, finished) in calls.iter().zip(results) {
            let Some(finished) = finished else { continue };
            if finished.result.suspended {
                self.suspend(&mut batch, requested);
                continue;
            }
            batch.terminate &= finished.result.terminate;
            batch.messages.push(self.add_result(requested, &finished).await?);
        }
        batch.terminate &= !batch.messages.is_empty();
        Ok(batch)
    }

    /// Notes that a call waits: it is counted when it is executed.
    fn suspend(&self, batch: &mut Batch, requested: &RequestedCall) {
        batch.suspended = true;
        self.budget.give_back_tool_call(&requested.call.name);
    }

    /// Decides whether a call is executed: limits and steering first, then its own checks.
    async fn admit(
        &mut self,
        requested: &RequestedCall,
        context: &CallContext,
    ) -> Result<Prepared, FinishedCall> {
        if self.host.steering_delivery() == SteeringDelivery::AfterTool {
            self.poll_steering();
            if !self.pending.is_empty() {
                return Err(FinishedCall::refused(STEERED));
            }
        }
        if let Err(limit) = self.budget.take_tool_call(&requested.call.name) {
            self.limit = Some(limit);
        }
        if let Some(limit @ (Limit::ToolCalls | Limit::CallsPerTool)) = self.limit {
            return Err(FinishedCall::over_limit(limit, &requested.call.name));
        }
        prepare(&requested.call, context).await
    }

    /// Waits for the next call to finish, and emits progress meanwhile.
    async fn next_finished(
        &mut self,
        calls: &[RequestedCall],
        executing: &mut Executing,
    ) -> Result<(usize, FinishedCall), RunError> {
        loop {
            let next = poll_fn(|cx| {
                // Steps first: a call that is always ready must not delay its own progress.
                if let Poll::Ready(step) = executing.steps.poll_recv(cx) {
                    return Poll::Ready(step);
                }
                executing.poll(cx);
                executing.steps.poll_recv(cx)
            });
            let step = match self.deadline() {
                None => next.await,
                Some(at) => tokio::time::timeout_at(at, next).await.unwrap_or_else(|_| {
                    self.enforce(self.budget.output_exceeded());
                    None
                }),
            };
            self.budget.activity();
            match step {
                Some((index, Step::Progress(output))) => {
                    let usage = output.usage.as_ref();
                    calls[index].budget.add_result(usage, output.content_bytes());
                    self.enforce(self.budget.output_exceeded());
                    self.emit_progress(&calls[index], output, executing).await?;
                }
                Some((_, Step::Executed(proceed))) => {
                    // All progress before this step has been emitted. The receiver waits for this.
                    let _ = proceed.send(());
                }
                Some((index, Step::Finished(finished))) => {
                    let result = &finished.result;
                    let usage = result.usage.as_ref();
                    calls[index].budget.add_result(usage, result.content_bytes());
                    self.enforce(self.budget.output_exceeded());
                    return Ok((index, finished));
                }
                // A time limit has passed. The channel itself stays open.
                None => {}
            }
        }
    }

    async fn emit_progress(
        &mut self,
        requested: &RequestedCall,
        output: ToolOutput,
        executing: &mut Executing,
    ) -> Result<(), RunError> {
        let event = AgentEvent::ToolExecutionUpdate {
            tool_call_id: requested.call.id.clone(),
            tool_name: requested.call.name.clone(),
            args: Arc::clone(&requested.args),
            partial_result: Arc::new(output),
        };
        self.emit_while(event, executing).await
    }

    /// Emits an event while the calls continue.
    async fn emit_while(
        &mut self,
        event: AgentEvent,
        executing: &mut Executing,
    ) -> Result<(), RunError> {
        let mut emitting = pin!(self.host.emit(event, EventDetails::default()));
        poll_fn(|cx| {
            executing.poll(cx);
            emitting.as_mut().poll(cx)
        })
        .await
    }

    async fn emit_start(&mut self, requested: &RequestedCall) -> Result<(), RunError> {
        self.emit(AgentEvent::ToolExecutionStart {
            tool_call_id: requested.call.id.clone(),
            tool_name: requested.call.name.clone(),
            args: Arc::clone(&requested.args),
        })
        .await
    }

    async fn emit_end(
        &mut self,
        requested: &RequestedCall,
        finished: &FinishedCall,
    ) -> Result<(), RunError> {
        self.emit(end_event(requested, finished)).await
    }

    async fn add_result(
        &mut self,
        requested: &RequestedCall,
        finished: &FinishedCall,
    ) -> Result<Arc<ToolResultMessage>, RunError> {
        let FinishedCall { result, is_error, duration_ms } = finished;
        let message = Arc::new(ToolResultMessage {
            tool_call_id: requested.call.id.clone(),
            tool_name: requested.call.name.clone(),
            content: result.content.clone(),
            details: result.details.clone(),
            usage: result.usage.clone(),
            is_error: *is_error,
            // Milliseconds of a call stay far below 2^53.
            duration_ms: duration_ms.map(|millis| millis as f64),
            timestamp: now_ms(),
            ..ToolResultMessage::default()
        });
        self.add(AgentMessage::from(Message::ToolResult(Arc::clone(&message)))).await?;
        Ok(message)
    }
}

impl Executing {
    fn new() -> Self {
        let (sender, steps) = mpsc::unbounded_channel();
        Self { calls: FuturesUnordered::new(), sender, steps }
    }

    fn start(
        &mut self,
        index: usize,
        prepared: Prepared,
        mut place: Option<Place>,
        requested: &RequestedCall,
        context: &Arc<CallContext>,
    ) {
        let (context, sender) = (Arc::clone(context), self.sender.clone());
        let (call, budget) = (requested.call.clone(), requested.budget.clone());
        // Without a receiver the run is gone, and the step is of no interest.
        let report = move |step| drop(sender.send((index, step)));
        let progress = report.clone();
        let updates = Updates::new(move |output| progress(Step::Progress(output)));
        self.calls.push(Box::pin(async move {
            let reached = match &mut place {
                Some(place) => place.reached().await,
                None => true,
            };
            let finished = if reached {
                match execute(prepared, &call, &context, updates, budget).await {
                    Err(refused) => refused,
                    Ok(executed) => {
                        let (proceed, proceeding) = oneshot::channel();
                        report(Step::Executed(proceed));
                        // Fails only when the run is gone.
                        let _ = proceeding.await;
                        finish(executed, &call, &context).await
                    }
                }
            } else {
                FinishedCall::suspended(FOLLOWS)
            };
            if let Some(place) = place {
                place.leave(finished.result.suspended);
            }
            report(Step::Finished(finished));
        }));
    }

    /// Polls all calls.
    fn poll(&mut self, cx: &mut std::task::Context<'_>) {
        while let Poll::Ready(Some(())) = self.calls.poll_next_unpin(cx) {}
    }
}

/// Returns the place of each admitted call. Places are assigned before any of the calls starts.
async fn assign_places(admitted: &[(usize, Prepared)], cancel: CancelToken) -> Vec<Place> {
    let calls: Vec<_> =
        admitted.iter().map(|(_, prepared)| (&*prepared.tool, &prepared.effects)).collect();
    let mut touched = tokio::select! {
        biased;
        touched = Touched::by(&calls) => touched,
        // The calls are refused.
        () = cancel.cancelled() => Vec::new(),
    };
    touched.resize_with(calls.len(), Touched::default);
    places(&touched)
}

fn end_event(requested: &RequestedCall, finished: &FinishedCall) -> AgentEvent {
    AgentEvent::ToolExecutionEnd {
        tool_call_id: requested.call.id.clone(),
        tool_name: requested.call.name.clone(),
        result: Arc::new(finished.result.clone()),
        is_error: finished.is_error,
        duration_ms: finished.duration_ms,
    }
}
