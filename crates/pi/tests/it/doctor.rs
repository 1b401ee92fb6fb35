//! `pi doctor` on machines in order and out of order.

use serde_json::Value;

use crate::world::World;

fn findings(
    world: &World,
    variables: &[(&str, &str)],
) -> (Option<i32>, Vec<(String, String, String, String)>) {
    let mut command = world.command(&["doctor", "--json"]);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let list: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let text =
        |finding: &Value, name: &str| world.stable(finding[name].as_str().unwrap_or_default());
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

fn about(findings: &[(String, String, String, String)], name: &str) -> Vec<String> {
    let found = findings.iter().filter(|finding| finding.0 == name);
    found.map(|(_, state, message, _)| format!("{state}: {message}")).collect()
}

#[test]
fn a_new_machine_is_in_order() {
    let world = World::new();
    let (code, found) = findings(&world, &[]);
    assert_eq!(code, Some(0), "{found:?}");
    let expected = "ok: [ROOT]/home/.pi/agent will be created when it is needed";
    assert_eq!(about(&found, "agent directory"), [expected]);
    assert_eq!(about(&found, "sessions"), ["ok: none yet in [ROOT]/home/.pi/agent/sessions"]);
    let none = "warning: no provider has a key in the environment, and nothing is stored";
    assert_eq!(about(&found, "keys"), [none]);
    assert!(!world.agent().exists(), "it changes nothing");
    let text = world.out(&["doctor"]);
    assert!(text.contains("warning  keys: no provider has a key"), "{text}");
    assert!(text.contains("\n         Set the variable of your provider"), "{text}");
}

#[test]
fn keys_are_named_and_not_shown() {
    let variables = [("OPENAI_API_KEY", "hunter2"), ("ANTHROPIC_API_KEY", "hunter2")];
    let (code, found) = findings(&World::new(), &variables);
    assert_eq!(code, Some(0));
    let [keys] = about(&found, "keys").try_into().unwrap();
    assert!(keys.contains("openai (OPENAI_API_KEY)"), "{keys}");
    assert!(keys.contains("anthropic (ANTHROPIC_API_KEY)"), "{keys}");
    assert!(!format!("{found:?}").contains("hunter2"));
}

#[test]
fn problems_have_a_fix_and_a_code() {
    let world = World::new();
    std::fs::create_dir_all(world.agent().join("crashes")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(world.agent().join(name), text).unwrap();
    write("settings.json", "{\n  \"a\": 1,\n}");
    write("trust.json", "[]");
    write("auth.json", "{}");
    write("crashes/1.txt", "");
    std::fs::create_dir(world.agent().join("sessions")).unwrap();
    write("sessions/broken.jsonl", "not a session\n{}\n");
    world.session("0193aaaa", &world.project(), "Hello");
    let (code, found) = findings(&world, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let [settings] = about(&found, "settings").try_into().unwrap();
    let place = "error: [ROOT]/home/.pi/agent/settings.json: line 3, column 1: ";
    assert!(settings.starts_with(place), "{settings}");
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
        std::fs::set_permissions(world.agent().join("auth.json"), mode(0o644)).unwrap();
        let (_, found) = findings(&world, &[]);
        let open = "warning: [ROOT]/home/.pi/agent/auth.json can be read by others (mode 644)";
        assert_eq!(about(&found, "credentials")[1], open);
        std::fs::set_permissions(world.agent().join("auth.json"), mode(0o600)).unwrap();
        assert_eq!(about(&findings(&world, &[]).1, "credentials").len(), 1);
    }
    for (name, state, message, fix) in &found {
        assert_eq!(fix.is_empty(), state == "ok", "{name}: {message}");
    }
}

#[test]
fn a_directory_that_cannot_be_used_is_an_error() {
    let world = World::new();
    let file = world.project().join("file");
    std::fs::write(&file, "").unwrap();
    for place in [file.clone(), file.join("below")] {
        let place = place.to_str().unwrap();
        let (code, found) = findings(&world, &[("PI_CODING_AGENT_DIR", place)]);
        assert_eq!(code, Some(1), "{place}");
        let [problem] = about(&found, "agent directory").try_into().unwrap();
        assert!(problem.starts_with("error: "), "{problem}");
    }
}

#[test]
fn what_the_user_chose_is_looked_at() {
    let world = World::new();
    let write = |path: std::path::PathBuf, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let agent = world.agent();
    write(
        agent.join("settings.json"),
        r#"{ "theme": "dark", "defualtModel": "x", "mine": 1, "steeringMode": "some" }"#,
    );
    write(
        agent.join("models.json"),
        r#"{ "providers": { "a": { "models": [{ "id": "m" }] }, "b": { "baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "models": [{ "id": "m" }] } } }"#,
    );
    write(agent.join("skills/broken/SKILL.md"), "---\nname: broken\n---\nNo description.\n");
    write(agent.join("prompts/fine.md"), "Do it.");
    write(agent.join("AGENTS.md"), "Be kind.");
    write(world.project().join(".pi/settings.json"), r#"{ "alsoUnknown": 1 }"#);
    let (code, found) = findings(&world, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let known = |name: &str| about(&found, name).join("\n");
    insta::assert_snapshot!(
        ["settings", "trust", "models", "resources", "keys"].map(known).join("\n")
    );
    let mistyped = found.iter().find(|one| one.2.contains("defualtModel")).unwrap();
    assert_eq!(mistyped.3, "Did you mean `defaultModel`?");

    // The project's own choices count once it is trusted.
    write(agent.join("settings.json"), r#"{ "defaultProjectTrust": "always" }"#);
    let (_, found) = findings(&world, &[]);
    assert_eq!(about(&found, "trust"), ["ok: [ROOT]/project is trusted"]);
    let settings = about(&found, "settings").join("\n");
    assert!(settings.contains("`alsoUnknown` is no setting"), "{settings}");
}

#[test]
fn credentials_are_told_by_name_and_source() {
    let world = World::new();
    std::fs::create_dir_all(world.agent()).unwrap();
    let text = r#"{
        "openai": { "type": "api_key", "key": "hunter2" },
        "groq": { "type": "api_key", "key": "$NOPE" },
        "cerebras": { "type": "api_key", "key": "!touch ran; echo hunter2" },
        "anthropic": { "type": "oauth", "access": "hunter2", "refresh": "hunter2", "expires": 1000 },
        "mistral": { "type": "api_key", "key": "hunter2" },
        "nobody": { "type": "api_key", "key": "hunter2" },
        "xai": { "type": "new", "secret": "hunter2" }
    }"#;
    let path = world.agent().join("auth.json");
    std::fs::write(&path, text).unwrap();
    let (code, found) = findings(&world, &[("GEMINI_API_KEY", "hunter2")]);
    assert_eq!(code, Some(1), "{found:?}");
    let rows = found.iter().filter(|one| one.0 == "keys");
    let rows: Vec<String> =
        rows.map(|(_, state, message, fix)| format!("{state}: {message}\n  {fix}")).collect();
    insta::assert_snapshot!(rows.join("\n"));
    assert!(!format!("{found:?}").contains("hunter2"));
    assert!(!world.project().join("ran").exists(), "no command is run");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "it changes nothing");
}

#[test]
fn the_directory_of_sessions_may_be_a_setting() {
    let world = World::new();
    std::fs::create_dir_all(world.agent()).unwrap();
    let settings = world.agent().join("settings.json");
    std::fs::write(&settings, r#"{ "sessionDir": "~/talks" }"#).unwrap();
    let (_, found) = findings(&world, &[]);
    assert_eq!(about(&found, "sessions"), ["ok: none yet in [ROOT]/home/talks"]);
    let session = world.session("0193aaaa", &world.project(), "Hello");
    let talks = world.agent().join("../../talks");
    std::fs::create_dir(&talks).unwrap();
    std::fs::rename(&session, talks.join(session.file_name().unwrap())).unwrap();
    let (_, found) = findings(&world, &[]);
    assert_eq!(about(&found, "sessions"), ["ok: 1 in [ROOT]/home/talks"]);
    assert!(world.out(&["sessions", "list"]).contains("Hello"));
    let elsewhere = world.project().join("none");
    let given = ["sessions", "list", "--session-dir", elsewhere.to_str().unwrap()];
    assert!(!world.out(&given).contains("Hello"), "the flag counts more");

    std::fs::write(world.project().join("file"), "").unwrap();
    std::fs::write(&settings, r#"{ "sessionDir": "file/below" }"#).unwrap();
    let (code, found) = findings(&world, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let [problem] = about(&found, "sessions").try_into().unwrap();
    assert!(problem.starts_with("error: [ROOT]/project/file/below cannot be created"), "{problem}");
}

#[test]
fn the_sandbox_is_told_as_it_is() {
    let world = World::new();
    let rung = pi_guard::confine::Machine::detect().level();
    let (_, found) = findings(&world, &[]);
    let [told] = about(&found, "sandbox").try_into().unwrap();
    let expected = match rung {
        pi_guard::confine::ConfinementLevel::None => {
            "warning: commands cannot be confined (".to_owned()
        }
        pi_guard::confine::ConfinementLevel::Landlock => {
            format!("warning: {rung}, which holds less")
        }
        rung => format!("ok: {rung}"),
    };
    assert!(told.starts_with(&expected), "{told}");
    // More than there is: nothing would run.
    std::fs::create_dir_all(world.agent()).unwrap();
    let settings = r#"{ "guard": { "sandbox": "read-only", "require": "bubblewrap" } }"#;
    std::fs::write(world.agent().join("settings.json"), settings).unwrap();
    let (_, found) = findings(&world, &[]);
    let [told] = about(&found, "sandbox").try_into().unwrap();
    let enough = rung >= pi_guard::confine::ConfinementLevel::Bubblewrap;
    assert_eq!(told.starts_with("error: the settings require bubblewrap"), !enough, "{told}");
}

#[test]
fn rule_files_that_cannot_be_used_are_errors() {
    let world = World::new();
    let rules = world.agent().join("rules");
    std::fs::create_dir_all(&rules).unwrap();
    let (_, found) = findings(&world, &[]);
    assert_eq!(about(&found, "rules"), ["ok: profile explore, all rule files can be used"]);
    std::fs::write(rules.join("a.toml"), "[[command]]\nprefix = []\ndecision = \"ask\"\n").unwrap();
    let (code, found) = findings(&world, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let [told] = about(&found, "rules").try_into().unwrap();
    let place = "error: [ROOT]/home/.pi/agent/rules/a.toml:1: a prefix needs at least one word";
    assert!(told.starts_with(place), "{told}");
    std::fs::remove_file(rules.join("a.toml")).unwrap();
    let settings = r#"{ "guard": { "profile": "brave" } }"#;
    std::fs::write(world.agent().join("settings.json"), settings).unwrap();
    let (code, found) = findings(&world, &[]);
    assert_eq!(code, Some(1), "{found:?}");
    let [told] = about(&found, "rules").try_into().unwrap();
    assert!(told.starts_with("error: ") && told.ends_with("nothing will run"), "{told}");
}
