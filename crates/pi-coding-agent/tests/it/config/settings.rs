//! Settings beyond what pi 1.5.0 does: single keys that do not fit, layers, and writing.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use pi_coding_agent::config::{
    ConfigError, SettingsScope, SettingsStore, agent_directory, resolve_session_directory,
};
use serde_json::{Map, Value, json};

use super::place::{Place, names};

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("{value} is not an object") };
    object
}

#[test]
fn a_key_that_does_not_fit_is_named_and_the_rest_counts() {
    let cases = [
        (json!({ "theme": 5 }), "`theme` is ignored: invalid type: integer `5`, expected a string"),
        (
            json!({ "steeringMode": "x" }),
            "`steeringMode` is ignored: unknown variant `x`, expected `all` or `one-at-a-time`",
        ),
        (json!({ "compaction": { "reserveTokens": -1 } }), "`compaction.reserveTokens` is ignored"),
        (json!({ "compaction": "x" }), "`compaction` is ignored"),
        (
            json!({ "compaction": { "modelOverrides": { "a/b": { "reserveTokens": 1.5 } } } }),
            "`compaction.modelOverrides.a/b.reserveTokens` is ignored",
        ),
        (
            json!({ "retry": { "provider": { "timeoutMs": "x" } } }),
            "`retry.provider.timeoutMs` is ignored",
        ),
        (json!({ "quietStartup": "x" }), "expected true, false or \"header\""),
        (json!({ "httpIdleTimeoutMs": true }), "expected milliseconds or \"disabled\", not true"),
        (json!({ "enabledModels": ["a", 5] }), "`enabledModels` is ignored"),
        (
            json!({ "packages": [{ "autoload": true }] }),
            "expected a text, or an object with \"source\"",
        ),
        (
            json!({ "modelThinkingLevels": { "a/b": "huge", "c/d": "low" } }),
            "`modelThinkingLevels.a/b` is ignored",
        ),
    ];
    for (bad, expected) in cases {
        let place = Place::new();
        let mut content = object(json!({ "defaultModel": "kept" }));
        content.extend(object(bad));
        let text = Value::Object(content).to_string();
        let path = place.user("settings.json", &text);
        let mut store = SettingsStore::load(&place.environment, true);
        let problems = store.diagnostics();
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert!(problems[0].message.contains(expected), "{}", problems[0]);
        assert!(problems[0].message.ends_with("correct or remove it"), "{}", problems[0]);
        assert_eq!(store.settings().default_model.as_deref(), Some("kept"), "{text}");
        store.update(SettingsScope::User, |changes| changes.set(&["new"], 1)).unwrap();
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        expected["new"] = 1.into();
        let written: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(written, expected, "what does not fit stays in the file");
    }
    let place = Place::new();
    place.user("settings.json", r#"{"modelThinkingLevels": {"a/b": "huge", "c/d": "low"}}"#);
    let store = SettingsStore::load(&place.environment, true);
    assert!(store.settings().model_thinking_level("c", "d").is_some(), "its neighbour counts");
}

#[test]
fn overrides_count_most_and_are_never_written() {
    let place = Place::new();
    place.user("settings.json", r#"{"theme": "user", "retry": {"maxRetries": 1}}"#);
    place.project("settings.json", r#"{"theme": "project"}"#);
    let mut store = SettingsStore::load(&place.environment, false);
    assert_eq!(store.settings().theme(), "user");
    store.set_trusted(true);
    assert_eq!(store.settings().theme(), "project");
    store.set_overrides(object(json!({ "theme": "flag", "retry": { "enabled": false } })));
    assert_eq!(store.settings().theme(), "flag");
    assert_eq!(store.settings().retry().max_retries, 1);
    assert!(!store.settings().retry().enabled);
    store.update(SettingsScope::Project, |changes| changes.set(&["defaultModel"], "m")).unwrap();
    let written = fs::read_to_string(place.environment.project_directory().join("settings.json"));
    assert_eq!(written.unwrap(), "{\n  \"theme\": \"project\",\n  \"defaultModel\": \"m\"\n}");
    assert_eq!(store.scope(SettingsScope::User).theme.as_deref(), Some("user"));
    assert_eq!(store.scope(SettingsScope::Project).theme.as_deref(), Some("project"));
}

#[test]
fn keys_for_the_user_alone_are_reported_in_projects_that_are_trusted() {
    let place = Place::new();
    place.project("settings.json", r#"{"httpProxy": "http://x", "theme": 5}"#);
    let mut store = SettingsStore::load(&place.environment, false);
    assert_eq!(store.diagnostics(), []);
    let refused = store.update(SettingsScope::Project, |changes| changes.set(&["theme"], "x"));
    assert!(matches!(refused, Err(ConfigError::NotTrusted { .. })), "{refused:?}");
    let store = SettingsStore::load(&place.environment, true);
    let problems: Vec<String> = store.diagnostics().into_iter().map(|p| p.message).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("`httpProxy` counts only in the user's settings"), "{problems:?}");
    assert_eq!(store.settings().http_proxy, None);
}

#[test]
fn keys_without_effect_and_unknown_keys_are_listed() {
    let place = Place::new();
    place.user("settings.json", r#"{"theme": "x", "retry": {}, "mine": 1}"#);
    let store = SettingsStore::load(&place.environment, true);
    let idle: Vec<&str> = store.keys_without_effect().iter().map(|key| key.name).collect();
    assert_eq!(idle, ["theme"]);
    assert_eq!(store.unknown_keys(), ["mine"]);
}

#[test]
fn reading_creates_nothing_and_a_change_of_nothing_writes_nothing() {
    let place = Place::new();
    let mut store = SettingsStore::load(&place.environment, true);
    assert_eq!(names(place.agent()), [] as [&str; 0]);
    assert_eq!(names(&place.environment.cwd), [] as [&str; 0]);
    let path = place.user("settings.json", r#"{"a":1}"#);
    store.update(SettingsScope::User, |changes| changes.set(&["a"], 1)).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), r#"{"a":1}"#, "the layout is the user's");
}

#[test]
fn no_change_is_lost_among_many_writers() {
    let place = Place::new();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let environment = place.environment.clone();
            thread::spawn(move || {
                let mut store = SettingsStore::load(&environment, true);
                for n in 0..25 {
                    let name = format!("w{writer}.{n}");
                    store
                        .update(SettingsScope::User, |changes| changes.set(&["all", &name], n))
                        .unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let text = fs::read_to_string(place.agent().join("settings.json")).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    let found: BTreeSet<String> = written["all"].as_object().unwrap().keys().cloned().collect();
    let expected = (0..4).flat_map(|w| (0..25).map(move |n| format!("w{w}.{n}"))).collect();
    assert_eq!(found, expected);
    assert_eq!(names(place.agent()), ["settings.json"]);
}

#[test]
fn sessions_are_where_flag_variable_settings_or_habit_say() {
    // Flag, variable, project, user, trusted; the directory, and whether it is shared.
    let cases = [
        (Some("f"), Some("v"), Some("p"), Some("u"), "project/f", true),
        (None, Some("v"), Some("p"), Some("u"), "project/v", true),
        (None, None, Some("p"), Some("u"), "project/p", true),
        (None, None, None, Some("~/u"), "home/u", true),
        (Some(""), None, None, Some(""), "home/.pi/agent/sessions/", false),
    ];
    for (flag, variable, project, user, expected, shared) in cases {
        let mut place = Place::new();
        let content = |dir: Option<&str>| {
            Value::Object(
                dir.map(|dir| ("sessionDir".to_owned(), dir.into())).into_iter().collect(),
            )
        };
        place.user("settings.json", content(user).to_string());
        place.project("settings.json", content(project).to_string());
        if let Some(variable) = variable {
            let variables = std::sync::Arc::make_mut(&mut place.environment.variables);
            variables.insert("PI_CODING_AGENT_SESSION_DIR".to_owned(), variable.to_owned());
        }
        // Not trusted: this one key is asked for before trust.
        let store = SettingsStore::load(&place.environment, false);
        let found = resolve_session_directory(&place.environment, flag, &store);
        assert_eq!(found.shared, shared, "{expected}");
        let directory = found.path.to_string_lossy().into_owned();
        let expected = place.path("").join(expected).to_string_lossy().into_owned();
        assert!(directory.starts_with(&expected), "{directory} {expected}");
        assert_eq!(directory == expected, shared, "{directory} {expected}");
    }
}

#[test]
fn the_agent_directory_is_named_or_in_the_home() {
    let cases = [
        (None, Some("/h"), Some("/h/.pi/agent")),
        (Some(""), Some("/h"), Some("/h/.pi/agent")),
        (Some("/x"), None, Some("/x")),
        (Some("~"), Some("/h"), Some("/h/")),
        (Some("~/x"), Some("/h"), Some("/h/x")),
        (Some("x"), Some("/h"), Some("/cwd/x")),
        (Some("~y"), Some("/h"), Some("/cwd/~y")),
        (None, None, None),
    ];
    for (variable, home, expected) in cases {
        let lookup =
            |name: &str| variable.filter(|_| name == "PI_CODING_AGENT_DIR").map(str::to_owned);
        let found = agent_directory(&lookup, home.map(AsRef::as_ref), "/cwd".as_ref());
        assert_eq!(found.ok().as_deref(), expected.map(AsRef::as_ref), "{variable:?} {home:?}");
    }
}
