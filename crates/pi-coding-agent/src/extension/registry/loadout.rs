//! Loadouts: the tools of a request, and a tool that changes how the others are declared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use pi_agent::AgentTool;
use serde::Deserialize;
use serde_json::Value;

use super::{Exposure, Registry, ToolRegistration};

/// A tool that other tools can call.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallableTool {
    /// The tool, behind the guard.
    pub tool: Arc<dyn AgentTool>,
    /// The callers that can reach the tool.
    pub exposure: Exposure,
    /// Group of the tool.
    pub namespace: Option<Namespace>,
    /// Schema of the structured content of results.
    pub output_schema: Option<Value>,
    /// Scripts find the tool in the description of `codemode`. Tools that appear and vanish with a
    /// server are not listed, so that the description stays as it is.
    pub is_listed: bool,
}

/// A group of tools, such as those of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Namespace {
    /// Name of the group.
    pub name: String,
    /// Other names of the group.
    pub aliases: Vec<String>,
    /// What the tools offer, in a sentence.
    pub description: Option<String>,
    /// How the tools are used.
    pub instructions: Option<String>,
}

/// The tools of the next request.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Loadout {
    /// Names of the active tools, in the order in which they are declared.
    pub active: Vec<String>,
    /// Tools that other tools can call.
    pub callable: Vec<CallableTool>,
}

/// Changes of the declarations of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadoutChange {
    /// Descriptions that replace those of active tools, by name.
    pub descriptions: BTreeMap<String, String>,
    /// Active tools that requests do not declare. Other tools can still call them.
    pub hidden: BTreeSet<String>,
}

/// Changes how tools are declared.
///
/// Contract: equal loadouts lead to equal changes, so that requests share a cached beginning. It
/// does not call back into the session.
pub type PrepareLoadout = Arc<dyn Fn(&Loadout) -> LoadoutChange + Send + Sync>;

impl Registry {
    /// Returns the functions that change declarations, with the names of their tools.
    pub(crate) fn loadout_preparers(&self) -> Vec<(String, PrepareLoadout)> {
        let contents = self.contents();
        let tools = contents.tools.iter().filter_map(|tool| {
            let prepare = tool.item.prepare_loadout.clone()?;
            Some((tool.item.tool.declaration().name.clone(), prepare))
        });
        tools.collect()
    }
}

impl CallableTool {
    /// Describes a tool to others that call it; `None` for a built-in tool that was not registered.
    pub fn new(tool: Arc<dyn AgentTool>, registered: Option<&ToolRegistration>) -> Self {
        let builtin = || pi_tools::toolset::find_builtin(&tool.declaration().name);
        let output_schema = match registered {
            Some(registration) => registration.output_schema.clone(),
            None => builtin().and_then(|builtin| builtin.output_schema()),
        };
        let is_listed = registered.is_some_and(|registration| {
            registration.exposure == Exposure::Codemode && registration.reached_through.is_none()
        });
        let namespace = registered.and_then(|registration| registration.namespace.clone());
        Self {
            exposure: registered.map_or(Exposure::Direct, |registration| registration.exposure),
            // An object that is not a namespace does not group the tool.
            namespace: namespace.and_then(|value| serde_json::from_value(value).ok()),
            output_schema,
            is_listed,
            tool,
        }
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        &self.tool.declaration().name
    }
}

impl Namespace {
    /// Returns true if the group has this name or alias.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

impl fmt::Debug for CallableTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallableTool")
            .field("name", &self.name())
            .field("exposure", &self.exposure)
            .finish_non_exhaustive()
    }
}
