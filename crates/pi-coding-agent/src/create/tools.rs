//! The selection of the tools that a model gets.

use std::sync::Arc;

use globset::{Glob, GlobMatcher};
use pi_agent::AgentTool;
use pi_tools::toolset::{self, Builtin};

use crate::config::Settings;
use crate::config::settings::default_tools;

/// Restrictions on the tools of a session. The default restricts nothing: the settings decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSelection {
    /// Disables all tools.
    pub none: bool,
    /// Disables the built-in tools.
    pub no_builtin: bool,
    /// Replaces or changes the default tools.
    pub choice: Option<ToolChoice>,
    /// Names and patterns of tools to leave out, applied last.
    pub exclude: Vec<String>,
}

/// A list of tools as `--tools` takes it: either names or changes, never both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// Exactly these tools, by name or pattern.
    Only(Vec<String>),
    /// The default tools with these changes, applied in order.
    Change(Vec<ToolChange>),
}

/// A change to the default tools, written `+name` or `-name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChange {
    /// Adds the tool of this name.
    Add(String),
    /// Removes the tool of this name.
    Remove(String),
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

impl ToolChange {
    /// Parses `+name` and `-name`; any other entry names a tool and returns `None`.
    pub fn parse(entry: &str) -> Option<Self> {
        if let Some(name) = entry.strip_prefix('+') {
            Some(Self::Add(name.to_owned()))
        } else {
            entry.strip_prefix('-').map(|name| Self::Remove(name.to_owned()))
        }
    }

    /// Parses the entries of a list that are changes.
    pub(crate) fn parse_all(entries: &[String]) -> Vec<Self> {
        entries.iter().filter_map(|entry| Self::parse(entry)).collect()
    }

    /// Applies the change to a list of tool names.
    pub(crate) fn apply(&self, tools: &mut Vec<String>) {
        match self {
            Self::Add(name) => {
                if !tools.contains(name) {
                    tools.push(name.clone());
                }
            }
            Self::Remove(name) => tools.retain(|tool| tool != name),
        }
    }
}

/// All tools of a session, and the names of those that are active.
pub(super) struct Chosen {
    pub(super) tools: Vec<Arc<dyn AgentTool>>,
    pub(super) active: Vec<String>,
    /// A resumed session restores its own active tools.
    pub(super) restore: bool,
}

impl ToolSelection {
    /// Selects among the built-in and the custom tools. Custom tools are active unless excluded.
    pub(super) fn choose(
        &self,
        builtin: Vec<Arc<dyn AgentTool>>,
        custom: Vec<Arc<dyn AgentTool>>,
        settings: &Settings,
    ) -> Chosen {
        if self.none {
            return Chosen { tools: Vec::new(), active: Vec::new(), restore: false };
        }
        let usual = self.default_names(settings);
        let filter = self.filter();
        let name = |tool: &Arc<dyn AgentTool>| tool.declaration().name.clone();
        let wanted = |tool: &Arc<dyn AgentTool>| filter.admits(&name(tool));
        let builtin = if self.no_builtin { Vec::new() } else { builtin };
        let (ours, others): (Vec<_>, Vec<_>) = (
            builtin.into_iter().filter(&wanted).collect(),
            custom.into_iter().filter(&wanted).collect(),
        );
        let mut active: Vec<String> = match &self.choice {
            Some(ToolChoice::Only(_)) => ours.iter().map(name).collect(),
            _ => {
                let there: Vec<String> = ours.iter().map(name).collect();
                usual.into_iter().filter(|name| there.contains(name)).collect()
            }
        };
        active.extend(others.iter().map(name));
        let tools = ours.into_iter().chain(others).collect();
        Chosen { tools, active, restore: *self == Self::default() }
    }
}

impl ToolSelection {
    /// Returns the names of the tools that are active unless a list of names selects others.
    fn default_names(&self, settings: &Settings) -> Vec<String> {
        let mut names = settings.default_tools().unwrap_or_else(default_tools);
        if let Some(ToolChoice::Change(changes)) = &self.choice {
            changes.iter().for_each(|change| change.apply(&mut names));
        }
        names
    }

    /// Returns true if the selection activates a built-in tool with a property.
    pub(super) fn requests_any(
        &self,
        settings: &Settings,
        property: impl Fn(&Builtin) -> bool,
    ) -> bool {
        if self.none || self.no_builtin {
            return false;
        }
        let names = self.default_names(settings);
        let filter = self.filter();
        toolset::BUILTIN_TOOLS.iter().any(|builtin| {
            let named = match &self.choice {
                Some(ToolChoice::Only(_)) => true,
                Some(ToolChoice::Change(_)) | None => names.iter().any(|name| name == builtin.name),
            };
            property(builtin) && named && filter.admits(builtin.name)
        })
    }
}

/// The names of tools that a selection admits, built-in or not.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    none: bool,
    only: Option<Vec<GlobMatcher>>,
    excluded: Vec<GlobMatcher>,
}

impl ToolFilter {
    /// Returns true if a tool of this name may be offered to the model.
    pub(crate) fn admits(&self, name: &str) -> bool {
        let matches = |patterns: &Vec<GlobMatcher>| patterns.iter().any(|p| p.is_match(name));
        !self.none && self.only.as_ref().is_none_or(matches) && !matches(&self.excluded)
    }
}

impl ToolSelection {
    /// Returns the filter for tools that are registered later.
    pub(super) fn filter(&self) -> ToolFilter {
        let only = match &self.choice {
            Some(ToolChoice::Only(names)) => Some(patterns(names)),
            Some(ToolChoice::Change(_)) | None => None,
        };
        ToolFilter { none: self.none, only, excluded: patterns(&self.exclude) }
    }
}

/// Compiles names with `*`. A name that is not a valid pattern matches only itself.
pub(super) fn patterns(names: &[String]) -> Vec<GlobMatcher> {
    let glob = |name: &String| Glob::new(name).or_else(|_| Glob::new(&globset::escape(name)));
    names.iter().filter_map(|name| glob(name).ok()).map(|glob| glob.compile_matcher()).collect()
}
