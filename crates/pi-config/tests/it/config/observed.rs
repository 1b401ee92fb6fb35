//! The user's files as pi 1.5.0 reads and writes them; see `tests/fixtures/config`.

use std::fs;
use std::path::Path;

use pi_agent::QueueMode;
use pi_config::settings::ProjectTrustDefault;
use pi_config::{
    AuthStore, CommandRuns, Settings, SettingsScope, SettingsStore, StoredCredential, TrustStore,
    ValueResolver,
};
use pi_session::compaction::CompactionSettings;
use serde_json::{Value, json};

use super::env::ConfigEnv;

/// Values of keys that have no effect in this version.
const NOT_READ: &[&str] = &["/values/cacheWarming", "/values/wheel", "/values/imageWidth"];

/// Intended differences: the case, the field, our value, and the reason.
const DIFFERENT: &[(&str, &str, &str, &str)] = &[
    ("value {\"httpIdleTimeoutMs\": -1}", "/values/idleTimeout", "300000", NO_ERROR),
    ("value {\"httpIdleTimeoutMs\": \"x\"}", "/values/idleTimeout", "300000", NO_ERROR),
    ("value {\"compaction\": {\"reserveTokens\": -1}}", "/values/compaction", DEFAULT, NO_ERROR),
    (
        "value {\"compaction\": {\"reserveTokens\": -1}}",
        "/values/compactionOfModel",
        DEFAULT,
        NO_ERROR,
    ),
    ("value {\"compaction\": {\"reserveTokens\": 1.5}}", "/values/compaction", DEFAULT, NO_ERROR),
    (
        "value {\"compaction\": {\"reserveTokens\": 1.5}}",
        "/values/compactionOfModel",
        DEFAULT,
        NO_ERROR,
    ),
    (
        "value {\"compaction\": {\"modelOverrides\": {\"p/m\": 5}}}",
        "/values/compactionOfModel",
        DEFAULT,
        NO_ERROR,
    ),
    (
        "value {\"compaction\": {\"reserveTokens\": 4.0}}",
        "/written",
        WRITTEN_4,
        "4.0 stays as the user wrote it",
    ),
    (
        "value {\"compaction\": 5}",
        "/written",
        WRITTEN_5,
        "the change is made; what was there could not be used",
    ),
    ("value {\"defaultThinkingLevel\": \"huge\"}", "/values/thinking", "\"medium\"", PASSED_ON),
    ("value {\"steeringMode\": \"bogus\"}", "/values/steering", "\"one-at-a-time\"", PASSED_ON),
    ("empty decisions", "/found", "null", "an empty file has no decisions"),
    ("empty decisions", "/saved", "null", "an empty file has no decisions"),
    (
        "empty decisions",
        "/written",
        "\"{\\n  \\\"/new\\\": true\\n}\\n\"",
        "an empty file has no decisions",
    ),
    ("blank", "/key", "null", "a blank file has no credentials"),
    ("blank", "/stored", "null", "a blank file has no credentials"),
    ("blank", "/written", STORED, "a blank file has no credentials"),
    ("unknown shape", "/key", "\"error\"", UNUSABLE),
    ("no object", "/key", "\"error\"", UNUSABLE),
    ("missing variable", "/key", "\"error\"", UNUSABLE),
    ("command fails", "/key", "\"error\"", UNUSABLE),
    ("command says nothing", "/key", "\"error\"", UNUSABLE),
];

const NO_ERROR: &str = "the key is reported and ignored; 1.5.0 fails when the value is needed";
const PASSED_ON: &str = "the key is reported and ignored; 1.5.0 passes the value on";
const UNUSABLE: &str = "an unusable entry is an error";
const DEFAULT: &str = r#"{"enabled":true,"reserveTokens":16384,"keepRecentTokens":20000}"#;
const WRITTEN_4: &str = r#""{\n  \"compaction\": {\n    \"reserveTokens\": 4.0,\n    \"enabled\": false\n  },\n  \"defaultProvider\": \"new\"\n}""#;
const WRITTEN_5: &str =
    r#""{\n  \"compaction\": {\n    \"enabled\": false\n  },\n  \"defaultProvider\": \"new\"\n}""#;
const STORED: &str =
    r#""{\n  \"google\": {\n    \"type\": \"api_key\",\n    \"key\": \"stored\"\n  }\n}""#;

#[test]
fn settings_are_read_and_written_as_by_pi() {
    compare(include_str!("../../fixtures/config/settings.jsonl"), settings);
}

#[test]
fn trust_is_read_and_written_as_by_pi() {
    compare(include_str!("../../fixtures/config/trust.jsonl"), trust);
}

#[test]
fn credentials_are_read_and_written_as_by_pi() {
    compare(include_str!("../../fixtures/config/auth.jsonl"), auth);
}

fn compare(cases: &str, ours: fn(&Value) -> Value) {
    let mut failures = Vec::new();
    assert!(!cases.is_empty());
    for case in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let name = case["name"].as_str().unwrap();
        let mut expected = case["observed"].clone();
        for (_, at, ours, _) in DIFFERENT.iter().filter(|(different, ..)| *different == name) {
            let Some(value) = expected.pointer_mut(at) else { continue };
            let ours: Value = serde_json::from_str(ours).unwrap();
            assert_ne!(*value, ours, "{name}{at} is no difference any more");
            *value = ours;
        }
        let found = ours(&case);
        for (field, expected) in flatten(&expected) {
            if NOT_READ.contains(&field.as_str()) {
                continue;
            }
            let found = found.pointer(&field).unwrap_or(&Value::Null);
            if *found != expected {
                failures.push(format!("{name} {field}\n  expected {expected}\n  found    {found}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the fields of an observation; those of `values` one by one.
fn flatten(answer: &Value) -> Vec<(String, Value)> {
    let mut fields = Vec::new();
    for (name, value) in answer.as_object().unwrap() {
        match value {
            Value::Object(inner) if name == "values" => fields
                .extend(inner.iter().map(|(field, v)| (format!("/{name}/{field}"), v.clone()))),
            _ => fields.push((format!("/{name}"), value.clone())),
        }
    }
    fields
}

fn settings(case: &Value) -> Value {
    let env = ConfigEnv::new();
    if let Some(content) = case["user"].as_str() {
        env.user("settings.json", content);
    }
    if let Some(content) = case["project"].as_str() {
        env.project("settings.json", content);
    }
    let mut store =
        SettingsStore::load(&env.environment, case["trusted"].as_bool().unwrap_or(true));
    let broken =
        store.diagnostics().iter().any(|problem| problem.severity == pi_config::Severity::Error);
    let values = values(store.settings());
    let updated = store.update(SettingsScope::User, |changes| {
        changes.set(&["compaction", "enabled"], false);
        changes.set(&["defaultProvider"], "new");
        changes.remove(&["shellPath"]);
    });
    let user_is_broken = broken && case["name"] != "broken project";
    assert_eq!(updated.is_err(), user_is_broken, "{updated:?}");
    json!({ "broken": broken, "values": values, "written": written(&env, "settings.json") })
}

fn written(env: &ConfigEnv, name: &str) -> Option<String> {
    fs::read_to_string(env.agent().join(name)).ok()
}

fn values(settings: &Settings) -> Value {
    let queue = |mode| if mode == QueueMode::All { "all" } else { "one-at-a-time" };
    let compaction = |settings: CompactionSettings| {
        json!({
            "enabled": settings.enabled,
            "reserveTokens": settings.reserve_tokens,
            "keepRecentTokens": settings.keep_recent_tokens,
        })
    };
    let retry = &settings.retry;
    json!({
        "thinking": settings.default_thinking_level().as_str(),
        "steering": queue(settings.steering_mode),
        "followUp": queue(settings.follow_up_mode),
        "tools": settings.default_tools(),
        "models": settings.enabled_models,
        "skills": settings.skills,
        "skillCommands": settings.enable_skill_commands,
        "compaction": compaction(settings.compaction.of("any", "model")),
        "compactionOfModel": compaction(settings.compaction.of("p", "m")),
        "branchSummary": settings.branch_summary().reserve_tokens,
        "retry": {
            "enabled": retry.enabled,
            "maxRetries": retry.max_retries,
            "baseDelayMs": retry.base_delay_ms,
            "maxAgentDelayMs": retry.max_delay_ms,
        },
        "maxRetryDelay": match retry.provider.max_retry_delay_ms {
            0 => None,
            delay => Some(delay),
        },
        "idleTimeout": settings.http_idle_timeout.duration().map_or(0, |d| d.as_millis() as u64),
        "transport": settings.transport,
        "trust": match settings.default_project_trust {
            ProjectTrustDefault::Ask => "ask",
            ProjectTrustDefault::Always => "always",
            ProjectTrustDefault::Never => "never",
        },
        "blockImages": settings.images.block_images,
        "provider": settings.default_provider,
        "shellPath": settings.shell_path,
    })
}

fn trust(case: &Value) -> Value {
    let env = ConfigEnv::new();
    if let Some(content) = case["file"].as_str() {
        env.user("trust.json", content);
    }
    let store = TrustStore::new(env.agent());
    let found = match store.find(Path::new(case["directory"].as_str().unwrap())) {
        Ok(None) => Value::Null,
        // Paths are compared as paths: a trailing slash makes no difference.
        Ok(Some(entry)) => json!({ "path": entry.path, "decision": entry.trusted }),
        Err(_) => json!("error"),
    };
    let mut saved = Value::Null;
    for pair in case["set"].as_array().unwrap() {
        let directory = Path::new(pair[0].as_str().unwrap());
        if store.record(directory, pair[1].as_bool()).is_err() {
            saved = json!("error");
        }
    }
    json!({ "found": found, "saved": saved, "written": written(&env, "trust.json") })
}

fn auth(case: &Value) -> Value {
    let env = ConfigEnv::new();
    if let Some(content) = case["file"].as_str() {
        env.user("auth.json", content);
    }
    let store = AuthStore::new(env.agent());
    let key = match store.get(case["provider"].as_str().unwrap()) {
        Ok(Some(StoredCredential::ApiKey { key: Some(key), env: variables, .. }))
            if !key.is_empty() =>
        {
            let resolver = ValueResolver::new(env.environment.clone());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let key =
                runtime.unwrap().block_on(resolver.resolve(&key, &variables, CommandRuns::Once));
            key.map_or(json!("error"), Value::from)
        }
        Ok(_) => Value::Null,
        Err(_) => json!("error"),
    };
    let stored = store
        .set(case["store"].as_str().unwrap(), &StoredCredential::api_key("stored"))
        .map_or(json!("error"), |()| Value::Null);
    json!({ "key": key, "stored": stored, "written": written(&env, "auth.json") })
}
