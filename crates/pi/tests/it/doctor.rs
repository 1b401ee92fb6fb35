//! `pi doctor` with valid and invalid configurations.

use serde_json::Value;

use crate::test_env::TestEnv;

/// Runs `pi doctor`. Returns the exit code and the findings as (about, state, message, fix).
fn findings(
    env: &TestEnv,
    variables: &[(&str, &str)],
) -> (Option<i32>, Vec<(String, String, String, String)>) {
    let mut command = env.command(&["doctor", "--json"]);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let list: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let text = |finding: &Value, name: &str| env.stable(finding[name].as_str().unwrap_or_default());
    let findings = list.iter().map(|finding| {
        (
            text(finding, "about"),
            text(finding, "state"),
            text(finding, "message"),
            text(finding, "fix"),
        )
    });
    (output.status.code(), findings.collect())
}

/// Returns the findings on one subject as "state: message".
fn about(findings: &[(String, String, String, String)], name: &str) -> Vec<String> {
    let found = findings.iter().filter(|finding| finding.0 == name);
    found.map(|(_, state, message, _)| format!("{state}: {message}")).collect()
}

#[test]
fn a_new_installation_has_no_errors() {
    let env = TestEnv::new();
    let (code, found) = findings(&env, &[]);
    assert_eq!(code, Some(0), "{found:?}");
    let expected = "ok: [ROOT]/home/.pi/agent will be created when needed";
    assert_eq!(about(&found, "agent directory"), [expected]);
    assert_eq!(about(&found, "sessions"), ["ok: none yet in [ROOT]/home/.pi/agent/sessions"]);
    let none = "warning: no credentials found in the environment or in auth.json";
    assert_eq!(about(&found, "keys"), [none]);
    assert!(!env.agent().exists(), "nothing is changed");
    let text = env.out(&["doctor"]);
    assert!(text.contains("warning  keys: no credentials found"), "{text}");
    assert!(text.contains("\n         Sign in with `pi auth login`, store a key"), "{text}");
}

#[test]
fn keys_are_named_and_not_shown() {
    let variables = [("OPENAI_API_KEY", "hunter2"), ("ANTHROPIC_API_KEY", "hunter2")];
    let (code, found) = findings(&TestEnv::new(), &variables);
    assert_eq!(code, Some(0));
    let [keys] = about(&found, "keys").try_into().unwrap();
    assert!(keys.contains("openai (OPENAI_API_KEY)"), "{keys}");
    assert!(keys.contains("anthropic (ANTHROPIC_API_KEY)"), "{keys}");
    assert!(!format!("{found:?}").contains("hunter2"));
}

#[test]
fn every_problem_has_a_fix() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent().join("crashes")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(env.agent().join(name), text).unwrap();
    write("settings.json", "{\n  \"a\": 1,\n}");
    write("trust.json", "[]");
    write("auth.json", "{}");
    write("crashes/1.txt", "");
    std::fs::create_dir(env.agent().join("sessions")).unwrap();
    write("sessions/broken.jsonl", "not a session\n{}\n");
    env.session("0193aaaa", &env.project(), "Hello");
    let (code, found) = findings(&env, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let [settings] = about(&found, "settings").try_into().unwrap();
    let start = "error: [ROOT]/home/.pi/agent/settings.json: line 3, column 1: ";
    assert!(settings.starts_with(start), "{settings}");
    let [trust] = about(&found, "trust").try_into().unwrap();
    assert!(trust.starts_with("error: [ROOT]/home/.pi/agent/trust.json: "), "{trust}");
    assert_eq!(
        about(&found, "sessions"),
        [
            "warning: Session file is not a valid pi session: [ROOT]/home/.pi/agent/sessions/broken.jsonl",
            "ok: 1 in [ROOT]/home/.pi/agent/sessions",
        ]
    );
    assert_eq!(about(&found, "crashes"), ["warning: 1 reports in [ROOT]/home/.pi/agent/crashes"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(env.agent().join("auth.json"), mode(0o644)).unwrap();
        let (_, found) = findings(&env, &[]);
        let open = "warning: [ROOT]/home/.pi/agent/auth.json is readable by other users (mode 644)";
        assert_eq!(about(&found, "credentials")[1], open);
        std::fs::set_permissions(env.agent().join("auth.json"), mode(0o600)).unwrap();
        assert_eq!(about(&findings(&env, &[]).1, "credentials").len(), 1);
    }
    for (name, state, message, fix) in &found {
        assert_eq!(fix.is_empty(), state == "ok", "{name}: {message}");
    }
}

#[test]
fn an_unusable_agent_directory_is_an_error() {
    let env = TestEnv::new();
    let file = env.project().join("file");
    std::fs::write(&file, "").unwrap();
    for directory in [file.clone(), file.join("below")] {
        let directory = directory.to_str().unwrap();
        let (code, found) = findings(&env, &[("PI_CODING_AGENT_DIR", directory)]);
        assert_eq!(code, Some(1), "{directory}");
        let [problem] = about(&found, "agent directory").try_into().unwrap();
        assert!(problem.starts_with("error: "), "{problem}");
    }
}

#[test]
fn the_configuration_is_checked() {
    let env = TestEnv::new();
    let write = |path: std::path::PathBuf, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let agent = env.agent();
    write(
        agent.join("settings.json"),
        r#"{ "warnings": {}, "defualtModel": "x", "mine": 1, "steeringMode": "some" }"#,
    );
    write(
        agent.join("models.json"),
        r#"{ "providers": { "a": { "models": [{ "id": "m" }] }, "b": { "baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": [{ "id": "m" }] } } }"#,
    );
    write(agent.join("skills/broken/SKILL.md"), "---\nname: broken\n---\nNo description.\n");
    write(agent.join("prompts/fine.md"), "Do it.");
    write(agent.join("AGENTS.md"), "Be kind.");
    write(env.project().join(".pi/settings.json"), r#"{ "alsoUnknown": 1 }"#);
    let (code, found) = findings(&env, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let known = |name: &str| about(&found, name).join("\n");
    insta::assert_snapshot!(
        ["settings", "trust", "models", "resources", "keys"].map(known).join("\n")
    );
    let mistyped = found.iter().find(|one| one.2.contains("defualtModel")).unwrap();
    assert_eq!(mistyped.3, "Did you mean `defaultModel`?");

    // The project's settings are checked if it is trusted.
    write(agent.join("settings.json"), r#"{ "defaultProjectTrust": "always" }"#);
    let (_, found) = findings(&env, &[]);
    assert_eq!(about(&found, "trust"), ["ok: [ROOT]/project is trusted"]);
    let settings = about(&found, "settings").join("\n");
    assert!(settings.contains("unknown setting `alsoUnknown`"), "{settings}");
}

#[test]
fn credentials_are_listed_by_provider_and_source() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    let text = r#"{
        "openai": { "type": "api_key", "key": "hunter2" },
        "groq": { "type": "api_key", "key": "$NOPE" },
        "cerebras": { "type": "api_key", "key": "!touch ran; echo hunter2" },
        "anthropic": { "type": "oauth", "access": "hunter2", "refresh": "hunter2", "expires": 1000 },
        "github-copilot": { "type": "oauth", "access": "hunter2", "refresh": "hunter2",
            "expires": 1000 },
        "unknown": { "type": "api_key", "key": "hunter2" },
        "xai": { "type": "new", "secret": "hunter2" }
    }"#;
    let path = env.agent().join("auth.json");
    std::fs::write(&path, text).unwrap();
    let (code, found) = findings(&env, &[("GEMINI_API_KEY", "hunter2")]);
    assert_eq!(code, Some(1), "{found:?}");
    let rows = found.iter().filter(|one| one.0 == "keys");
    let rows: Vec<String> =
        rows.map(|(_, state, message, fix)| format!("{state}: {message}\n  {fix}")).collect();
    insta::assert_snapshot!(rows.join("\n"));
    assert!(!format!("{found:?}").contains("hunter2"));
    assert!(!env.project().join("ran").exists(), "no command ran");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "nothing is changed");
}

#[test]
fn the_session_directory_can_be_a_setting() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    let settings = env.agent().join("settings.json");
    std::fs::write(&settings, r#"{ "sessionDir": "~/talks" }"#).unwrap();
    let (_, found) = findings(&env, &[]);
    assert_eq!(about(&found, "sessions"), ["ok: none yet in [ROOT]/home/talks"]);
    let session = env.session("0193aaaa", &env.project(), "Hello");
    let talks = env.agent().join("../../talks");
    std::fs::create_dir(&talks).unwrap();
    std::fs::rename(&session, talks.join(session.file_name().unwrap())).unwrap();
    let (_, found) = findings(&env, &[]);
    assert_eq!(about(&found, "sessions"), ["ok: 1 in [ROOT]/home/talks"]);
    assert!(env.out(&["sessions", "list"]).contains("Hello"));
    let elsewhere = env.project().join("none");
    let given = ["sessions", "list", "--session-dir", elsewhere.to_str().unwrap()];
    assert!(!env.out(&given).contains("Hello"), "the option takes precedence");

    std::fs::write(env.project().join("file"), "").unwrap();
    std::fs::write(&settings, r#"{ "sessionDir": "file/below" }"#).unwrap();
    let (code, found) = findings(&env, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let [problem] = about(&found, "sessions").try_into().unwrap();
    assert!(problem.starts_with("error: [ROOT]/project/file/below cannot be created"), "{problem}");
}

#[test]
fn the_available_isolation_is_reported() {
    let env = TestEnv::new();
    let rung = pi_guard::confine::Machine::detect().level();
    let (_, found) = findings(&env, &[]);
    let [finding] = about(&found, "sandbox").try_into().unwrap();
    let expected = match rung {
        pi_guard::confine::ConfinementLevel::None => {
            "warning: commands cannot be sandboxed (".to_owned()
        }
        pi_guard::confine::ConfinementLevel::Landlock => {
            format!("warning: {rung} (")
        }
        rung => format!("ok: {rung}"),
    };
    assert!(finding.starts_with(&expected), "{finding}");
    // The settings may require more than the machine offers.
    std::fs::create_dir_all(env.agent()).unwrap();
    let settings = r#"{ "guard": { "sandbox": "read-only", "require": "bubblewrap" } }"#;
    std::fs::write(env.agent().join("settings.json"), settings).unwrap();
    let (_, found) = findings(&env, &[]);
    let [finding] = about(&found, "sandbox").try_into().unwrap();
    let enough = rung >= pi_guard::confine::ConfinementLevel::Bubblewrap;
    assert_eq!(finding.starts_with("error: the settings require bubblewrap"), !enough, "{finding}");
}

#[test]
fn invalid_rule_files_are_errors() {
    let env = TestEnv::new();
    let rules = env.agent().join("rules");
    std::fs::create_dir_all(&rules).unwrap();
    let (_, found) = findings(&env, &[]);
    assert_eq!(about(&found, "rules"), ["ok: profile explore; all rule files are valid"]);
    std::fs::write(rules.join("a.toml"), "[[command]]\nprefix = []\ndecision = \"ask\"\n").unwrap();
    let (code, found) = findings(&env, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let [finding] = about(&found, "rules").try_into().unwrap();
    let start = "error: the policy cannot be loaded: [ROOT]/home/.pi/agent/rules/a.toml:1: a prefix \
                 needs at least one word";
    assert!(finding.starts_with(start), "{finding}");
    std::fs::remove_file(rules.join("a.toml")).unwrap();
    let settings = r#"{ "guard": { "profile": "brave" } }"#;
    std::fs::write(env.agent().join("settings.json"), settings).unwrap();
    let (code, found) = findings(&env, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let [finding] = about(&found, "rules").try_into().unwrap();
    // The sentence of a run, and no other about the same setting.
    let expected = "error: the settings are invalid: [ROOT]/home/.pi/agent/settings.json: \
                    `guard.profile`: ";
    assert!(finding.starts_with(expected), "{finding}");
    assert_eq!(about(&found, "settings"), <[String; 0]>::default());
    let (code, message) = env.failure(&["-p", "hi"]);
    assert_eq!(code, Some(6), "{message}");
    let message = env.stable(&message);
    let sentence = finding.trim_start_matches("error: ");
    assert!(message.starts_with(&format!("pi: {sentence}\nhint: ")), "{message}");
}

#[test]
fn causes_are_reported_once_with_the_right_fix() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    let write = |name: &str, text: &str| std::fs::write(env.agent().join(name), text).unwrap();
    write("auth.json", "{ broken");
    write("settings.json", r#"{ "shellPath": "/nosuch/bash" }"#);
    let (code, found) = findings(&env, &[("ANTHROPIC_API_KEY", "k")]);
    assert_eq!(code, Some(1));
    let broken: Vec<_> = found.iter().filter(|one| one.2.contains("correct the file")).collect();
    let [(about_file, state, _, fix)] = broken.as_slice() else { panic!("{broken:?}") };
    assert_eq!((about_file.as_str(), state.as_str()), ("credentials", "error"));
    assert!(fix.starts_with("Fix the file"), "{fix}");
    assert_eq!(about(&found, "keys"), ["ok: anthropic (ANTHROPIC_API_KEY)"]);
    let shell = "error: shellPath is /nosuch/bash, which does not exist: every command fails";
    assert_eq!(about(&found, "shell"), [shell]);
    write("settings.json", r#"{ "guard": { "profile": "carefull" } }"#);
    let (_, found) = findings(&env, &[]);
    assert_eq!(about(&found, "settings"), [""; 0], "the check of the rules reports it");
    assert!(about(&found, "rules")[0].starts_with("error: "), "{found:?}");
    // A built-in provider whose format is not supported has no models unless a file adds it.
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    let models = r#"{ "providers": { "typesafe": { "baseUrl": "https://corp.example/v1" } } }"#;
    std::fs::write(env.agent().join("models.json"), models).unwrap();
    let (_, found) = findings(&env, &[("TYPESAFE_API_KEY", "k")]);
    let unsupported = "warning: typesafe (TYPESAFE_API_KEY) cannot be used: this version does not \
                       support typesafe (format typesafe-system-one)";
    assert_eq!(about(&found, "keys"), [unsupported]);
}
