//! Which tools a model gets.

use std::sync::Arc;

use globset::{Glob, GlobMatcher};
use pi_agent::AgentTool;

use crate::config::Settings;
use crate::config::settings::{DEFAULT_TOOLS, apply_tool_modifiers};

/// What is said about tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// No tools at all.
    pub none: bool,
    /// None of ours.
    pub no_builtin: bool,
    /// These, or changes to the usual ones.
    pub choice: Option<ToolChoice>,
    /// Names and patterns of those that are not wanted, applied last.
    pub exclude: Vec<String>,
}

/// Which tools are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// These and no others, by name or pattern.
    Only(Vec<String>),
    /// The usual ones with these changes: `+name`, `-name`.
    Change(Vec<String>),
}

/// The tools there are, and the names of those that the model has.
pub(super) struct Chosen {
    pub(super) tools: Vec<Arc<dyn AgentTool>>,
    pub(super) active: Vec<String>,
    /// What a conversation says about tools counts.
    pub(super) restore: bool,
}

impl ToolSelection {
    /// Chooses among our tools and those of others, which are active unless they are not wanted.
    pub(super) fn choose(
        &self,
        builtin: Vec<Arc<dyn AgentTool>>,
        custom: Vec<Arc<dyn AgentTool>>,
        settings: &Settings,
    ) -> Chosen {
        if self.none {
            return Chosen { tools: Vec::new(), active: Vec::new(), restore: false };
        }
        let usual = settings.default_tools();
        let mut usual = usual.unwrap_or_else(|| DEFAULT_TOOLS.map(str::to_owned).to_vec());
        let mut allowed: Option<Vec<GlobMatcher>> = None;
        match &self.choice {
            Some(ToolChoice::Change(changes)) => usual = apply_tool_modifiers(usual, changes),
            Some(ToolChoice::Only(names)) => allowed = Some(patterns(names)),
            None => {}
        }
        let excluded = patterns(&self.exclude);
        let name = |tool: &Arc<dyn AgentTool>| tool.declaration().name.clone();
        let is_in =
            |patterns: &[GlobMatcher], name: &str| patterns.iter().any(|p| p.is_match(name));
        let wanted = |tool: &Arc<dyn AgentTool>| {
            let name = name(tool);
            allowed.as_ref().is_none_or(|allowed| is_in(allowed, &name)) && !is_in(&excluded, &name)
        };
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

/// Names with `*`; what is no pattern matches nothing but itself.
fn patterns(names: &[String]) -> Vec<GlobMatcher> {
    let glob = |name: &String| Glob::new(name).or_else(|_| Glob::new(&globset::escape(name)));
    names.iter().filter_map(|name| glob(name).ok()).map(|glob| glob.compile_matcher()).collect()
}
