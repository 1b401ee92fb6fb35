//! Changes to a list of tools, as settings and options write them.

/// A change to the default tools, written `+name` or `-name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChange {
    /// Adds the tool of this name.
    Add(String),
    /// Removes the tool of this name.
    Remove(String),
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
    pub fn parse_all(entries: &[String]) -> Vec<Self> {
        entries.iter().filter_map(|entry| Self::parse(entry)).collect()
    }

    /// Applies the change to a list of tool names.
    pub fn apply(&self, tools: &mut Vec<String>) {
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
