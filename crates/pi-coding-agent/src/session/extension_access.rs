//! Access for extensions: entries, reports, models, and tools that call tools.

use std::sync::Arc;

use pi_agent::{
    AgentTool, CallContext, ContextView, FinishedCall, ToolOutput, Updates, arguments,
    run_tool_call,
};
use pi_protocol::{AssistantMessage, CancelToken, Entry, Model, Provider, ToolCall};
use pi_session::SessionError;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{AgentSession, SessionEvent, no_model};
use crate::extension::Exposure;
use crate::models::ModelRegistry;

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
}

impl AgentSession {
    /// Appends an entry of an extension, which the model does not see.
    pub async fn append_entry(
        &self,
        custom_type: &str,
        data: Option<Value>,
    ) -> Result<Arc<Entry>, SessionError> {
        let id = self.log().append_custom(custom_type, data)?;
        self.entry_appended(&id).await
    }

    /// Reports a failure of an extension to subscribers.
    pub async fn report_extension_error(&self, extension: &str, event: &str, error: &str) {
        let failure = crate::extension::ExtensionFailure::from_parts(extension, event, error);
        self.report(vec![failure]).await;
    }

    /// Reads the log again, after code outside of the session changed what the model sees.
    pub fn log_changed(&self) {
        if let Err(error) = self.refresh() {
            self.notify_error(format!("The session cannot be read: {error}"));
        }
    }

    /// Returns the models; `None` if the session has a model of the program.
    pub fn models(&self) -> Option<&Arc<ModelRegistry>> {
        self.0.models.as_ref()
    }

    /// Reads the providers and tools that extensions registered since the last turn.
    pub fn refresh_registry(&self) {
        self.read_registry();
    }

    /// Validates arguments for a tool that something other than the model wrote, against the
    /// schema of the tool.
    pub(crate) fn check_arguments(
        &self,
        tool: &str,
        given: &Value,
    ) -> Result<Map<String, Value>, String> {
        let all = self.all_tools();
        let found = all.iter().find(|other| other.declaration().name == tool);
        let found = found.ok_or_else(|| format!("the tool {tool} does not exist"))?;
        let schema = &found.declaration().parameters;
        match arguments::check_value(tool, given, schema).map_err(|error| error.to_string())? {
            Value::Object(arguments) => Ok(arguments),
            _ => Err("the arguments are not an object".to_owned()),
        }
    }

    /// Returns true if a call of this tool gives the final result.
    pub(crate) fn receives_result(&self, tool: &str) -> bool {
        let registered = self.0.extensions.registry().tools();
        registered.iter().any(|one| one.receives_result && one.tool.declaration().name == tool)
    }

    /// Returns the provider that answers the requests of all models.
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.0.provider
    }

    /// Returns the tools that other tools can call.
    pub fn callable_tools(&self) -> Vec<Arc<dyn AgentTool>> {
        let active = self.selection().active_tools.clone();
        let exposures = self.0.extensions.registry().tool_exposures();
        let all = self.all_tools();
        let callable = all.iter().filter(|tool| {
            let name = &tool.declaration().name;
            match exposures.get(name) {
                Some(Exposure::Deferred | Exposure::Codemode) => true,
                Some(Exposure::ModelOnly | Exposure::Hidden) => false,
                Some(Exposure::Direct) | None => active.contains(name),
            }
        });
        callable.cloned().collect()
    }

    /// Executes a tool for another tool: with the same checks and questions as a call of the
    /// model, but without a message.
    pub async fn execute_nested(
        &self,
        nested: NestedCall,
        cancel: CancelToken,
        updates: Updates,
    ) -> FinishedCall {
        let NestedCall { id, parent_id, name, arguments } = nested;
        let call = ToolCall { id, name, arguments, ..ToolCall::default() };
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
        let mut context = CallContext::new(self.callable_tools(), message, view, hooks);
        if let Some(budget) = self.budget() {
            context = context.with_budget(budget);
        }
        let finished = self.run_nested(&call, &parent_id, &context, updates).await;
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
        self.emit(SessionEvent::ToolExecutionUpdate {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: Arc::new(call.arguments.clone()),
            partial_result: Arc::new(report),
            parent_tool_call_id: Some(parent_id.to_owned()),
        })
        .await;
    }

    /// Returns the model with these ids, with or without credentials.
    pub fn known_model(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        match &self.0.models {
            Some(models) => models.find(provider, id),
            None => self.find_model(provider, id),
        }
    }
}
