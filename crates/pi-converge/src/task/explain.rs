//! The effective contract with the origin of each value.
//!
//! The text is a task file: loaded again, it gives the same contract.

use std::collections::BTreeMap;
use std::time::Duration;

use pi_schema::child_pointer;
use serde_json::{Value, json};

use super::load::Task;
use super::{fields, template, write};
use crate::contract::{Check, Contract, Time};

impl Task {
    /// Returns the contract with every default written out.
    pub fn effective(&self) -> Contract {
        effective(&self.contract)
    }

    /// Returns the effective contract as YAML. A comment on each value names its origin.
    pub fn explain(&self) -> String {
        let mut value = self.value();
        // As a task file, the text is read with templates.
        fields::visit_texts(&mut value, "", &mut |pointer, text| {
            if fields::language(pointer).is_some() {
                *text = template::escape(text);
            }
        });
        write::write(&value, &|pointer| Some(self.origin(pointer).to_string()))
    }

    /// Returns the effective contract, and the origin of each value by its pointer.
    pub fn explain_json(&self) -> Value {
        let contract = self.value();
        let mut origins = BTreeMap::new();
        add_origins(&contract, String::new(), self, &mut origins);
        json!({ "contract": contract, "origins": origins, "notes": self.notes })
    }

    fn value(&self) -> Value {
        // The types of a contract have no value that JSON cannot express.
        serde_json::to_value(self.effective()).unwrap_or_default()
    }
}

fn add_origins(
    value: &Value,
    pointer: String,
    task: &Task,
    origins: &mut BTreeMap<String, String>,
) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, member) in map {
                add_origins(member, child_pointer(&pointer, name), task, origins);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                add_origins(item, format!("{pointer}/{index}"), task, origins);
            }
        }
        _ => {
            let origin = task.origin(&pointer).to_string();
            origins.insert(pointer, origin);
        }
    }
}

/// Fills in the defaults that are not part of the type.
fn effective(contract: &Contract) -> Contract {
    let mut contract = contract.clone();
    let limits = contract.limits.limits();
    let time = |limit: Option<Duration>| Some(Time(limit.unwrap_or_default()));
    let given = &mut contract.limits;
    given.turns = Some(limits.turns.unwrap_or_default());
    given.tool_calls = Some(limits.tool_calls.unwrap_or_default());
    given.tokens = Some(limits.tokens.unwrap_or_default());
    given.cost_usd = Some(limits.cost.unwrap_or_default());
    given.wall = time(limits.wall_time);
    given.idle = time(limits.idle_time);
    given.output_bytes = Some(limits.output_bytes.unwrap_or_default());
    contract.attempts.count = Some(contract.attempts.count());
    contract.attempts.rounds = Some(contract.attempts.rounds());
    contract.policy.profile.get_or_insert_with(|| "unattended".to_owned());
    for check in &mut contract.verify {
        if let Check::Command(check) = check {
            check.timeout.get_or_insert(Time(Duration::from_secs(30 * 60)));
        }
    }
    contract
}
