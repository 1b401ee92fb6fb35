//! A built-in tool as an entry of the list of them.

use std::sync::Arc;

use pi_agent::{AgentTool, FnTool};
use pi_protocol::{ConstrainedSampling, Effects, StrictMode};
use serde_json::{Map, Value};

use crate::workspace::Workspace;

/// Constrains the model to the schema if the provider can. For tools that change files or are
/// called often.
pub(crate) const STRICT: ConstrainedSampling =
    ConstrainedSampling::JsonSchema { strict: StrictMode::Prefer };

/// A built-in tool: its name, and functions that work without an instance of it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Builtin {
    /// Name that the model calls.
    pub name: &'static str,
    /// The tool is active unless the user selects others.
    pub active_by_default: bool,
    /// The tool needs a workspace with background processes.
    pub needs_background: bool,
    /// Builds the tool for a workspace; `None` if the workspace does not support it.
    pub(crate) build: fn(Arc<Workspace>) -> Option<FnTool>,
    /// Declares the effects of a call.
    pub(crate) effects: fn(&Map<String, Value>) -> Effects,
    /// Returns the schema of the structured content of results.
    pub(crate) output_schema: Option<fn() -> Value>,
}

impl Builtin {
    /// Returns the schema of the structured content of results; `None` for tools whose results are
    /// text.
    pub fn output_schema(&self) -> Option<Value> {
        self.output_schema.map(|schema| schema())
    }

    /// Builds the tool for a workspace; `None` if the workspace does not support it.
    pub fn build(&self, workspace: &Arc<Workspace>) -> Option<Arc<dyn AgentTool>> {
        let tool = (self.build)(Arc::clone(workspace))?;
        let workspace = Arc::clone(workspace);
        Some(Arc::new(tool.identify_file(move |path| {
            let workspace = Arc::clone(&workspace);
            async move { workspace.identify_file(&path).await }
        })))
    }
}
