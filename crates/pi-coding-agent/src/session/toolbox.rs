//! The tools of a session: those it was built with, and those that the registry adds.
//!
//! The registry may change at any time; the toolbox reads it when a turn begins and only if its
//! generation changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use pi_agent::AgentTool;
use pi_protocol::Effects;
use pi_tools::{Workspace, toolset};
use serde_json::{Map, Value};

use super::loadout::CachedLoadout;
use super::lock;
use crate::extension::{Exposure, Registry};
use crate::guard::{Guard, Guarded, ToolOrigin};
use crate::tool_filter::ToolFilter;

/// The tools of a session.
pub(super) struct Toolbox {
    /// Tools that the session was built with, behind the guard already.
    own: Vec<Arc<dyn AgentTool>>,
    registry: Registry,
    filter: ToolFilter,
    guard: Option<Arc<Guard>>,
    workspace: Arc<Workspace>,
    known: Mutex<Known>,
    /// Changes of declarations for the current tools.
    pub(super) loadout: Mutex<CachedLoadout>,
}

/// The tools as of one generation of the registry.
#[derive(Default)]
struct Known {
    generation: Option<u64>,
    all: Arc<[Arc<dyn AgentTool>]>,
    /// Names of the registry's tools that are active as soon as they are registered.
    registered: Vec<String>,
    /// The tools that are new since their activation was last considered.
    added: Vec<String>,
}

impl Toolbox {
    pub(super) fn new(
        own: Vec<Arc<dyn AgentTool>>,
        registry: Registry,
        filter: ToolFilter,
        guard: Option<Arc<Guard>>,
        workspace: Arc<Workspace>,
    ) -> Self {
        let (known, loadout) = (Mutex::default(), Mutex::default());
        Self { own, registry, filter, guard, workspace, known, loadout }
    }

    /// Returns all tools.
    pub(super) fn all(&self) -> Arc<[Arc<dyn AgentTool>]> {
        Arc::clone(&self.known().all)
    }

    /// Returns the names of the registry's tools that are active as soon as they are registered.
    pub(super) fn active_at_once(&self) -> Vec<String> {
        self.known().registered.clone()
    }

    /// Calls `added` with the names of tools that the registry has gained since the last call.
    /// Those of the first read count only if `includes_first`.
    pub(super) fn take_added(&self, includes_first: bool, added: impl FnOnce(&[String])) {
        let is_first = lock(&self.known).generation.is_none();
        let mut known = self.known();
        if is_first && includes_first {
            known.added = known.registered.clone();
        }
        added(&std::mem::take(&mut known.added));
    }

    /// Returns the tools, read anew if the registry has changed. New ones stay to be activated, also
    /// if another reader saw them first.
    fn known(&self) -> MutexGuard<'_, Known> {
        let generation = self.registry.generation();
        let mut known = lock(&self.known);
        if known.generation != Some(generation) {
            let (all, registered) = self.read();
            let mut added = std::mem::take(&mut known.added);
            if known.generation.is_some() {
                let is_new = |name: &&String| !known.registered.contains(name);
                added.extend(registered.iter().filter(is_new).cloned());
            }
            added.retain(|name| registered.contains(name));
            *known = Known { generation: Some(generation), all, registered, added };
        }
        known
    }

    /// Reads the registry. A registered tool takes the place of a built-in one of the same name.
    fn read(&self) -> (Arc<[Arc<dyn AgentTool>]>, Vec<String>) {
        let mut all = self.own.clone();
        let mut names = Vec::new();
        let mut reached_through = BTreeSet::new();
        let named =
            |(at, tool): (usize, &Arc<dyn AgentTool>)| (tool.declaration().name.clone(), at);
        let mut places: HashMap<String, usize> = all.iter().enumerate().map(named).collect();
        for registration in self.registry.tools() {
            let name = registration.tool.declaration().name.clone();
            let is_admitted = registration.receives_result || self.filter.admits(&name);
            if registration.exposure == Exposure::Hidden || !is_admitted {
                continue;
            }
            let is_active = registration.is_active_at_once();
            let route = registration.reached_through.filter(|_| registration.activates_route);
            reached_through.extend(route);
            let origin = match registration.is_internal {
                true => ToolOrigin::Builtin,
                false => ToolOrigin::External,
            };
            let tool = match &self.guard {
                Some(guard) => {
                    let workspace = &self.workspace;
                    Guarded::wrap(registration.tool, guard, workspace, origin)
                }
                None => registration.tool,
            };
            match places.get(&name) {
                Some(at) => all[*at] = tool,
                None => {
                    places.insert(name.clone(), all.len());
                    all.push(tool);
                }
            }
            if is_active {
                names.push(name);
            }
        }
        for name in reached_through {
            if places.contains_key(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
        (all.into(), names)
    }

    /// Declares the effects of a call: by the tool of this name, else by the built-in one.
    pub(super) fn effects(&self, name: &str, arguments: &Map<String, Value>) -> Effects {
        let all = self.all();
        match all.iter().find(|tool| tool.declaration().name == name) {
            Some(tool) => tool.effects(arguments),
            None => toolset::effects_of(name, arguments),
        }
    }
}
