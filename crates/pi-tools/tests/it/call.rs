//! Calls of tools as in the agent loop.

use std::path::Path;
use std::sync::Arc;

use pi_agent::{AgentTool, Invocation, ToolError, ToolOutput, Updates};
use pi_protocol::{CancelToken, UserBlock};
use pi_tools::{Host, Workspace};
use serde_json::{Map, Value};

/// A workspace in a directory of this machine.
pub(crate) fn workspace(directory: &Path) -> Arc<Workspace> {
    Arc::new(Workspace::new(Arc::new(Host::default()), directory.to_owned(), None))
}

/// Calls a tool with these arguments.
pub(crate) async fn call(tool: &dyn AgentTool, arguments: &Value) -> Result<ToolOutput, ToolError> {
    call_with(tool, arguments, CancelToken::new()).await
}

/// Calls a tool in a run that can be aborted.
pub(crate) async fn call_with(
    tool: &dyn AgentTool,
    arguments: &Value,
    cancel: CancelToken,
) -> Result<ToolOutput, ToolError> {
    let raw: &Map<String, Value> = arguments.as_object().expect("arguments are an object");
    let arguments = tool.prepare_arguments(raw).await?.unwrap_or_else(|| raw.clone());
    let updates = Updates::new(|_| {});
    tool.execute(Invocation::new("1", arguments, cancel, updates)).await
}

/// The text of a result or an error.
pub(crate) fn text(result: &Result<ToolOutput, ToolError>) -> String {
    match result {
        Ok(output) => output.content.iter().filter_map(UserBlock::as_text).collect(),
        Err(error) => format!("error: {error}"),
    }
}
