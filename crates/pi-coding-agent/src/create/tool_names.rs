//! Checks the names of tools that options and settings select.
//!
//! A tool to exclude that does not exist is an error: excluding is a safety decision, and a
//! misspelled name would leave the tool enabled.

use pi_config::omissions::{Omission, is_typescript_tool};
use pi_config::{Settings, ToolChange};

use super::tools::{ToolChoice, ToolSelection};
use crate::tool_filter::patterns;

/// The tool selection names tools that do not exist, and must not be applied without them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownToolError {
    /// A tool to exclude does not exist.
    #[error("unknown tool \"{name}\" cannot be excluded")]
    Excluded {
        /// Name or pattern of the tool.
        name: String,
        /// Names of the tools that exist.
        known: Vec<String>,
    },
    /// None of the tools to enable exists.
    #[error("none of the selected tools exists: {}", names.join(", "))]
    NoneSelected {
        /// Names or patterns of the tools.
        names: Vec<String>,
        /// Names of the tools that exist.
        known: Vec<String>,
    },
}

impl ToolSelection {
    /// Returns the selected tools that do not exist. `known` has the names of all tools.
    pub(super) fn unknown(
        &self,
        settings: &Settings,
        known: &[String],
    ) -> Result<Vec<Omission>, UnknownToolError> {
        let exists = |name: &String| {
            let pattern = patterns(std::slice::from_ref(name));
            known.iter().any(|tool| pattern.iter().any(|pattern| pattern.is_match(tool)))
        };
        let known = || known.to_vec();
        let excluded = |name: &String| match exists(name) || is_typescript_tool(name) {
            // A tool that this version does not have is excluded already.
            true => Ok(()),
            false => Err(UnknownToolError::Excluded { name: name.clone(), known: known() }),
        };
        self.exclude.iter().try_for_each(excluded)?;
        let mut unknown: Vec<String> = Vec::new();
        match &self.choice {
            Some(ToolChoice::Only(names)) => {
                if !names.is_empty() && !names.iter().any(exists) {
                    let (names, known) = (names.clone(), known());
                    return Err(UnknownToolError::NoneSelected { names, known });
                }
                unknown.extend(names.iter().filter(|name| !exists(name)).cloned());
            }
            Some(ToolChoice::Change(changes)) => {
                for change in changes {
                    match change {
                        ToolChange::Add(name) if !exists(name) => unknown.push(name.clone()),
                        ToolChange::Remove(name) => excluded(name)?,
                        ToolChange::Add(_) => {}
                    }
                }
            }
            None => {}
        }
        // A list of names replaces the tools of the settings.
        if !matches!(self.choice, Some(ToolChoice::Only(_))) {
            for entry in settings.default_tools.iter().flatten() {
                let name = entry.trim_start_matches(['+', '-']).to_owned();
                let removed = entry.starts_with('-') && is_typescript_tool(&name);
                if !exists(&name) && !removed {
                    unknown.push(name);
                }
            }
        }
        Ok(unknown.into_iter().map(|name| Omission::Tool { name, known: known() }).collect())
    }
}
