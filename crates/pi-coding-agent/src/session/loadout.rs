//! The tools of the next request, as the active tools want them to be declared.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::{AgentTool, BoxFuture, ExecutionMode, Invocation, ToolError, ToolOutput};
use pi_protocol::{Effects, Tool};
use serde_json::{Map, Value};

use super::{AgentSession, lock};
use crate::extension::{Loadout, LoadoutChange};
use crate::tool_search::ToolIndex;

impl AgentSession {
    /// Returns the tools that requests declare: the active ones, with the changes that some of
    /// them make to the declarations of the others.
    pub fn declared_tools(&self) -> Vec<Arc<dyn AgentTool>> {
        let active = self.active_tools();
        match self.loadout_change(&active) {
            Some(change) => declared(active, change),
            None => active,
        }
    }

    /// Returns the active tools that requests do not declare.
    pub(super) fn hidden_tools(&self) -> BTreeSet<String> {
        let change = self.loadout_change(&self.active_tools());
        change.map(|change| change.hidden).unwrap_or_default()
    }

    /// Returns the search index of all tools. It is built once per tool set.
    pub fn tool_index(&self) -> Arc<ToolIndex> {
        let generation = self.0.extensions.registry().generation();
        let mut cached = lock(&self.0.tool_index);
        match &*cached {
            Some((built, index)) if *built == generation => Arc::clone(index),
            _ => {
                let index = Arc::new(ToolIndex::new(&self.known_tools()));
                *cached = Some((generation, Arc::clone(&index)));
                index
            }
        }
    }

    fn loadout_change(&self, active: &[Arc<dyn AgentTool>]) -> Option<LoadoutChange> {
        let preparing = self.0.extensions.registry().loadout_preparers();
        let is_active = |name: &str| active.iter().any(|tool| tool.declaration().name == name);
        let mut preparing = preparing.into_iter().filter(|(name, _)| is_active(name)).peekable();
        preparing.peek()?;
        let names = active.iter().map(|tool| tool.declaration().name.clone());
        let loadout = Loadout { active: names.collect(), callable: self.callable() };
        let mut all = LoadoutChange::default();
        for (_, prepare) in preparing {
            let change = prepare(&loadout);
            all.descriptions.extend(change.descriptions);
            all.hidden.extend(change.hidden);
        }
        Some(all)
    }
}

/// Applies changes to the declarations of tools.
fn declared(active: Vec<Arc<dyn AgentTool>>, change: LoadoutChange) -> Vec<Arc<dyn AgentTool>> {
    let LoadoutChange { mut descriptions, hidden } = change;
    let shown = active.into_iter().filter(|tool| !hidden.contains(&tool.declaration().name));
    let declare = |tool: Arc<dyn AgentTool>| -> Arc<dyn AgentTool> {
        let Some(description) = descriptions.remove(&tool.declaration().name) else { return tool };
        let declaration = Tool { description, ..tool.declaration().clone() };
        Arc::new(Described { inner: tool, declaration })
    };
    shown.map(declare).collect()
}

/// A tool with another description.
struct Described {
    inner: Arc<dyn AgentTool>,
    declaration: Tool,
}

impl AgentTool for Described {
    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    fn label(&self) -> Cow<'_, str> {
        self.inner.label()
    }

    fn prompt_snippet(&self) -> Option<&str> {
        self.inner.prompt_snippet()
    }

    fn prompt_guidelines(&self) -> &[String] {
        self.inner.prompt_guidelines()
    }

    fn execution_mode(&self) -> ExecutionMode {
        self.inner.execution_mode()
    }

    fn prepare_arguments<'a>(
        &'a self,
        raw: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Option<Map<String, Value>>, ToolError>> {
        self.inner.prepare_arguments(raw)
    }

    fn validates_arguments(&self) -> bool {
        self.inner.validates_arguments()
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        self.inner.effects(arguments)
    }

    fn identify_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, PathBuf> {
        self.inner.identify_file(path)
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.inner.execute(invocation)
    }
}
