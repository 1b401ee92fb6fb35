//! The selection of the tools that a model gets.

use std::collections::BTreeSet;
use std::sync::Arc;

use pi_agent::AgentTool;
use pi_config::settings::default_tools;
use pi_config::{Settings, ToolChange};
use pi_protocol::Tool;
use pi_tools::toolset::{self, Builtin};

use crate::tool_filter::{ToolFilter, patterns};

/// Restrictions on the tools of a session. The default restricts nothing: the settings decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSelection {
    /// Disables all tools that `choice` does not name.
    pub none: bool,
    /// Disables the built-in tools that `choice` does not name.
    pub no_builtin: bool,
    /// Replaces or changes the default tools, or those of a resumed session.
    pub choice: Option<ToolChoice>,
    /// Names and patterns of tools to leave out, applied last.
    pub exclude: Vec<String>,
    /// Adds the tools for background processes to the default tools of new sessions. For programs
    /// whose sessions last longer than a command, such as a screen.
    pub background: bool,
}

/// A list of tools as `--tools` takes it: either names or changes, never both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// Exactly these tools, by name or pattern.
    Only(Vec<String>),
    /// The default tools with these changes, applied in order.
    Change(Vec<ToolChange>),
}

/// A list of tools contains both names and changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("tool names cannot be mixed with +name or -name entries")]
pub struct MixedToolEntries;

impl ToolChoice {
    /// Parses a list in which either every entry is a change or none is.
    pub fn parse(entries: &[String]) -> Result<Self, MixedToolEntries> {
        let changes = ToolChange::parse_all(entries);
        if changes.is_empty() {
            Ok(Self::Only(entries.to_vec()))
        } else if changes.len() == entries.len() {
            Ok(Self::Change(changes))
        } else {
            Err(MixedToolEntries)
        }
    }
}

/// All tools of a session, and the names of those that are active.
pub(super) struct Chosen {
    pub(super) tools: Vec<Arc<dyn AgentTool>>,
    pub(super) active: Vec<String>,
}

impl ToolSelection {
    /// Selects among the built-in and the custom tools. Custom tools are active unless excluded.
    /// Tools that extensions registered are active if they are selected by name.
    pub(super) fn choose(
        &self,
        builtin: Vec<Arc<dyn AgentTool>>,
        custom: Vec<Arc<dyn AgentTool>>,
        registered: &[String],
        settings: &Settings,
    ) -> Chosen {
        let filter = self.filter();
        let name = |tool: &Arc<dyn AgentTool>| tool.declaration().name.clone();
        let admitted = |tools: Vec<Arc<dyn AgentTool>>| -> Vec<Arc<dyn AgentTool>> {
            tools.into_iter().filter(|tool| filter.admits(&name(tool))).collect()
        };
        let (builtin, custom) = (admitted(builtin), admitted(custom));
        let mut active: Vec<String> = match &self.choice {
            // In the order of the list; those that only a pattern matches come last.
            Some(ToolChoice::Only(names)) => {
                names.iter().cloned().chain(builtin.iter().map(name)).collect()
            }
            Some(ToolChoice::Change(_)) | None => self.default_names(settings, self.background),
        };
        active.extend(custom.iter().map(name));
        let tools: Vec<_> = builtin.into_iter().chain(custom).collect();
        let mut seen = BTreeSet::new();
        active.retain(|wanted| {
            let is_registered = registered.contains(wanted) && filter.admits(wanted);
            let is_known = is_registered || tools.iter().any(|tool| name(tool) == *wanted);
            is_known && seen.insert(wanted.clone())
        });
        Chosen { tools, active }
    }

    /// Returns true if a resumed session restores its own tools.
    pub(super) fn restores(&self) -> bool {
        !self.none && !self.no_builtin && !matches!(self.choice, Some(ToolChoice::Only(_)))
    }

    /// Returns the changes to the tools of a resumed session.
    pub(super) fn changes(&self) -> &[ToolChange] {
        match &self.choice {
            Some(ToolChoice::Change(changes)) => changes,
            Some(ToolChoice::Only(_)) | None => &[],
        }
    }

    /// Returns the names of the tools that are active unless a list of names selects others.
    fn default_names(&self, settings: &Settings, background: bool) -> Vec<String> {
        let mut names = if self.none || self.no_builtin {
            Vec::new()
        } else {
            let mut names = default_tools();
            let more = toolset::BUILTIN_TOOLS.iter().filter(|tool| tool.needs_background);
            names.extend(more.filter(|_| background).map(|tool| tool.name.to_owned()));
            settings.tools_from(names)
        };
        self.changes().iter().for_each(|change| change.apply(&mut names));
        names
    }

    /// Returns true if the selection activates a built-in tool with a property. `declared` has the
    /// tools of a resumed session.
    pub(super) fn requests_any(
        &self,
        settings: &Settings,
        declared: &[Tool],
        property: impl Fn(&Builtin) -> bool,
    ) -> bool {
        // A resumed session keeps its own tools.
        let is_new = declared.is_empty() || !self.restores();
        let names = self.default_names(settings, self.background && is_new);
        let filter = self.filter();
        toolset::BUILTIN_TOOLS.iter().any(|builtin| {
            let restored = || declared.iter().any(|tool| tool.name == builtin.name);
            let named = match &self.choice {
                Some(ToolChoice::Only(_)) => true,
                Some(ToolChoice::Change(_)) | None => {
                    names.iter().any(|name| name == builtin.name) || self.restores() && restored()
                }
            };
            property(builtin) && named && filter.admits(builtin.name)
        })
    }
}

impl ToolSelection {
    /// Returns the filter for tools that are registered later.
    pub(super) fn filter(&self) -> ToolFilter {
        let only = match &self.choice {
            Some(ToolChoice::Only(names)) => Some(patterns(names)),
            Some(ToolChoice::Change(changes)) if self.none => {
                let mut names = Vec::new();
                changes.iter().for_each(|change| change.apply(&mut names));
                Some(patterns(&names))
            }
            None if self.none => Some(Vec::new()),
            Some(ToolChoice::Change(_)) | None => None,
        };
        let keeps_mcp = match &self.choice {
            Some(ToolChoice::Only(names)) => {
                !self.none && !names.iter().any(|name| name.starts_with("mcp__"))
            }
            _ => false,
        };
        ToolFilter { only, excluded: patterns(&self.exclude), keeps_mcp }
    }
}
