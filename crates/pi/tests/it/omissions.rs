//! What a run leaves out is reported: extensions that do not load, settings, untrusted projects, tools.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::scenarios::format::Reply;
use crate::scenarios::server::Server;
use crate::test_env::TestEnv;

/// Configures a model that answers `count` prompts.
fn answering(env: &TestEnv, count: usize) -> Server {
    let server = Server::start(vec![Reply::Text("Done.".to_owned()); count]).unwrap();
    let provider = json!({"baseUrl": server.url(), "apiKey": "k", "api": "openai-completions",
        "models": [{"id": "m1"}]});
    let models = json!({"providers": {"mock": provider}}).to_string();
    write(&env.agent().join("models.json"), &models);
    settings(env, &json!({}));
    server
}

fn settings(env: &TestEnv, more: &Value) {
    let mut settings = json!({"defaultProvider": "mock", "defaultModel": "m1"});
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    write(&env.agent().join("settings.json"), &settings.to_string());
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs `pi` with an answer and returns its stderr.
#[track_caller]
fn stderr(env: &TestEnv, arguments: &[&str]) -> String {
    let output = env.pi(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    env.stable(&String::from_utf8(output.stderr).unwrap())
}

/// Returns the findings of `pi doctor` on one subject.
fn doctor(env: &TestEnv, about: &str) -> Vec<String> {
    let output = env.pi(&["doctor", "--json"]);
    let list: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let found = list.iter().filter(|one| one["about"] == about);
    let text = |one: &Value| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        env.stable(&format!("{}: {}", text("state"), text("message")))
    };
    found.map(text).collect()
}

#[test]
fn files_of_an_untrusted_project_are_reported() {
    let env = TestEnv::new();
    let _server = answering(&env, 9);
    write(&env.project().join(".pi/extensions/gate.ts"), "");
    write(&env.project().join(".pi/skills/s/SKILL.md"), "");
    write(&env.project().join(".agents/skills/t/SKILL.md"), "");
    fs::create_dir(env.project().join(".pi/prompts")).unwrap();
    let untrusted = "warning: [ROOT]/project is not trusted, so 3 items are not used: \
                     .pi/extensions, .pi/skills, .agents/skills";
    let hint = "review them, then run `pi trust add`, or use --approve for one run";
    assert_eq!(stderr(&env, &["-p", "hi"]), format!("pi: {untrusted}; {hint}\n"));
    assert_eq!(doctor(&env, "trust"), [untrusted]);
    // The user has decided, for this run or for good.
    assert_eq!(stderr(&env, &["-na", "-p", "hi"]), "");
    let decided = json!({env.project().to_str().unwrap(): false}).to_string();
    write(&env.agent().join("trust.json"), &decided);
    assert_eq!(stderr(&env, &["-p", "hi"]), "");
    let loaded = stderr(&env, &["-a", "-p", "hi"]);
    let extension = "error: Failed to load extension \"[ROOT]/project/.pi/extensions/gate.ts\": ";
    assert!(loaded.contains(extension), "{loaded}");
    assert!(!loaded.contains("trusted"), "{loaded}");
}

#[test]
fn bad_mcp_servers_are_reported() {
    let env = TestEnv::new();
    let _server = answering(&env, 9);
    let servers = json!({"mcpServers": {"files": {"command": "x"}, "bad": {}}});
    write(&env.agent().join("mcp.json"), &servers.to_string());
    settings(&env, &json!({"codemode": {"mode": "on"}, "warnings": {}}));
    let bad = "mcpServers.bad: needs `command` (a program) or `url`";
    assert!(stderr(&env, &["-p", "hi"]).contains(bad));
    assert_eq!(stderr(&env, &["--no-mcp", "-p", "hi"]), "");
    let found = doctor(&env, "mcp");
    assert!(found.len() == 1 && found[0].contains(bad), "{found:?}");
    let idle = "warning: without effect in this version: warnings";
    assert_eq!(doctor(&env, "settings")[1], idle);
    // A broken file was meant to start something.
    write(&env.agent().join("mcp.json"), "{");
    assert!(stderr(&env, &["-p", "hi"]).contains("mcp.json"));
}

#[test]
fn tools_that_do_not_exist_are_reported() {
    let env = TestEnv::new();
    let server = answering(&env, 9);
    let tools = || {
        let requests = server.requests();
        let tools = requests.last().unwrap()["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].clone()).collect::<Vec<_>>()
    };
    let cases: &[(&[&str], &str)] = &[
        (&["--tools", "read,grpe"], "pi: warning: unknown tool \"grpe\"; did you mean grep?\n"),
        (
            &["--tools", "+powershell,+codemode"],
            "pi: warning: the tool \"powershell\" of the TypeScript pi is not in this version\n",
        ),
        (&["-xt", "powershell,mcp__*,bash"], ""),
    ];
    for (arguments, expected) in cases {
        let line = [*arguments, &["-p", "hi"]].concat();
        assert_eq!(stderr(&env, &line), *expected, "{arguments:?}");
    }
    assert!(!tools().contains(&json!("bash")), "{:?}", tools());
    settings(&env, &json!({"defaultTools": ["+finde"]}));
    let expected = "pi: warning: unknown tool \"finde\"; did you mean find?\n";
    assert_eq!(stderr(&env, &["-p", "hi"]), expected);
    let before = server.requests().len();
    let cases: &[(&[&str], &str)] = &[
        (
            &["-xt", "bsh"],
            "pi: unknown tool \"bsh\" cannot be excluded\nhint: did you mean bash?\n",
        ),
        (&["-xt", "read,x*y"], "pi: unknown tool \"x*y\" cannot be excluded\nhint: the tools are "),
        (
            &["--tools=-bsh"],
            "pi: unknown tool \"bsh\" cannot be excluded\nhint: did you mean bash?\n",
        ),
        (
            &["--tools", "nosuch"],
            "pi: none of the selected tools exists: nosuch\nhint: the tools are",
        ),
    ];
    for (arguments, expected) in cases {
        let (code, stderr) = env.failure(&[*arguments, &["-p", "hi"]].concat());
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        assert_eq!(code, Some(2), "{arguments:?}");
    }
    assert_eq!(server.requests().len(), before, "nothing was asked");
}

#[test]
fn json_and_rpc_mode_have_an_event() {
    let env = TestEnv::new();
    let _server = answering(&env, 9);
    write(&env.agent().join("extensions/gate.ts"), "");
    let path = "[ROOT]/home/.pi/agent/extensions/gate.ts";
    let message = format!(
        "Failed to load extension \"{path}\": Extension does not export a valid factory function: \
         {path}"
    );
    let expected = json!({"type": "diagnostic", "severity": "error", "message": message});
    for (arguments, at) in [(&["--mode", "json", "hi"][..], 1), (&["--mode", "rpc"], 0)] {
        let output = env.pi(arguments);
        assert!(output.status.success(), "{output:?}");
        let text = env.stable(&String::from_utf8(output.stdout).unwrap());
        let line = text.lines().nth(at).unwrap();
        assert_eq!(serde_json::from_str::<Value>(line).unwrap(), expected, "{arguments:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("Failed to load extension"), "{stderr}");
    }
}

#[test]
fn arguments_that_name_nothing_are_errors() {
    let env = TestEnv::new();
    let server = answering(&env, 1);
    let cases: &[(&[&str], &str)] = &[
        (
            &["--skill", "nosuch"],
            "pi: [ROOT]/project/nosuch: the skill `nosuch` cannot be loaded: no such file or directory\n",
        ),
        (
            &["--prompt-template", "nosuch"],
            "pi: [ROOT]/project/nosuch: the prompt template `nosuch` cannot be loaded: no such file \
             or directory\n",
        ),
        (
            &["--add-dir", "nosuch"],
            "pi: --add-dir: [ROOT]/project/nosuch is not a directory; create it first\n",
        ),
        (
            &["--thinking", "ultra"],
            "pi: Invalid thinking level \"ultra\". Valid values: off, minimal, low, medium, high, \
             xhigh, max\nhint: see `pi --help`\n",
        ),
    ];
    for (arguments, expected) in cases {
        let (code, stderr) = env.failure(&[*arguments, &["-p", "hi"]].concat());
        assert_eq!((code, env.stable(&stderr).as_str()), (Some(2), *expected), "{arguments:?}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn continuing_something_else_is_reported() {
    let env = TestEnv::new();
    let _server = answering(&env, 9);
    let expected = "pi: warning: no session to continue in this directory; starting a new one\n";
    assert_eq!(stderr(&env, &["-c", "-p", "hi"]), expected);
    assert_eq!(stderr(&env, &["-c", "-p", "hi"]), "");
    let expected = "pi: warning: --continue has no effect with --no-session; the run starts a new \
                    session\n";
    assert_eq!(stderr(&env, &["-c", "--no-session", "-p", "hi"]), expected);
    let sessions = pi_session::session_directory(&env.agent(), &env.project());
    write(&sessions.join("2099-01-01T00-00-00-000Z_x.jsonl"), "broken\n");
    let warning = stderr(&env, &["-c", "-p", "hi"]);
    let expected = "_x.jsonl: not a readable session, so an earlier one is continued\n";
    assert!(warning.ends_with(expected), "{warning}");
    let expected = "pi: warning: messages on the command line are not sent in RPC mode; send a \
                    prompt command\n";
    assert_eq!(stderr(&env, &["--mode", "rpc", "hello"]), expected);
}
