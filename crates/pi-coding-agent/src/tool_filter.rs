//! The tools that a session may offer to its model, by name.

use globset::{Glob, GlobMatcher};
use pi_config::mcp::is_mcp_tool;

/// The names of tools that a selection admits, built-in or not.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    pub(crate) only: Option<Vec<GlobMatcher>>,
    pub(crate) excluded: Vec<GlobMatcher>,
    /// Tools of MCP servers are admitted although the list of names does not name them.
    pub(crate) keeps_mcp: bool,
}

impl ToolFilter {
    /// Returns true if a tool of this name may be offered to the model.
    pub(crate) fn admits(&self, name: &str) -> bool {
        let matches = |patterns: &Vec<GlobMatcher>| patterns.iter().any(|p| p.is_match(name));
        let is_kept = self.keeps_mcp && is_mcp_tool(name);
        (is_kept || self.only.as_ref().is_none_or(matches)) && !matches(&self.excluded)
    }
}

/// Compiles names with `*`. A name that is not a valid pattern matches only itself.
pub(crate) fn patterns(names: &[String]) -> Vec<GlobMatcher> {
    let glob = |name: &String| Glob::new(name).or_else(|_| Glob::new(&globset::escape(name)));
    names.iter().filter_map(|name| glob(name).ok()).map(|glob| glob.compile_matcher()).collect()
}
