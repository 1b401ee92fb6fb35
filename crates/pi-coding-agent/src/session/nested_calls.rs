//! Calls of tools that other tools make.
//!
//! A nested call passes the same checks, questions and limits as a call of the model, and has
//! events of its own. It has no message: the result of the outer call records it in `nestedCalls`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use pi_agent::{
    AgentTool, Budget, CallContext, ContextView, ExecutionMode, FinishedCall, ToolOutput, Updates,
    run_tool_call,
};
use pi_protocol::{AgentMessage, AssistantMessage, CancelToken, Message, ToolCall, UserBlock};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::{AgentSession, SessionEvent, lock, no_model};
use crate::extension::{CallableTool, Exposure, ToolRegistration};

/// Calls of one outer call that are recorded. Later ones only have events.
const MAX_RECORDED: usize = 256;
/// Bytes of the recorded arguments of one call, and of all calls of an outer call.
const MAX_ARGUMENTS: usize = 8 * 1024;
const MAX_ALL_ARGUMENTS: usize = 32 * 1024;
/// Characters of a recorded error.
const MAX_ERROR: usize = 500;

/// A call of a tool that another tool makes.
#[derive(Debug, Clone)]
pub struct NestedCall {
    /// Id of the call: that of the outer call, a slash and a number.
    pub id: String,
    /// Id of the outer call.
    pub parent_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments, which are validated.
    pub arguments: Map<String, Value>,
    /// Budget of the outer call. Without it the call is charged to the run alone.
    pub budget: Option<Budget>,
}

/// The nested calls of calls of the model that have no result yet.
#[derive(Debug, Default)]
pub(super) struct NestedCalls {
    /// Records by the id of the call of the model, which has the calls of nested tools, too.
    records: BTreeMap<String, Recorded>,
    /// Nested calls that run, by id.
    running: BTreeMap<String, Running>,
    /// Held by the nested call of a sequential tool.
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct Running {
    /// Id of the call of the model.
    root: String,
    /// The call, or one that it is nested in, has the turn of sequential tools.
    has_turn: bool,
}

#[derive(Debug, Default)]
struct Recorded {
    calls: Vec<Value>,
    argument_bytes: usize,
    /// A call or the arguments of one are not recorded.
    is_incomplete: bool,
}

impl NestedCalls {
    fn begin(&mut self, parent: &str, call: &ToolCall) {
        let outer = self.running.get(parent);
        let root = outer.map_or(parent, |outer| &outer.root).to_owned();
        let has_turn = outer.is_some_and(|outer| outer.has_turn);
        let recorded = self.records.entry(root.clone()).or_default();
        self.running.insert(call.id.clone(), Running { root, has_turn });
        if recorded.calls.len() >= MAX_RECORDED {
            recorded.is_incomplete = true;
            return;
        }
        let mut record = json!({ "id": call.id, "name": call.name, "status": "unfinished" });
        // Maps of JSON values can always be written.
        let bytes = serde_json::to_string(&call.arguments).map_or(0, |text| text.len());
        if bytes <= MAX_ARGUMENTS && recorded.argument_bytes + bytes <= MAX_ALL_ARGUMENTS {
            recorded.argument_bytes += bytes;
            record["arguments"] = Value::Object(call.arguments.clone());
        } else {
            record["argumentsBytes"] = bytes.into();
            recorded.is_incomplete = true;
        }
        recorded.calls.push(record);
    }

    /// Returns the turn of sequential tools if a call must wait for it. A call inside of one that
    /// has the turn runs at once.
    fn turn_for(&self, id: &str) -> Option<Arc<tokio::sync::Mutex<()>>> {
        let has_turn = self.running.get(id).is_some_and(|call| call.has_turn);
        (!has_turn).then(|| Arc::clone(&self.turn))
    }

    fn take_turn(&mut self, id: &str) {
        if let Some(call) = self.running.get_mut(id) {
            call.has_turn = true;
        }
    }

    fn finish(&mut self, id: &str, finished: &FinishedCall) {
        let Some(Running { root, .. }) = self.running.get(id) else { return };
        let Some(recorded) = self.records.get_mut(root) else { return };
        let Some(record) = recorded.calls.iter_mut().find(|call| call["id"] == id) else { return };
        record["status"] = if finished.is_error { "error" } else { "ok" }.into();
        if let Some(duration) = finished.duration_ms {
            record["durationMs"] = duration.into();
        }
        if finished.is_error {
            let text = text_of(&finished.result);
            record["error"] = text.chars().take(MAX_ERROR).collect::<String>().into();
        }
    }

    /// Takes the record of a call of the model as a field of its result.
    fn take(&mut self, root: &str) -> Option<Value> {
        let recorded = self.records.remove(root)?;
        let has_ended = |call: &Value| call["status"] != "unfinished";
        let is_complete = !recorded.is_incomplete && recorded.calls.iter().all(has_ended);
        Some(json!({ "calls": recorded.calls, "complete": is_complete }))
    }

    /// Forgets the calls of outer calls that never got a result.
    pub(super) fn clear(&mut self) {
        self.records.clear();
    }
}

/// Forgets that a call runs, also if its caller gives it up.
struct EndOnDrop<'a> {
    session: &'a AgentSession,
    id: String,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        lock(&self.session.0.nested_calls).running.remove(&self.id);
    }
}

impl AgentSession {
    /// Returns the tools that other tools can call.
    pub fn callable(&self) -> Vec<CallableTool> {
        let active: BTreeSet<String> = self.selection().active_tools.iter().cloned().collect();
        let mut tools = self.known_tools();
        tools.retain(|tool| is_callable(tool, |name| active.contains(name)));
        tools
    }

    /// Returns all tools with what their registrations say about them.
    pub(super) fn known_tools(&self) -> Vec<CallableTool> {
        let registered = self.0.extensions.registry().tools();
        let registered: HashMap<&str, &ToolRegistration> =
            registered.iter().map(|one| (one.tool.declaration().name.as_str(), one)).collect();
        let all = self.all_tools();
        let known = all.iter().map(|tool| {
            let registration = registered.get(tool.declaration().name.as_str()).copied();
            CallableTool::new(Arc::clone(tool), registration)
        });
        known.collect()
    }

    /// Returns the tool of this name, if other tools can call it.
    pub fn find_callable(&self, name: &str) -> Option<CallableTool> {
        let all = self.all_tools();
        let tool = all.iter().find(|tool| tool.declaration().name == name)?;
        let registered = self.0.extensions.registry().find_tool(name);
        let callable = CallableTool::new(Arc::clone(tool), registered.as_ref());
        let selection = self.selection();
        let is_active = |name: &str| selection.active_tools.iter().any(|active| active == name);
        is_callable(&callable, is_active).then_some(callable)
    }

    /// Executes a tool for another tool: with the same checks and questions as a call of the
    /// model, but without a message.
    pub async fn execute_nested(
        &self,
        nested: NestedCall,
        cancel: CancelToken,
        updates: Updates,
    ) -> FinishedCall {
        let NestedCall { id, parent_id, name, arguments, budget } = nested;
        let call = ToolCall { id, name, arguments, ..ToolCall::default() };
        lock(&self.0.nested_calls).begin(&parent_id, &call);
        let _end = EndOnDrop { session: self, id: call.id.clone() };
        self.emit(SessionEvent::ToolExecutionStart {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Arc::new(call.arguments.clone()),
            parent_tool_call_id: Some(parent_id.clone()),
        })
        .await;
        let hooks = self.call_hooks(Some(&parent_id));
        let message = self.messages().iter().rev().find_map(|one| one.as_assistant().cloned());
        let message = message.unwrap_or_else(|| {
            let model = self.model().unwrap_or_else(|| Arc::new(no_model()));
            Arc::new(AssistantMessage::pending(&model))
        });
        let view = ContextView::new(self.messages(), cancel);
        let tools: Vec<Arc<dyn AgentTool>> =
            self.find_callable(&call.name).map(|callable| callable.tool).into_iter().collect();
        let mut context = CallContext::new(tools, message, view, hooks);
        if let Some(budget) = budget.or_else(|| self.budget()) {
            context = context.with_budget(budget);
        }
        let turn = self.turn_of(&call, &context).await;
        let finished = self.run_nested(&call, &parent_id, &context, updates).await;
        drop(turn);
        lock(&self.0.nested_calls).finish(&call.id, &finished);
        self.emit(SessionEvent::ToolExecutionEnd {
            tool_call_id: call.id,
            tool_name: call.name,
            result: Arc::new(finished.result.clone()),
            is_error: finished.is_error,
            duration_ms: finished.duration_ms,
            parent_tool_call_id: Some(parent_id),
        })
        .await;
        finished
    }

    /// Waits until a call of a sequential tool may run: such tools run one at a time.
    async fn turn_of(
        &self,
        call: &ToolCall,
        context: &CallContext,
    ) -> Option<tokio::sync::OwnedMutexGuard<()>> {
        let is_sequential =
            |tool: &Arc<dyn AgentTool>| tool.execution_mode() == ExecutionMode::Sequential;
        if !context.tools.iter().any(is_sequential) {
            return None;
        }
        let turn = lock(&self.0.nested_calls).turn_for(&call.id)?;
        let turn = tokio::select! {
            turn = turn.lock_owned() => turn,
            // The call does not run then.
            () = context.context.cancel.cancelled() => return None,
        };
        lock(&self.0.nested_calls).take_turn(&call.id);
        Some(turn)
    }

    /// Runs a call, and emits its progress meanwhile.
    async fn run_nested(
        &self,
        call: &ToolCall,
        parent_id: &str,
        context: &CallContext,
        updates: Updates,
    ) -> FinishedCall {
        let (sender, mut reports) = mpsc::unbounded_channel();
        let reporting = Updates::new(move |output| {
            // Without a receiver the call is over.
            let _ = sender.send(output.clone());
            updates.send(output);
        });
        let mut running = std::pin::pin!(run_tool_call(call, context, reporting));
        loop {
            let report = tokio::select! {
                biased;
                Some(report) = reports.recv() => report,
                finished = &mut running => {
                    while let Ok(report) = reports.try_recv() {
                        self.emit_nested(call, parent_id, report).await;
                    }
                    return finished;
                }
            };
            self.emit_nested(call, parent_id, report).await;
        }
    }

    async fn emit_nested(&self, call: &ToolCall, parent_id: &str, report: ToolOutput) {
        if self.0.extensions.registry().withholds_results() {
            return;
        }
        self.emit(SessionEvent::ToolExecutionUpdate {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Arc::new(call.arguments.clone()),
            partial_result: Arc::new(report),
            parent_tool_call_id: Some(parent_id.to_owned()),
        })
        .await;
    }

    /// Returns the result of a call with the calls that the tool made; `None` if it made none.
    pub(super) fn with_nested_calls(&self, message: &AgentMessage) -> Option<AgentMessage> {
        let AgentMessage::Llm(Message::ToolResult(result)) = message else { return None };
        let nested = lock(&self.0.nested_calls).take(&result.tool_call_id)?;
        let mut result = Arc::clone(result);
        Arc::make_mut(&mut result).extra.insert("nestedCalls".to_owned(), nested);
        Some(Message::ToolResult(result).into())
    }
}

/// Returns true if other tools can call a tool.
fn is_callable(callable: &CallableTool, is_active: impl Fn(&str) -> bool) -> bool {
    match callable.exposure {
        Exposure::Deferred | Exposure::Codemode => true,
        Exposure::ModelOnly | Exposure::Hidden => false,
        Exposure::Direct => is_active(callable.name()),
    }
}

/// Returns the text of an output.
fn text_of(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(|block| match block {
        UserBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
