//! The list of built-in tools. A new tool is one file and one line in [`BUILTIN_TOOLS`].

use std::sync::Arc;

use pi_agent::{AgentTool, FnTool};
use pi_protocol::{ConstrainedSampling, Effects, StrictMode};
use serde_json::{Map, Value};

use crate::workspace::Workspace;
use crate::{bash, edit, find, grep, ls, process, read, write};

/// All built-in tools, in the order of the system prompt. `process` is only built for workspaces
/// with background processes ([`Workspace::with_background`]).
pub const BUILTIN_TOOLS: &[Builtin] = &[
    read::BUILTIN,
    bash::BUILTIN,
    edit::BUILTIN,
    write::BUILTIN,
    grep::BUILTIN,
    find::BUILTIN,
    ls::BUILTIN,
    process::BUILTIN,
];

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

/// Builds every tool that the workspace supports.
pub fn all(workspace: &Arc<Workspace>) -> Vec<Arc<dyn AgentTool>> {
    BUILTIN_TOOLS.iter().filter_map(|builtin| builtin.build(workspace)).collect()
}

/// Builds the tools that are active by default.
pub fn coding(workspace: &Arc<Workspace>) -> Vec<Arc<dyn AgentTool>> {
    let active = BUILTIN_TOOLS.iter().filter(|builtin| builtin.active_by_default);
    active.filter_map(|builtin| builtin.build(workspace)).collect()
}

/// Returns the built-in tool of this name.
pub fn find_builtin(name: &str) -> Option<&'static Builtin> {
    BUILTIN_TOOLS.iter().find(|builtin| builtin.name == name)
}

/// Declares the effects of a recorded call of a built-in tool; the effects of other tools are
/// unknown.
///
/// On Windows, sessions of the TypeScript pi call `powershell` instead of `bash`.
pub fn effects_of(name: &str, arguments: &Map<String, Value>) -> Effects {
    let name = if name == "powershell" { bash::BUILTIN.name } else { name };
    find_builtin(name).map_or_else(Effects::unknown, |builtin| (builtin.effects)(arguments))
}
