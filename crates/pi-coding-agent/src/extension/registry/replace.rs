//! Replacing everything of one kind that an owner registered, in one step.

use std::collections::BTreeSet;

use super::{Command, Owned, Registry, RegistryError, ToolRegistration};

impl Registry {
    /// Replaces the tools and commands of an owner. Tools whose names others have registered are
    /// left out and returned as conflicts. The registry changes at most once.
    pub fn replace_items(
        &self,
        owner: &str,
        tools: Vec<ToolRegistration>,
        commands: Vec<Command>,
    ) -> Vec<RegistryError> {
        let mut contents = self.contents();
        contents.tools.retain(|tool| *tool.owner != *owner);
        contents.commands.retain(|command| *command.owner != *owner);
        let name = |tool: &ToolRegistration| tool.tool.declaration().name.clone();
        let taken: BTreeSet<String> = contents.tools.iter().map(|tool| name(&tool.item)).collect();
        let mut conflicts = Vec::new();
        for tool in tools {
            let name = name(&tool);
            if taken.contains(&name) {
                let other = contents.tools.iter();
                let mut other = other.filter(|other| other.item.tool.declaration().name == name);
                let owner = other.next().map(|other| other.owner.to_string()).unwrap_or_default();
                conflicts.push(RegistryError::ToolConflict { name, owner });
            } else {
                contents.tools.push(Owned::new(owner, tool));
            }
        }
        contents.commands.extend(commands.into_iter().map(|command| Owned::new(owner, command)));
        contents.changed();
        conflicts
    }
}
