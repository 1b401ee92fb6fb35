//! The options of the agent that a contract asks for.

use pi_coding_agent::{AgentOptions, ToolChoice};
use serde_json::{Map, Value, json};

use super::Ended;
use crate::contract::{ApprovalMode, Contract};
use crate::outcome::Outcome;

/// Completes the options of the program with those of the contract.
pub(crate) fn agent_options(
    contract: &Contract,
    base: &AgentOptions,
) -> Result<AgentOptions, Ended> {
    let invalid = |field: &str, error: &dyn std::fmt::Display| {
        Ended::new(Outcome::InvalidTask, format!("{field}: {error}"))
    };
    let mut options = base.clone();
    if let Some(model) = &contract.model {
        options.model.requested = Some(model.clone());
        options.model.provider = None;
    }
    if !contract.fallbacks.is_empty() {
        options.model.fallbacks.clone_from(&contract.fallbacks);
    }
    if let Some(level) = &contract.thinking {
        let level = level.parse().map_err(|error| invalid("thinking", &error))?;
        options.model.thinking_level = Some(level);
    }
    if let Some(tools) = &contract.tools {
        let choice = ToolChoice::parse(tools).map_err(|error| invalid("tools", &error))?;
        options.tools.selection.choice = Some(choice);
    }
    options.tools.selection.exclude.extend(contract.exclude_tools.iter().cloned());
    options.project.change_overrides(|settings| {
        add_guard_settings(contract, settings);
        if !contract.guardrails.is_empty() {
            settings.insert("guardrails".to_owned(), json!(contract.guardrails));
        }
        remove_limits(settings);
    });
    Ok(options)
}

/// Removes the limits of single prompts: the budget of the run has its own.
fn remove_limits(settings: &mut Map<String, Value>) {
    let limits = settings.entry("limits").or_insert_with(|| json!({}));
    if let Value::Object(limits) = limits {
        limits.insert("detectLoops".to_owned(), json!(false));
        for key in
            ["maxTurns", "maxToolCalls", "timeoutSeconds", "idleTimeoutSeconds", "maxOutputBytes"]
        {
            limits.insert(key.to_owned(), json!(0));
        }
    }
}

fn add_guard_settings(contract: &Contract, settings: &mut Map<String, Value>) {
    let policy = &contract.policy;
    let guard = settings.entry("guard").or_insert_with(|| json!({}));
    let Value::Object(guard) = guard else { return };
    let profile = policy.profile.as_deref().unwrap_or("unattended");
    guard.insert("profile".to_owned(), json!(profile));
    let approval = match policy.approval {
        ApprovalMode::Never => "never",
        ApprovalMode::Defer => "ask",
        ApprovalMode::Review => "review",
    };
    guard.insert("approval".to_owned(), json!(approval));
    if let Some(sandbox) = &policy.sandbox {
        guard.insert("sandbox".to_owned(), json!(sandbox));
    }
    match policy.network.as_slice() {
        [] => {}
        [off] if off == "off" => drop(guard.insert("network".to_owned(), json!("off"))),
        [all] if all == "*" => drop(guard.insert("network".to_owned(), json!("on"))),
        hosts => drop(guard.insert("network".to_owned(), json!(hosts))),
    }
    if !policy.writable.is_empty() {
        guard.insert("writableRoots".to_owned(), json!(policy.writable));
    }
    if !policy.rules.is_empty() {
        guard.insert("rules".to_owned(), json!(policy.rules));
    }
}
