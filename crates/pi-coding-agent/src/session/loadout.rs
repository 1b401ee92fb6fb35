//! The tools of the next request, as the active tools want them to be declared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pi_agent::{AgentTool, BoxFuture, Invocation, ToolError, ToolOutput};
use pi_protocol::{AgentMessage, History, Message, MessageContent, SystemMessage, Tool};

use super::{AgentSession, lock};
use crate::extension::{Loadout, LoadoutChange};
use crate::tool_index::ToolIndex;

impl AgentSession {
    /// Returns the tools that requests declare: the active ones, with the changes that some of
    /// them make to the declarations of the others.
    pub fn declared_tools(&self) -> Vec<Arc<dyn AgentTool>> {
        let mut tools = self.run_tools();
        let hidden = self.hidden_tools();
        tools.retain(|tool| !hidden.contains(&tool.declaration().name));
        tools
    }

    /// Returns the active tools as the log declares them. Those that requests do not declare are
    /// among them, so that a resumed session has all of them again.
    pub(super) fn run_tools(&self) -> Vec<Arc<dyn AgentTool>> {
        let active = self.active_tools();
        match self.loadout_change(&active) {
            Some(change) => described(active, &change.descriptions),
            None => active,
        }
    }

    /// Returns the active tools that requests do not declare.
    pub(super) fn hidden_tools(&self) -> BTreeSet<String> {
        let change = self.loadout_change(&self.active_tools());
        change.map(|change| change.hidden.clone()).unwrap_or_default()
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

    /// Returns the changes that active tools make to the declarations of the others. They are
    /// computed once per set of tools.
    fn loadout_change(&self, active: &[Arc<dyn AgentTool>]) -> Option<Arc<LoadoutChange>> {
        let registry = self.0.extensions.registry();
        let generation = registry.generation();
        let preparing = registry.loadout_preparers();
        let is_active = |name: &str| active.iter().any(|tool| tool.declaration().name == name);
        let mut preparing = preparing.into_iter().filter(|(name, _)| is_active(name)).peekable();
        preparing.peek()?;
        let names: Vec<String> =
            active.iter().map(|tool| tool.declaration().name.clone()).collect();
        let cached = &self.0.toolbox.loadout;
        if let Some(change) = lock(cached).find(generation, &names) {
            return Some(change);
        }
        let loadout = Loadout { active: names.clone(), callable: self.callable() };
        let mut all = LoadoutChange::default();
        for (_, prepare) in preparing {
            let change = prepare(&loadout);
            all.descriptions.extend(change.descriptions);
            all.hidden.extend(change.hidden);
        }
        let change = Arc::new(all);
        *lock(cached) = CachedLoadout { generation, names, change: Some(Arc::clone(&change)) };
        Some(change)
    }
}

/// The last changes of declarations, and the tools for which they were computed.
#[derive(Default)]
pub(super) struct CachedLoadout {
    generation: u64,
    names: Vec<String>,
    change: Option<Arc<LoadoutChange>>,
}

impl CachedLoadout {
    fn find(&self, generation: u64, names: &[String]) -> Option<Arc<LoadoutChange>> {
        let is_same = self.generation == generation && self.names == names;
        self.change.clone().filter(|_| is_same)
    }
}

/// Returns messages whose system messages do not mention these tools.
pub(super) fn without_tools(
    messages: &History<AgentMessage>,
    hidden: &BTreeSet<String>,
) -> History<AgentMessage> {
    let shown = messages.iter().filter_map(|message| match message {
        AgentMessage::Llm(Message::System(system)) => without_declarations(system, hidden),
        other => Some(other.clone()),
    });
    shown.collect()
}

/// Returns a system message without some tools; `None` if nothing is left.
fn without_declarations(
    system: &Arc<SystemMessage>,
    hidden: &BTreeSet<String>,
) -> Option<AgentMessage> {
    let mut shown = (**system).clone();
    shown.tools_added.retain(|tool| !hidden.contains(&tool.name));
    shown.tools_removed.retain(|tool| !hidden.contains(&tool.name));
    let has_tools = !shown.tools_added.is_empty() || !shown.tools_removed.is_empty();
    let has_text = match &shown.content {
        MessageContent::Text(text) => !text.is_empty(),
        MessageContent::Blocks(blocks) => !blocks.is_empty(),
    };
    let is_kept = has_tools || has_text || shown.sections.is_some();
    is_kept.then(|| Message::System(Arc::new(shown)).into())
}

/// Replaces descriptions of tools.
fn described(
    tools: Vec<Arc<dyn AgentTool>>,
    descriptions: &BTreeMap<String, String>,
) -> Vec<Arc<dyn AgentTool>> {
    let declare = |tool: Arc<dyn AgentTool>| -> Arc<dyn AgentTool> {
        let Some(description) = descriptions.get(&tool.declaration().name) else { return tool };
        let declaration = Tool { description: description.clone(), ..tool.declaration().clone() };
        Arc::new(Described { inner: tool, declaration })
    };
    tools.into_iter().map(declare).collect()
}

/// A tool with another description.
struct Described {
    inner: Arc<dyn AgentTool>,
    declaration: Tool,
}

impl AgentTool for Described {
    fn inner(&self) -> Option<&dyn AgentTool> {
        Some(&*self.inner)
    }

    fn declaration(&self) -> &Tool {
        &self.declaration
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.inner.execute(invocation)
    }
}
