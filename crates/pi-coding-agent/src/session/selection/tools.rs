//! The active tools of a session: those that the model has.

use std::sync::Arc;

use pi_agent::AgentTool;
use pi_config::ToolChange;
use pi_tools::toolset::BUILTIN_TOOLS;

use super::super::AgentSession;

impl AgentSession {
    /// Returns all tools, active or not.
    pub fn all_tools(&self) -> Arc<[Arc<dyn AgentTool>]> {
        self.0.toolbox.all()
    }

    /// Returns the tools that the model has.
    pub fn active_tools(&self) -> Vec<Arc<dyn AgentTool>> {
        self.activate_added(false);
        let all = self.all_tools();
        let names = self.selection().active_tools.clone();
        let find =
            |name: &String| all.iter().find(|tool| tool.declaration().name == *name).cloned();
        names.iter().filter_map(find).collect()
    }

    /// Returns the active tools that are not registered: those that a resumed session had.
    pub fn missing_tools(&self) -> Vec<String> {
        let all = self.all_tools();
        let is_known = |name: &String| all.iter().any(|tool| tool.declaration().name == *name);
        let mut names = self.selection().active_tools.clone();
        names.retain(|name| !is_known(name));
        names
    }

    /// Gives the model these tools; unknown names are ignored. Tools that stay keep their order,
    /// so that the prompt stays as it is.
    ///
    /// Active tools that are not registered at the moment stay active, unless the list leaves out
    /// one that is: then it is a new choice, not an addition.
    pub fn set_active_tools(&self, names: &[String]) {
        self.activate_added(false);
        let all = self.all_tools();
        let is_known = |name: &String| all.iter().any(|tool| tool.declaration().name == *name);
        let mut selection = self.selection();
        let is_left_out = |name: &String| is_known(name) && !names.contains(name);
        let is_new_choice = selection.active_tools.iter().any(is_left_out);
        selection
            .active_tools
            .retain(|name| names.contains(name) || !is_new_choice && !is_known(name));
        for name in names {
            if is_known(name) && !selection.active_tools.contains(name) {
                selection.active_tools.push(name.clone());
            }
        }
    }

    /// Gives the model these tools in addition to those that it has; unknown names are ignored.
    pub fn activate_tools(&self, names: &[String]) {
        self.activate_added(false);
        let all = self.all_tools();
        let is_known = |name: &String| all.iter().any(|tool| tool.declaration().name == *name);
        let mut selection = self.selection();
        for name in names {
            if is_known(name) && !selection.active_tools.contains(name) {
                selection.active_tools.push(name.clone());
            }
        }
    }

    /// Takes these tools from the model.
    pub fn deactivate_tools(&self, names: &[String]) {
        self.activate_added(false);
        self.selection().active_tools.retain(|name| !names.contains(name));
    }

    /// Reads the registry: models of its providers, and tools, which are active as soon as they
    /// are registered.
    pub(in crate::session) fn read_registry(&self) {
        self.activate_added(true);
        if let Some(models) = &self.0.models {
            let registry = self.0.extensions.registry();
            models.set_registered(registry.generation(), || registry.registrations());
        }
    }

    /// Activates tools that the registry has gained. Those that a session begins with count only if
    /// `includes_first`.
    fn activate_added(&self, includes_first: bool) {
        self.0.toolbox.take_added(includes_first, |added| {
            let mut selection = self.selection();
            for name in added {
                if !selection.active_tools.contains(name) {
                    selection.active_tools.push(name.clone());
                }
            }
        });
    }

    /// Gives the model the tools that the log declares, with these changes, and tools that are new
    /// to the log. A log that declares none has none.
    ///
    /// Tools of servers that are not connected yet are among them. Tools that another branch loaded
    /// are not.
    pub(in crate::session) fn restore_tools(&self, changes: &[ToolChange]) {
        let Ok(outline) = self.log().outline() else { return };
        if outline.declared.timestamp.is_none() {
            return;
        }
        let mut names: Vec<String> =
            outline.declared.tools.into_iter().map(|tool| tool.name).collect();
        let registered = self.0.toolbox.active_at_once();
        let mut selection = self.selection();
        for name in &selection.active_tools {
            let is_builtin = BUILTIN_TOOLS.iter().any(|tool| tool.name == *name);
            let is_own = registered.contains(name) || selection.first_tools.contains(name);
            if is_own && !is_builtin && !outline.mentioned_tools.contains(name) {
                names.push(name.clone());
            }
        }
        changes.iter().for_each(|change| change.apply(&mut names));
        selection.active_tools.retain(|name| names.contains(name));
        for name in names {
            if !selection.active_tools.contains(&name) {
                selection.active_tools.push(name);
            }
        }
    }
}
