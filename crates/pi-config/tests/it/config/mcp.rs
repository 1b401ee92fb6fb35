//! `mcp.json`: loading, merging, problems and changes.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use pi_config::mcp::{
    self, Approval, Configuration, McpFile, Scope, ServerChange, ServerConfig, Transport,
};
use pi_config::{Exposure, ValueResolver};
use serde_json::{Value, json};

use super::env::ConfigEnv;

fn servers(value: &Value) -> String {
    json!({ "mcpServers": value }).to_string()
}

fn load(user: &Value, project: &Value) -> (ConfigEnv, Configuration) {
    let env = ConfigEnv::new();
    env.user("mcp.json", servers(user));
    env.project("mcp.json", servers(project));
    let loaded = mcp::load(&env.environment, true);
    (env, loaded)
}

#[test]
fn every_field_is_read() {
    let user = json!({
        "files": {
            "command": "~/bin/files", "args": ["-v", "~/data", "a~/b"], "cwd": "sub",
            "env": { "KEY": "${PEER_SET}", "OUT": "!echo from a command", "EMPTY": "" },
            "exposure": "codemode-deferred", "timeout": 1.5, "description": "Files",
            "toolExposure": { "read_*": "direct", "read_all": "hidden" }, "future": 1,
        },
        "docs": {
            "type": "streamable-http", "url": "https://docs.example/mcp", "enabled": false,
            "headers": { "X-Team": "a" }, "auth": { "provider": "openai" },
            "oauth": { "clientId": "c", "callbackPort": 8765, "scope": "a b" },
        },
    });
    let (env, loaded) = load(&user, &json!({}));
    assert_eq!(loaded.errors, []);
    let files = &loaded.find("files").unwrap().config;
    assert_eq!((files.exposure, files.enabled), (Exposure::Codemode, true));
    assert_eq!(files.timeout, Duration::from_millis(1500));
    assert_eq!(files.description.as_deref(), Some("Files"));
    for (tool, expected) in [
        ("read_all", Exposure::Hidden),
        ("read_one", Exposure::Direct),
        ("write", Exposure::Codemode),
    ] {
        assert_eq!(files.exposure_of(tool), expected, "{tool}");
    }
    let Transport::Stdio(program) = &files.transport else { panic!("{files:?}") };
    let resolver = ValueResolver::new(env.environment.clone());
    let launch = program.launch(&env.environment, &resolver);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let launch = runtime.block_on(launch).unwrap();
    let home = env.path("home");
    assert_eq!(PathBuf::from(&launch.command), home.join("bin/files"));
    assert_eq!(launch.args, ["-v", home.join("data").to_str().unwrap(), "a~/b"]);
    assert_eq!(launch.cwd, env.environment.cwd.join("sub"));
    let variables: Vec<_> = launch.env.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(variables, ["from the environment", "from a command", ""]);

    let docs = &loaded.find("docs").unwrap().config;
    assert!(!docs.enabled);
    let Transport::Http(http) = &docs.transport else { panic!("{docs:?}") };
    assert_eq!(http.provider.as_deref(), Some("openai"));
    assert_eq!(http.oauth.callback_port, Some(8765));
    assert!(!http.uses_oauth());
}

#[test]
fn a_bad_entry_is_reported_with_its_place_and_the_others_load() {
    let url = "https://a.example/mcp";
    let long = [
        (json!({ "x y": { "command": "a" } }), "mcpServers.x y: a name has only"),
        (json!({ "x": 1 }), "mcpServers.x: expected an object"),
        (json!({ "x": {} }), "mcpServers.x: needs `command` (a program) or `url`"),
        (json!({ "x": { "type": "sse", "url": url } }), "mcpServers.x.type: the old SSE"),
        (json!({ "x": { "type": "ws", "url": url } }), "mcpServers.x.type: expected"),
        (json!({ "x": { "type": "stdio", "url": url } }), "mcpServers.x: needs `command`"),
        (json!({ "x": { "type": "http", "command": "a" } }), "mcpServers.x: needs `url`"),
        (json!({ "x": { "url": "ftp://a.example" } }), "mcpServers.x.url: expected an http"),
        (json!({ "x": { "url": url, "headers": { "a": 1 } } }), "mcpServers.x.headers: expected"),
        (json!({ "x": { "command": "a", "args": [1] } }), "mcpServers.x.args: expected a list"),
        (json!({ "x": { "command": "a", "timeout": 0 } }), "mcpServers.x.timeout: expected"),
        (json!({ "x": { "command": "a", "timeout": 1e300 } }), "mcpServers.x.timeout: expected"),
        (json!({ "x": { "command": "a", "enabled": 1 } }), "mcpServers.x.enabled: expected"),
        (json!({ "x": { "command": "a", "exposure": "all" } }), "mcpServers.x.exposure: expected"),
        (
            json!({ "x": { "command": "a", "toolExposure": { "t": "model-only" } } }),
            "mcpServers.x.toolExposure.t: expected",
        ),
        (json!({ "x": { "command": "a", "approval": "yes" } }), "mcpServers.x.approval: expected"),
        (
            json!({ "x": { "url": "http://a.example", "auth": { "provider": "p" } } }),
            "mcpServers.x.auth: needs an https URL",
        ),
        (json!({ "x": { "url": url, "auth": {} } }), "mcpServers.x.auth.provider: expected"),
        (
            json!({ "x": { "url": url, "oauth": { "callbackPort": 0 } } }),
            "mcpServers.x.oauth.callbackPort: expected",
        ),
        (
            json!({ "x": { "url": url, "oauth": { "callbackUrl": "http://a.example/cb" } } }),
            "mcpServers.x.oauth.callbackUrl: expected http on localhost",
        ),
        (
            json!({ "x": { "url": url, "oauth": {
                "callbackUrl": "http://localhost:1/cb", "callbackPort": 2 } } }),
            "mcpServers.x.oauth.callbackUrl: names another port",
        ),
        (
            json!({ "x": { "url": url, "oauth": { "clientRegistration": "cimd", "clientId": "c" } } }),
            "mcpServers.x.oauth.clientRegistration: \"cimd\" excludes",
        ),
        (
            json!({ "x": { "url": url, "oauth": { "authServerMetadataUrl": "http://a.example" } } }),
            "mcpServers.x.oauth.authServerMetadataUrl: expected an https",
        ),
        (
            json!({ "a-b": { "command": "a" }, "a_b": { "command": "b" } }),
            "mcpServers.a_b: the name is taken by \"a-b\"",
        ),
    ];
    for (mut entries, expected) in long {
        entries["good"] = json!({ "command": "good" });
        let (env, loaded) = load(&entries, &json!({}));
        let problems: Vec<String> = loaded.errors.iter().map(|one| one.message.clone()).collect();
        assert_eq!(problems.len(), 1, "{entries}: {problems:?}");
        assert!(problems[0].starts_with(expected), "{entries}: {problems:?}");
        assert_eq!(loaded.errors[0].path, Some(env.agent().join("mcp.json")));
        assert!(loaded.find("good").is_some(), "{entries}");
    }
}

#[test]
fn files_that_are_not_an_object_of_servers_are_reported() {
    for (content, expected) in [
        ("{\"mcpServers\": {", "line 1"),
        ("[]", "expected an object"),
        ("{\"mcpServers\": []}", "mcpServers: expected an object"),
        ("{\"autoEnableCodemode\": 1}", "autoEnableCodemode: expected"),
        ("// a comment\n{}", "comments are not allowed"),
    ] {
        let env = ConfigEnv::new();
        env.user("mcp.json", content);
        let loaded = mcp::load(&env.environment, true);
        assert_eq!(loaded.servers, []);
        assert_eq!(loaded.errors.len(), 1, "{content}");
        assert!(loaded.errors[0].message.contains(expected), "{content}: {:?}", loaded.errors);
    }
    let env = ConfigEnv::new();
    assert_eq!(mcp::load(&env.environment, true), Configuration::default());
    env.user("mcp.json", "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}");
    assert_eq!(mcp::load(&env.environment, true).servers.len(), 1);
}

#[test]
fn a_trusted_project_replaces_and_overrides() {
    let user = json!({
        "one": { "command": "user", "toolExposure": { "a": "direct" } },
        "two": { "command": "user", "env": { "KEY": "k" }, "toolExposure": { "a": "direct" } },
        "three": { "url": "https://a.example", "auth": { "provider": "p" } },
    });
    let project = json!({
        "one": { "command": "project" },
        "two": { "enabled": false, "exposure": "hidden" },
        "three": { "toolExposure": { "b": "direct" } },
        "four": { "exposure": "direct" },
        "five": { "url": "https://b.example", "auth": { "provider": "p" } },
        "six": { "command": "six" },
    });
    let (env, loaded) = load(&user, &project);
    let names: Vec<&str> = loaded.servers.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "three", "six"]);
    let problems: Vec<&str> = loaded.errors.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("mcpServers.four: needs"), "{problems:?}");
    assert!(problems[1].starts_with("mcpServers.five.auth: is allowed"), "{problems:?}");

    let project_file = env.environment.project_directory().join("mcp.json");
    let one = loaded.find("one").unwrap();
    assert_eq!((one.scope, &one.source), (Scope::Project, &project_file));
    assert_eq!(one.config.exposure_of("a"), Exposure::Codemode);
    let two = loaded.find("two").unwrap();
    assert_eq!((two.scope, two.overridden_by.as_ref()), (Scope::User, Some(&project_file)));
    assert_eq!((two.config.enabled, two.config.exposure), (false, Exposure::Hidden));
    assert_eq!(two.config.exposure_of("a"), Exposure::Direct);
    let three = loaded.find("three").unwrap();
    assert_eq!(three.config.exposure_of("b"), Exposure::Direct);
    assert!(matches!(&three.config.transport, Transport::Http(http) if http.provider.is_some()));

    let untrusted = mcp::load(&env.environment, false);
    assert_eq!(untrusted.servers.len(), 3);
    assert!(untrusted.errors.is_empty());

    let (_env, loaded) = load(&json!({ "a": { "command": "a" } }), &json!({ "a": { "env": {} } }));
    assert!(loaded.errors[0].message.starts_with("mcpServers.a.env: an override has only"));
    assert_eq!(loaded.find("a").unwrap().overridden_by, None);
}

#[test]
fn the_projects_value_of_a_flag_wins() {
    for (user, project, expected) in [
        (json!({}), json!({}), true),
        (json!({ "autoEnableCodemode": false }), json!({}), false),
        (json!({ "autoEnableCodemode": false }), json!({ "autoEnableCodemode": true }), true),
    ] {
        let env = ConfigEnv::new();
        env.user("mcp.json", user.to_string());
        env.project("mcp.json", project.to_string());
        assert_eq!(mcp::load(&env.environment, true).enables_codemode(), expected);
    }
}

#[test]
fn a_project_can_only_make_approval_stricter() {
    let user = json!({
        "a": { "command": "a", "approval": "allow", "toolApproval": { "drop_*": "ask" } },
        "b": { "command": "b" },
    });
    let project = json!({
        "a": { "toolApproval": { "send": "deny", "drop_*": "deny" } },
        "b": { "approval": "ask" },
    });
    let (_env, loaded) = load(&user, &project);
    assert_eq!(loaded.errors, []);
    for (server, tool, expected) in [
        ("a", "read", Some(Approval::Allow)),
        ("a", "send", Some(Approval::Deny)),
        ("a", "drop_all", Some(Approval::Deny)),
        ("b", "read", Some(Approval::Ask)),
    ] {
        let config = &loaded.find(server).unwrap().config;
        assert_eq!(config.approvals.get(tool), expected, "{server}/{tool}");
    }
    for project in [
        json!({ "b": { "approval": "allow" } }),
        json!({ "b": { "toolApproval": { "x": "allow" } } }),
        json!({ "c": { "command": "c", "approval": "allow" } }),
    ] {
        let (_env, loaded) = load(&user, &project);
        assert_eq!(loaded.errors.len(), 1, "{project}");
        assert!(loaded.errors[0].message.contains(".approval: \"allow\""), "{:?}", loaded.errors);
        assert_eq!(loaded.find("b").unwrap().config.approvals.get("x"), None);
        assert!(loaded.find("c").is_none());
    }
}

#[test]
fn changes_keep_everything_else() {
    let env = ConfigEnv::new();
    let content = "{\n\t\"$schema\": \"x\",\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \
                   \"a\",\n\t\t\t\"mine\": 1,\n\t\t\t\"exposure\": \"direct\"\n\t\t}\n\t}\n}\n";
    let path = env.user("mcp.json", content);
    let file = McpFile::new(&env.environment, Scope::User);
    file.change("a", &ServerChange::exposure(Exposure::Codemode)).unwrap();
    let without = content.replace(",\n\t\t\t\"exposure\": \"direct\"", "");
    assert_eq!(fs::read_to_string(&path).unwrap(), without);
    file.change("a", &ServerChange::enabled(false)).unwrap();
    file.change("a", &ServerChange::enabled(true)).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), without);

    let entry = json!({ "url": "https://b.example" }).as_object().unwrap().clone();
    assert!(!file.add("b", entry.clone()).unwrap());
    assert!(file.add("b", entry.clone()).unwrap());
    assert!(file.add("not a name", entry).is_err());
    assert!(file.remove("b").unwrap());
    assert!(!file.remove("b").unwrap());
    assert!(file.change("b", &ServerChange::enabled(true)).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), without);

    let project = McpFile::new(&env.environment, Scope::Project);
    assert!(!project.remove("a").unwrap());
    assert!(!env.environment.project_directory().exists());
    project.override_server("a", &ServerChange::enabled(true)).unwrap();
    let written = fs::read_to_string(project.path()).unwrap();
    let expected = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"enabled\": true\n    }\n  }\n}\n";
    assert_eq!(written, expected);
}

#[test]
fn a_broken_file_is_not_changed() {
    let env = ConfigEnv::new();
    let path = env.user("mcp.json", "{ not json");
    let file = McpFile::new(&env.environment, Scope::User);
    let entry = json!({ "command": "a" }).as_object().unwrap().clone();
    assert!(file.add("a", entry).is_err());
    assert_eq!(fs::read_to_string(path).unwrap(), "{ not json");
}

#[test]
fn secrets_are_not_in_debug_output() {
    let value = json!({ "url": "https://a.example", "headers": { "Authorization": "Bearer s3cret" },
        "oauth": { "clientSecret": "s3cret" } });
    let config = ServerConfig::parse("a", &value).unwrap();
    assert!(!format!("{config:?}").contains("s3cret"));
}
