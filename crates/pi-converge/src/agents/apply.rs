//! The options of an agent with a spec.

use std::sync::Arc;

use globset::Glob;
use pi_agent::Limits;
use pi_coding_agent::{AgentOptions, ToolChange, ToolChoice, ToolSelection};
use serde_json::{Map, Value, json};

use super::extension::AgentExtension;
use super::file::{AgentPolicy, SandboxRestriction};
use super::spec::{AgentSet, AgentSpec, HANDOFF_TOOL, TASK_TOOL};
use crate::contract::ContractLimits;

impl AgentSet {
    /// Returns the options with the root spec applied. What the options already say takes
    /// precedence, except that restrictions add up.
    pub fn apply(&self, base: &AgentOptions) -> AgentOptions {
        let Some(spec) = self.root().cloned() else { return base.clone() };
        let mut options = base.clone();
        if options.model.requested.is_none() && options.model.provider.is_none() {
            options.model.requested.clone_from(&spec.model);
        }
        options.model.thinking_level = options.model.thinking_level.or(spec.thinking);
        options.tools.selection = self.tools(&base.tools.selection, Role::Root);
        tighten(&mut options, &spec.policy);
        // Sub-agents are never less restricted than the agent that starts them.
        let mut for_children = base.clone();
        for_children.project = options.project.clone();
        match (&base.budget, &spec.limits) {
            // The limits of the spec apply to the whole session within the budget of the run.
            (Some(budget), Some(limits)) => options.budget = Some(budget.child(limits_of(limits))),
            (_, Some(limits)) => options.project.change_overrides(|all| add_limits(all, limits)),
            (_, None) => {}
        }
        let extension = AgentExtension::new(for_children, self.clone(), spec.max_depth);
        options.extensions.own.push(Arc::new(extension));
        options
    }

    /// Returns the tools that a session of the root spec can have: those of the spec, and those of
    /// every spec that can take over.
    pub(super) fn tools(&self, user: &ToolSelection, role: Role) -> ToolSelection {
        let reachable = self.reachable_by_handoff();
        let mut wanted: Option<Vec<String>> = Some(Vec::new());
        for spec in &reachable {
            wanted = match (wanted, offered(spec)) {
                (Some(mut names), Some(more)) => {
                    names.extend(more);
                    Some(names)
                }
                _ => None,
            };
        }
        let mut selection = user.clone();
        selection.choice = choose(wanted, user.choice.as_ref(), role);
        if let [only] = reachable.as_slice() {
            // With several specs, each has its own active tools.
            selection.exclude.extend(only.exclude_tools.iter().cloned());
        }
        selection
    }

    /// Returns the root spec and those that can take over its session.
    pub(super) fn reachable_by_handoff(&self) -> Vec<&AgentSpec> {
        let mut found: Vec<&AgentSpec> = Vec::new();
        let mut waiting: Vec<&AgentSpec> = self.root().map(|spec| &**spec).into_iter().collect();
        while let Some(spec) = waiting.pop() {
            if found.iter().any(|known| known.file == spec.file) {
                continue;
            }
            found.push(spec);
            let targets = spec.handoffs.values().filter_map(|one| self.spec(&one.file));
            waiting.extend(targets.map(|spec| &**spec));
        }
        found
    }
}

/// The part of an agent in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The agent that the user starts. Tools that the user adds are for it.
    Root,
    /// An agent that another one starts. Tools that the user removes are removed here, too.
    Child,
}

/// Returns the tools of a spec, with those that its sub-agents and handoffs need.
pub(super) fn offered(spec: &AgentSpec) -> Option<Vec<String>> {
    let mut names = spec.tools.clone()?;
    names.retain(|name| name != TASK_TOOL && name != HANDOFF_TOOL);
    if spec.can_delegate() {
        names.push(TASK_TOOL.to_owned());
    }
    if spec.can_hand_off() {
        names.push(HANDOFF_TOOL.to_owned());
    }
    Some(names)
}

/// Combines the tools of a spec with the selection of the user.
fn choose(spec: Option<Vec<String>>, user: Option<&ToolChoice>, role: Role) -> Option<ToolChoice> {
    match (spec, user) {
        (spec, None) => spec.map(ToolChoice::Only),
        (None, Some(ToolChoice::Only(names))) => Some(ToolChoice::Only(names.clone())),
        (Some(_), Some(ToolChoice::Only(names))) if role == Role::Root => {
            Some(ToolChoice::Only(names.clone()))
        }
        (Some(spec), Some(ToolChoice::Only(names))) => {
            let by_user = spec.iter().filter(|name| matches_any(names, name));
            let by_spec = names.iter().filter(|name| matches_any(&spec, name));
            let mut both: Vec<String> = by_user.chain(by_spec).cloned().collect();
            both.dedup();
            Some(ToolChoice::Only(both))
        }
        (spec, Some(ToolChoice::Change(changes))) => {
            let counts = |change: &&ToolChange| {
                role == Role::Root || matches!(change, ToolChange::Remove(_))
            };
            let changes: Vec<ToolChange> = changes.iter().filter(counts).cloned().collect();
            Some(match spec {
                None => ToolChoice::Change(changes),
                Some(mut names) => {
                    for change in changes {
                        match change {
                            ToolChange::Add(name) => names.push(name),
                            ToolChange::Remove(name) => names.retain(|other| *other != name),
                        }
                    }
                    ToolChoice::Only(names)
                }
            })
        }
    }
}

fn matches_any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| {
        pattern == name
            || Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(name))
    })
}

/// Adds restrictions to the settings of the guard. A setting that is as strict or stricter stays,
/// also if it is in a file of the user: a list of the options would replace it.
pub(super) fn tighten(options: &mut AgentOptions, policy: &AgentPolicy) {
    if *policy == AgentPolicy::default() {
        return;
    }
    let effective = options.project.store().combined().remove("guard").unwrap_or_default();
    options.project.change_overrides(|settings| tighten_guard(settings, &effective, policy));
}

/// Adds restrictions to the overrides of the guard. `effective` are its settings in force.
fn tighten_guard(settings: &mut Map<String, Value>, effective: &Value, policy: &AgentPolicy) {
    let guard = settings.entry("guard").or_insert_with(|| json!({}));
    let Value::Object(guard) = guard else { return };
    match policy.sandbox {
        Some(SandboxRestriction::ReadOnly) => {
            guard.insert("sandbox".to_owned(), json!("read-only"));
        }
        Some(SandboxRestriction::WorkspaceWrite) if effective["sandbox"] != "read-only" => {
            guard.insert("sandbox".to_owned(), json!("workspace-write"));
        }
        _ => {}
    }
    if policy.network.is_some() {
        guard.insert("network".to_owned(), json!("off"));
    }
    if policy.approval.is_some() {
        guard.insert("approval".to_owned(), json!("never"));
    }
    for (key, paths) in [("hidden", &policy.hidden), ("protected", &policy.protected)] {
        if paths.is_empty() {
            continue;
        }
        let mut list = effective[key].as_array().cloned().unwrap_or_default();
        list.extend(paths.iter().map(|path| json!(path)));
        guard.insert(key.to_owned(), Value::Array(list));
    }
}

/// Returns the limits that a spec names. Others follow from the budget around it.
pub(super) fn limits_of(given: &ContractLimits) -> Limits {
    let defaults = given.limits();
    let mut limits = Limits::default();
    limits.turns = given.turns.and(defaults.turns);
    limits.tool_calls = given.tool_calls.and(defaults.tool_calls);
    limits.tokens = defaults.tokens;
    limits.cost = defaults.cost;
    limits.wall_time = given.wall.and(defaults.wall_time);
    limits.idle_time = given.idle.and(defaults.idle_time);
    limits.output_bytes = given.output_bytes.and(defaults.output_bytes);
    limits
}

/// Adds the limits of a spec for each prompt. Limits of the options take precedence.
fn add_limits(settings: &mut Map<String, Value>, limits: &ContractLimits) {
    let seconds = |time: Option<crate::contract::Time>| time.map(|time| json!(time.0.as_secs()));
    let given = [
        ("maxTurns", limits.turns.map(|turns| json!(turns))),
        ("maxToolCalls", limits.tool_calls.map(|calls| json!(calls))),
        ("maxTokens", limits.tokens.map(|tokens| json!(tokens))),
        ("maxCost", limits.cost_usd.map(|cost| json!(cost))),
        ("timeoutSeconds", seconds(limits.wall)),
        ("idleTimeoutSeconds", seconds(limits.idle)),
    ];
    let entry = settings.entry("limits").or_insert_with(|| json!({}));
    let Value::Object(entry) = entry else { return };
    for (key, value) in given {
        if let Some(value) = value {
            entry.entry(key).or_insert(value);
        }
    }
}
