//! The list of built-in tools. A new tool is one file and one line in [`BUILTIN_TOOLS`].

use std::sync::Arc;

use pi_agent::AgentTool;
use pi_protocol::Effects;
use serde_json::{Map, Value};

pub use crate::builtin::Builtin;
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
