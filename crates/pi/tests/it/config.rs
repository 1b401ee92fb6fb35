//! `pi config` and `pi trust` with real files.

use serde_json::{Value, json};

use crate::test_env::TestEnv;

fn settings(env: &TestEnv) -> Value {
    let text = std::fs::read_to_string(env.agent().join("settings.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn write(env: &TestEnv, content: &Value) {
    std::fs::create_dir_all(env.agent()).unwrap();
    std::fs::write(env.agent().join("settings.json"), content.to_string()).unwrap();
}

#[test]
fn settings_are_set_printed_and_removed() {
    let env = TestEnv::new();
    write(&env, &json!({ "mine": [1], "theme": "dark", "retry": { "maxRetries": 7 } }));
    let cases: &[(&str, &str, Value)] = &[
        ("defaultModel", "m1", json!("m1")),
        // A number where a string is expected is a string.
        ("defaultProvider", "5", json!("5")),
        ("defaultThinkingLevel", "high", json!("high")),
        ("compaction.enabled", "false", json!(false)),
        ("compaction.reserveTokens", "1000", json!(1000)),
        ("retry.provider.timeoutMs", "5", json!(5)),
        ("enabledModels", "a*, b", json!(["a*", "b"])),
        ("defaultTools", r#"["read","grep"]"#, json!(["read", "grep"])),
        ("httpIdleTimeoutMs", "disabled", json!("disabled")),
        ("guard.profile", "careful", json!("careful")),
        ("tuiMode", "fullscreen", json!("fullscreen")),
    ];
    for (key, word, value) in cases {
        let set = env.out(&["config", "set", key, word]);
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        assert_eq!(set, format!("{key} = {shown} (user)\n"), "{key}");
        assert_eq!(env.out(&["config", "get", key]), format!("{shown}\n"));
        let pointer = format!("/{}", key.replace('.', "/"));
        assert_eq!(settings(&env).pointer(&pointer), Some(value), "{key}");
    }
    // Keys of single models contain dots.
    env.out(&["config", "set", "modelThinkingLevels.a/b-3.5", "low"]);
    env.out(&["config", "set", "compaction.modelOverrides.a/b-3.5.reserveTokens", "9"]);
    assert_eq!(settings(&env)["modelThinkingLevels"], json!({ "a/b-3.5": "low" }));
    let overrides = json!({ "a/b-3.5": { "reserveTokens": 9 } });
    assert_eq!(settings(&env)["compaction"]["modelOverrides"], overrides);
    // Everything else stays.
    assert_eq!((&settings(&env)["mine"], &settings(&env)["theme"]), (&json!([1]), &json!("dark")));
    assert_eq!(settings(&env)["retry"]["maxRetries"], 7);
    assert_eq!(env.out(&["config", "unset", "defaultModel"]), "defaultModel (not set)\n");
    assert_eq!(settings(&env).get("defaultModel"), None);
    assert_eq!(
        env.failure(&["config", "get", "defaultModel"]),
        (Some(1), "pi: defaultModel is not set\n".to_owned())
    );
    let unset = env.out(&["config", "unset", "compaction.enabled"]);
    assert_eq!(unset, "compaction.enabled = true (default)\n");
}

#[test]
fn invalid_settings_are_refused() {
    let env = TestEnv::new();
    write(&env, &json!({ "defaultModel": "m1" }));
    let cases: &[(&[&str], i32, &str, &str)] = &[
        (&["set", "defaltModel", "x"], 2, "unknown setting `defaltModel`", "defaultModel?"),
        (&["get", "reserveTokens"], 2, "unknown setting", "did you mean compaction.reserveTokens?"),
        (&["set", "thinking", "high"], 2, "unknown setting", "did you mean defaultThinkingLevel?"),
        (&["get", "nonsense"], 2, "unknown setting", "pi config list"),
        (&["set", "retry", "5"], 2, "`retry` is a group", "pi config list retry"),
        (&["set", "defaultThinkingLevel", "hihg"], 2, "invalid value", "Default thinking level."),
        (&["set", "compaction.enabled", "maybe"], 2, "invalid value", "compaction.enabled: "),
        (
            &["set", "--", "retry.maxRetries", "-1"],
            2,
            "a whole number from 0",
            "retry.maxRetries: ",
        ),
        (&["set", "packages", "{}"], 2, "invalid value", "Packages of resources."),
        (&["set", "guard.profile", "lax"], 2, "expected", "Safety profile."),
        (
            &["set", "defaultModel", "null"],
            2,
            "null is not a value",
            "pi config unset defaultModel",
        ),
        (&["set", "guard.profile", "careful", "--project"], 2, "a project cannot set", "--project"),
    ];
    for (line, code, problem, hint) in cases {
        let (found, message) = env.failure(&[&["config"], *line].concat());
        assert_eq!(found, Some(*code), "{line:?}: {message}");
        assert!(message.contains(problem) && message.contains(hint), "{line:?}: {message}");
    }
    assert_eq!(settings(&env), json!({ "defaultModel": "m1" }));
    // A broken file is never written.
    let broken = "{\"defaultModel\": \"m1\",}";
    std::fs::write(env.agent().join("settings.json"), broken).unwrap();
    let (code, message) = env.failure(&["config", "set", "defaultModel", "x"]);
    assert_eq!(code, Some(6), "{message}");
    assert!(message.contains("line 1, column"), "{message}");
    assert_eq!(std::fs::read_to_string(env.agent().join("settings.json")).unwrap(), broken);
}

#[test]
fn the_list_shows_values_and_sources() {
    let env = TestEnv::new();
    let proxy = "http://user:hunter2hunter2@proxy:3128";
    write(&env, &json!({ "defaultModel": "m1", "theme": "dark", "httpProxy": proxy }));
    std::fs::create_dir(env.project().join(".pi")).unwrap();
    let project = r#"{"defaultModel": "m2", "retry": {"maxRetries": 9}}"#;
    std::fs::write(env.project().join(".pi/settings.json"), project).unwrap();
    let list = env.out(&["config", "list"]);
    let (code, message) = env.failure(&["config"]);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("the selection of resources needs a terminal"), "{message}");
    for line in [
        "defaultModel = m1 (user)",
        "defaultProvider (not set)",
        "defaultThinkingLevel = medium (default)",
        "theme = dark (user)",
        "retry.maxRetries = 3 (default)",
        "    Maximum number of retries.",
    ] {
        assert!(list.lines().any(|found| found == line), "{line} in {list}");
    }
    assert!(!list.contains("hunter2hunter2") && !list.contains("trackingId"), "{list}");
    env.out(&["trust", "add"]);
    assert_eq!(env.out(&["config", "get", "defaultModel"]), "m2\n");
    let group = env.out(&["config", "list", "retry", "--json"]);
    let group: Vec<Value> = serde_json::from_str(&group).unwrap();
    assert!(group.iter().all(|row| row["key"].as_str().unwrap().starts_with("retry.")));
    let row = group.iter().find(|row| row["key"] == "retry.maxRetries").unwrap();
    assert_eq!((&row["value"], &row["source"]), (&json!(9), &json!("project")));
    let output = env.pi(&["config", "set", "defaultModel", "m3"]);
    assert_eq!(output.stdout, b"defaultModel = m2 (project)\n");
    assert!(String::from_utf8(output.stderr).unwrap().contains("the project sets it too"));
}

#[test]
fn schemas_are_printed_as_documented() {
    let env = TestEnv::new();
    for name in ["settings", "models", "auth", "trust", "task", "report"] {
        let path = format!("{}/../../docs/schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let documented: Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let printed: Value = serde_json::from_str(&env.out(&["config", "schema", name])).unwrap();
        assert_eq!(printed, documented, "{name}");
    }
    assert_eq!(env.pi(&["config", "schema", "nonsense"]).status.code(), Some(2));
}

#[test]
fn a_project_has_settings_of_its_own() {
    let env = TestEnv::new();
    let output = env.pi(&["config", "set", "--project", "defaultModel", "m1"]);
    assert!(output.status.success(), "{output:?}");
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(note.contains("apply after `pi trust add`"), "{note}");
    let file = env.project().join(".pi/settings.json");
    let read = || std::fs::read_to_string(&file).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read()).unwrap(), json!({ "defaultModel": "m1" }));
    assert!(!env.agent().join("settings.json").exists());
    let (code, message) = env.failure(&["config", "set", "--project", "defaultModel", "m2"]);
    assert_eq!(code, Some(6), "{message}");
    assert!(message.contains("run `pi trust add`"), "{message}");
    env.out(&["trust", "add"]);
    env.out(&["config", "unset", "--project", "defaultModel"]);
    assert_eq!(serde_json::from_str::<Value>(&read()).unwrap(), json!({}));
}

#[test]
fn trust_is_listed_added_and_removed() {
    let env = TestEnv::new();
    let project = env.project();
    std::fs::create_dir_all(project.join(".pi/skills/s")).unwrap();
    std::fs::write(project.join(".pi/settings.json"), "{}").unwrap();
    let listed = env.pi(&["trust"]);
    let stderr = String::from_utf8(listed.stderr).unwrap();
    assert!(listed.status.success() && listed.stdout.is_empty());
    assert!(stderr.contains("it brings .pi/settings.json, .pi/skills"), "{stderr}");
    assert!(stderr.contains("hint: review these files, then run `pi trust add`"), "{stderr}");
    // Other decisions stay.
    std::fs::create_dir_all(env.agent()).unwrap();
    let file = env.agent().join("trust.json");
    std::fs::write(&file, "{\n  \"/z\": false,\n  \"/gone\": true\n}\n").unwrap();
    let added = env.stable(&env.out(&["trust", "add"]));
    assert_eq!(added, "trusted [ROOT]/project: runs there use .pi/settings.json, .pi/skills\n");
    let written = env.stable(&std::fs::read_to_string(&file).unwrap());
    let path = project.to_str().unwrap();
    let mut paths = [("/gone", true), (path, true), ("/z", false)];
    paths.sort_unstable();
    let rows: Vec<String> = paths.map(|(path, yes)| format!("  \"{path}\": {yes}")).into();
    assert_eq!(
        written,
        env.stable(&format!("{{\n{}\n}}\n", rows.join(",\n"))),
        "as 1.5.0 writes it"
    );
    let list = env.stable(&env.out(&["trust", "list"]));
    for line in [
        "trusted      /gone: does not exist",
        "trusted      [ROOT]/project: .pi/settings.json, .pi/skills",
        "not trusted  /z: does not exist",
    ] {
        assert!(list.lines().any(|found| found == line), "{line} in {list}");
    }
    let json: Vec<Value> = serde_json::from_str(&env.out(&["trust", "list", "--json"])).unwrap();
    let row = json.iter().find(|row| row["path"] == path).unwrap();
    assert_eq!(row["files"], json!([".pi/settings.json", ".pi/skills"]));
    // A directory below is covered by the decision.
    std::fs::create_dir(project.join("sub")).unwrap();
    let (code, message) = env.failure(&["trust", "remove", "sub"]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains(&format!("pi trust remove {path}`")), "{message}");
    let removed = env.stable(&env.out(&["trust", "remove"]));
    assert!(removed.starts_with("removed the decision about [ROOT]/project: runs there ignore "));
    env.out(&["trust", "remove", "/gone"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\n  \"/z\": false\n}\n");
    assert_eq!(env.failure(&["trust", "remove"]).0, Some(1));
    assert_eq!(env.failure(&["trust", "add", "nowhere"]).0, Some(1));
}
