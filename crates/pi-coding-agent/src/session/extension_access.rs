//! Access for extensions: entries, reports, models and tools.

use std::path::PathBuf;
use std::sync::Arc;

use pi_models::ModelRegistry;
use pi_protocol::{Entry, Model, Provider};
use pi_schema::arguments;
use pi_session::SessionError;
use serde_json::{Map, Value};

use super::{AgentSession, SessionEvent, WeakAgentSession};
use crate::extension::{EmitEvent, ExtensionContext, ExtensionFailure, ToolWait};

impl ExtensionContext {
    /// Returns the session; `None` if it is gone or does not exist yet.
    pub fn session(&self) -> Option<AgentSession> {
        self.handle::<WeakAgentSession>()?.upgrade()
    }

    /// Reports an error of an extension that no call returns to the session. Without a session it
    /// is dropped.
    pub async fn report_failure(&self, extension: &str, event: &str, error: &str) {
        if let Some(session) = self.session() {
            session.report(vec![ExtensionFailure::from_parts(extension, event, error)]).await;
        }
    }
}

impl WeakAgentSession {
    /// Returns the function that emits the events of the session's user interface.
    pub(super) fn emit_event(&self) -> EmitEvent {
        let this = self.clone();
        Arc::new(move |event| {
            let session = this.upgrade();
            Box::pin(async move {
                if let Some(session) = session {
                    session.emit(event).await;
                }
            })
        })
    }
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
        let failure = ExtensionFailure::from_parts(extension, event, error);
        self.report(vec![failure]).await;
    }

    /// Reports that extensions registered or removed MCP servers.
    pub async fn mcp_servers_changed(&self, servers: Vec<Value>) {
        self.emit(SessionEvent::McpServersChange { servers }).await;
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

    /// Saves output that is too long for a result, or not text, in a file of the session. Returns
    /// its path; `None` if the session saves no output.
    pub fn save_output(&self, suffix: &str, bytes: &[u8]) -> std::io::Result<Option<PathBuf>> {
        self.0.workspace.bash().save(suffix, bytes)
    }

    /// Waits until tools are registered that connect in the background, in bounded time.
    pub async fn wait_for_tools(&self, wait: ToolWait) {
        self.0.extensions.registry().wait_for_tools(wait).await;
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

    /// Returns the model with these ids, with or without credentials.
    pub fn known_model(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        match &self.0.models {
            Some(models) => models.find(provider, id),
            None => self.find_model(provider, id),
        }
    }
}
