//! Settings beyond the behavior of pi 1.5.0: invalid keys, layers, writing.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use pi_agent::{QueueMode, SteeringDelivery};
use pi_config::{
    ConfigError, Settings, SettingsScope, SettingsStore, agent_directory, resolve_session_directory,
};
use pi_tools::ChangedFilePolicy;
use pi_tools::ExecutorSpec;
use serde_json::{Map, Value, json};

use super::env::{ConfigEnv, names};

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("{value} is not an object") };
    object
}

#[test]
fn an_invalid_key_is_reported_and_the_rest_applies() {
    let cases = [
        (
            json!({ "shellPath": 5 }),
            "`shellPath` is ignored: invalid type: integer `5`, expected a string",
        ),
        (
            json!({ "steeringMode": "x" }),
            "`steeringMode` is ignored: unknown variant `x`, expected `one-at-a-time` or `all`",
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
        (json!({ "changedFiles": "x" }), "unknown variant `x`, expected `warn` or `refuse`"),
        (json!({ "steeringDelivery": "x" }), "expected `afterTurn` or `afterTool`"),
        (json!({ "httpIdleTimeoutMs": true }), "expected milliseconds or \"disabled\", not true"),
        (json!({ "enabledModels": ["a", 5] }), "`enabledModels` is ignored"),
        (
            json!({ "packages": [{ "autoload": true }] }),
            "expected a string, or an object with \"source\"",
        ),
        (
            json!({ "modelThinkingLevels": { "a/b": "huge", "c/d": "low" } }),
            "`modelThinkingLevels.a/b` is ignored",
        ),
    ];
    for (bad, expected) in cases {
        let env = ConfigEnv::new();
        let mut content = object(json!({ "defaultModel": "kept" }));
        content.extend(object(bad));
        let text = Value::Object(content).to_string();
        let path = env.user("settings.json", &text);
        let mut store = SettingsStore::load(&env.environment, true);
        let problems = store.diagnostics();
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert!(problems[0].message.contains(expected), "{}", problems[0]);
        assert!(problems[0].message.ends_with("correct or remove it"), "{}", problems[0]);
        assert_eq!(store.settings().default_model.as_deref(), Some("kept"), "{text}");
        store.update(SettingsScope::User, |changes| changes.set(&["new"], 1)).unwrap();
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        expected["new"] = 1.into();
        let written: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(written, expected, "an invalid value stays in the file");
    }
    let env = ConfigEnv::new();
    env.user("settings.json", r#"{"modelThinkingLevels": {"a/b": "huge", "c/d": "low"}}"#);
    let store = SettingsStore::load(&env.environment, true);
    let levels = store.settings().model_thinking_levels.as_ref().unwrap();
    assert!(levels.contains_key("c/d"), "the rest of the group applies");
}

#[test]
fn overrides_take_precedence_and_are_never_written() {
    let env = ConfigEnv::new();
    env.user("settings.json", r#"{"shellPath": "user", "retry": {"maxRetries": 1}}"#);
    env.project("settings.json", r#"{"shellPath": "project"}"#);
    let mut store = SettingsStore::load(&env.environment, false);
    assert_eq!(store.settings().shell_path.as_deref(), Some("user"));
    store.set_trusted(true);
    assert_eq!(store.settings().shell_path.as_deref(), Some("project"));
    store.set_overrides(object(json!({ "shellPath": "flag", "retry": { "enabled": false } })));
    assert_eq!(store.settings().shell_path.as_deref(), Some("flag"));
    assert_eq!(store.settings().retry.max_retries, 1);
    assert!(!store.settings().retry.enabled);
    store.update(SettingsScope::Project, |changes| changes.set(&["defaultModel"], "m")).unwrap();
    let written = fs::read_to_string(env.environment.project_directory().join("settings.json"));
    assert_eq!(written.unwrap(), "{\n  \"shellPath\": \"project\",\n  \"defaultModel\": \"m\"\n}");
    assert_eq!(store.scope(SettingsScope::User).shell_path.as_deref(), Some("user"));
    assert_eq!(store.scope(SettingsScope::Project).shell_path.as_deref(), Some("project"));
}

#[test]
fn user_only_keys_are_reported_in_trusted_projects() {
    let env = ConfigEnv::new();
    env.project(
        "settings.json",
        r#"{"executor": "docker:x", "httpProxy": "http://x", "shellPath": 5}"#,
    );
    let mut store = SettingsStore::load(&env.environment, false);
    assert_eq!(store.diagnostics(), []);
    let refused = store.update(SettingsScope::Project, |changes| changes.set(&["shellPath"], "x"));
    assert!(matches!(refused, Err(ConfigError::NotTrusted { .. })), "{refused:?}");
    let store = SettingsStore::load(&env.environment, true);
    let problems: Vec<String> = store.diagnostics().into_iter().map(|p| p.message).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    for key in ["executor", "httpProxy"] {
        let expected = format!("`{key}` is ignored in a project's settings");
        assert!(problems.iter().any(|problem| problem.contains(&expected)), "{problems:?}");
    }
    assert_eq!(store.settings().executor, ExecutorSpec::Local);
}

#[test]
fn queue_and_file_settings_are_read() {
    let store = SettingsStore::in_memory(object(json!({
        "steeringMode": "all",
        "steeringDelivery": "afterTool",
        "changedFiles": "refuse",
        "executor": "ssh:host:/work",
    })));
    let settings = store.settings();
    assert_eq!(settings.steering_mode, QueueMode::All);
    assert_eq!(settings.steering_delivery, SteeringDelivery::AfterTool);
    assert_eq!(settings.changed_files, ChangedFilePolicy::Refuse);
    assert_eq!(settings.executor, "ssh:host:/work".parse().unwrap());
    let store = SettingsStore::in_memory(Map::new());
    let settings = store.settings();
    assert_eq!(settings.follow_up_mode, QueueMode::OneAtATime);
    assert_eq!(settings.steering_delivery, SteeringDelivery::AfterTurn);
    assert_eq!(settings.changed_files, ChangedFilePolicy::Note);
    assert_eq!(settings.executor, ExecutorSpec::Local);
}

#[test]
fn an_invalid_executor_is_not_ignored() {
    let env = ConfigEnv::new();
    for content in [r#"{"executor": "vm:x"}"#, r#"{"executor": 5}"#, r#"{"executor": "ssh:x",,}"#] {
        env.user("settings.json", content);
        let store = SettingsStore::load(&env.environment, true);
        assert!(store.guard_error().is_some(), "{content}");
    }
    env.user("settings.json", r#"{"executor": "ssh:x"}"#);
    let mut store = SettingsStore::load(&env.environment, true);
    assert_eq!(store.guard_error(), None);
    store.set_overrides(object(json!({ "executor": "docker:" })));
    let error = store.guard_error().unwrap().to_string();
    assert!(error.contains("invalid executor \"docker:\""), "{error}");
}

#[test]
fn keys_without_effect_and_unknown_keys_are_listed() {
    let env = ConfigEnv::new();
    env.user("settings.json", r#"{"warnings": "x", "retry": {}, "mine": 1}"#);
    let store = SettingsStore::load(&env.environment, true);
    let idle: Vec<&str> = store.keys_without_effect().iter().map(|key| key.name).collect();
    assert_eq!(idle, ["warnings"]);
    assert_eq!(store.unknown_keys(), ["mine"]);
}

#[test]
fn settings_of_the_screen_are_read_within_their_limits() {
    use pi_config::settings::{HeaderWord, ImageProtocol, MermaidMode, QuietStartup, TuiMode};
    let settings = json!({
        "tuiMode": "regular",
        "theme": " ",
        "quietStartup": "header",
        "editorPaddingX": 9,
        "autocompleteMaxVisible": 1,
        "fullscreenWheelScrollLines": 3.0,
        "terminal": { "images": false, "hyperlinks": true, "trueColor": "auto", "mouse": false },
        "markdown": { "mermaid": "off", "codeBlockIndent": "" },
        "branchSummary": { "skipPrompt": true },
        "externalEditor": "vi -R",
        "vimMode": true,
    });
    let store = SettingsStore::in_memory(object(settings));
    let screen = &store.settings().screen;
    let (terminal, markdown) = (&screen.terminal, &screen.markdown);
    assert_eq!((screen.mode, screen.theme.as_str()), (TuiMode::Regular, " "));
    assert_eq!(screen.quiet_startup, QuietStartup::Except(HeaderWord::Header));
    assert_eq!((screen.editor_padding, screen.menu_rows), (3, 3));
    assert_eq!(screen.wheel_lines.lines(), Some(3));
    assert_eq!(terminal.images.protocol(), Some(ImageProtocol::None));
    assert_eq!((terminal.hyperlinks.flag(), terminal.true_color.flag()), (Some(true), None));
    assert!(!terminal.mouse);
    assert_eq!((markdown.mermaid, markdown.code_indent.as_str()), (MermaidMode::Off, ""));
    assert!(store.settings().branch_summary.skip_prompt && screen.vim);
    assert_eq!(screen.external_editor.as_deref(), Some("vi -R"));
}

#[test]
fn invalid_settings_of_the_screen_are_ignored_and_reported() {
    let cases = [
        (json!({ "tuiMode": "window" }), "`tuiMode` is ignored: unknown variant `window`"),
        (json!({ "quietStartup": "yes" }), "expected true, false or \"header\""),
        (json!({ "fullscreenWheelScrollLines": 0 }), "expected \"auto\" or a number of lines"),
        (json!({ "editorPaddingX": -1 }), "expected a whole number from 0"),
        (json!({ "terminal": { "images": "sixel" } }), "`terminal.images` is ignored"),
        (json!({ "notifications": true }), "`notifications` is ignored"),
    ];
    for (settings, expected) in cases {
        let env = ConfigEnv::new();
        env.user("settings.json", settings.to_string());
        let store = SettingsStore::load(&env.environment, true);
        let problems: Vec<String> = store.diagnostics().iter().map(ToString::to_string).collect();
        assert!(problems.len() == 1 && problems[0].contains(expected), "{settings}: {problems:?}");
        assert_eq!(store.settings(), &Settings::default(), "{settings}");
    }
}

#[test]
fn a_project_does_not_choose_the_editor_that_runs() {
    let env = ConfigEnv::new();
    env.project("settings.json", r#"{"externalEditor": "evil", "theme": "dark"}"#);
    let store = SettingsStore::load(&env.environment, true);
    let screen = &store.settings().screen;
    assert_eq!((&screen.external_editor, screen.theme.as_str()), (&None, "dark"));
}

#[test]
fn reading_and_unchanged_values_write_nothing() {
    let env = ConfigEnv::new();
    let mut store = SettingsStore::load(&env.environment, true);
    assert_eq!(names(env.agent()), [] as [&str; 0]);
    assert_eq!(names(&env.environment.cwd), [] as [&str; 0]);
    let path = env.user("settings.json", r#"{"a":1}"#);
    store.update(SettingsScope::User, |changes| changes.set(&["a"], 1)).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), r#"{"a":1}"#, "the layout is kept");
}

#[test]
fn concurrent_writers_lose_no_change() {
    let env = ConfigEnv::new();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let environment = env.environment.clone();
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
    let text = fs::read_to_string(env.agent().join("settings.json")).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    let found: BTreeSet<String> = written["all"].as_object().unwrap().keys().cloned().collect();
    let expected = (0..4).flat_map(|w| (0..25).map(move |n| format!("w{w}.{n}"))).collect();
    assert_eq!(found, expected);
    assert_eq!(names(env.agent()), ["settings.json"]);
}

#[test]
fn the_session_directory_comes_from_flag_variable_settings_or_default() {
    // Flag, variable, project, user; expected directory and `shared`.
    let cases = [
        (Some("f"), Some("v"), Some("p"), Some("u"), "project/f", true),
        (None, Some("v"), Some("p"), Some("u"), "project/v", true),
        (None, None, Some("p"), Some("u"), "project/p", true),
        (None, None, None, Some("~/u"), "home/u", true),
        (Some(""), None, None, Some(""), "home/.pi/agent/sessions/", false),
    ];
    for (flag, variable, project, user, expected, shared) in cases {
        let mut env = ConfigEnv::new();
        let content = |dir: Option<&str>| {
            Value::Object(
                dir.map(|dir| ("sessionDir".to_owned(), dir.into())).into_iter().collect(),
            )
        };
        env.user("settings.json", content(user).to_string());
        env.project("settings.json", content(project).to_string());
        if let Some(variable) = variable {
            let variables = std::sync::Arc::make_mut(&mut env.environment.variables);
            variables.insert("PI_CODING_AGENT_SESSION_DIR".to_owned(), variable.to_owned());
        }
        // Not trusted: this key is read before trust is decided.
        let store = SettingsStore::load(&env.environment, false);
        let found = resolve_session_directory(&env.environment, flag, &store);
        assert_eq!(found.shared, shared, "{expected}");
        let directory = found.path.to_string_lossy().into_owned();
        let expected = env.path("").join(expected).to_string_lossy().into_owned();
        assert!(directory.starts_with(&expected), "{directory} {expected}");
        assert_eq!(directory == expected, shared, "{directory} {expected}");
    }
}

#[test]
fn the_agent_directory_comes_from_the_variable_or_the_home() {
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
