//! Locating invalid values in `models.json`.
//!
//! For a value inside of a model, the parser only reports the end of that model. Reading the parts
//! one by one finds the value.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::file::{ModelOverride, ModelRecord, ProviderRecord};

/// Returns the invalid values as paths with errors; none if `text` is not JSON.
pub(crate) fn violations(text: &str) -> Vec<String> {
    let root = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(root)) => root,
        Ok(_) => return vec!["the file must be an object".to_owned()],
        Err(_) => return Vec::new(),
    };
    let providers = match root.get("providers") {
        Some(Value::Object(providers)) => providers,
        Some(_) => return vec!["providers: must be an object".to_owned()],
        None => return Vec::new(),
    };
    let mut found = Vec::new();
    for (id, provider) in providers {
        let path = format!("providers.{id}");
        let Value::Object(provider) = provider else {
            found.push(format!("{path}: must be an object"));
            continue;
        };
        let mut rest = provider.clone();
        if let Some(Value::Array(models)) = provider.get("models") {
            rest.remove("models");
            for (index, model) in models.iter().enumerate() {
                check::<ModelRecord>(&format!("{path}.models.{index}"), model, &mut found);
            }
        }
        if let Some(Value::Object(overrides)) = provider.get("modelOverrides") {
            rest.remove("modelOverrides");
            for (id, facts) in overrides {
                let path = format!("{path}.modelOverrides.{id}");
                check::<ModelOverride>(&path, facts, &mut found);
            }
        }
        check::<ProviderRecord>(&path, &Value::Object(rest), &mut found);
    }
    found
}

/// Reads `value` as a `T`. If that fails, reports the invalid fields.
fn check<T: DeserializeOwned>(path: &str, value: &Value, found: &mut Vec<String>) {
    let Err(whole) = T::deserialize(value) else { return };
    let before = found.len();
    for (key, field) in value.as_object().into_iter().flatten() {
        let mut alone = Map::from_iter([(key.clone(), field.clone())]);
        if key != "id" {
            // The only required field of a record.
            alone.insert("id".to_owned(), Value::from("any"));
        }
        if let Err(error) = T::deserialize(Value::Object(alone)) {
            found.push(format!("{path}.{key}: {error}"));
        }
    }
    if found.len() == before {
        found.push(format!("{path}: {whole}"));
    }
}
