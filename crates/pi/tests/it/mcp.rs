//! `pi mcp` with real files, and with a scripted server to sign in to.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use pi_guard::confine::ConfinementLevel;
use serde_json::{Value, json};

use crate::guard::rung;
use crate::logins::{AuthorizationServer, browse};
use crate::mcp_serve::{calls, model, says};
use crate::test_env::TestEnv;

fn read(env: &TestEnv, name: &str) -> Value {
    let text = std::fs::read_to_string(env.agent().join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn servers_are_added_and_removed() {
    let env = TestEnv::new();
    let url = "https://docs.example/mcp";
    let cases: &[(&[&str], Value)] = &[
        (
            &["files", "--env", "A=b=c", "--cwd", "~/x", "--", "npx", "-y", "server", "."],
            json!({ "command": "npx", "args": ["-y", "server", "."], "env": { "A": "b=c" },
                "cwd": "~/x" }),
        ),
        (
            &["plain", "--exposure", "direct", "--", "program"],
            json!({
            "command": "program", "exposure": "direct" }),
        ),
        (
            &["docs", "--url", url, "--description", "The docs"],
            json!({
            "url": url, "description": "The docs" }),
        ),
        (
            &["docs", "--url", url, "--header", "X-A=1", "--bearer-token-env-var", "TOKEN"],
            json!({ "url": url, "headers": { "X-A": "1", "Authorization": "Bearer ${TOKEN}" } }),
        ),
        (
            &[
                "auth",
                "--url",
                url,
                "--oauth-client-id",
                "c",
                "--oauth-client-secret",
                "${S}",
                "--oauth-callback-port",
                "8765",
                "--oauth-client-registration",
                "dcr",
            ],
            json!({ "url": url, "oauth": { "clientId": "c", "clientSecret": "${S}",
                "clientRegistration": "dcr", "callbackPort": 8765 } }),
        ),
    ];
    for (arguments, expected) in cases {
        env.out(&[&["mcp", "add"], *arguments].concat());
        assert_eq!(read(&env, "mcp.json")["mcpServers"][arguments[0]], *expected);
    }
    env.out(&["mcp", "remove", "files"]);
    assert_eq!(read(&env, "mcp.json")["mcpServers"]["files"], Value::Null);
    env.out(&["mcp", "add", "-l", "local", "--", "x"]);
    assert!(env.project().join(".pi/mcp.json").exists());

    for (arguments, code, expected) in [
        (&["add", "x"][..], 2, "expected either --url URL or -- COMMAND..."),
        (&["add", "x", "--url", "u", "--", "y"], 2, "expected either --url URL or -- COMMAND..."),
        (&["add", "x", "--url", "ftp://a"], 2, "expected an http or https URL"),
        (&["add", "x", "--url", url, "--env", "A=1"], 2, "--env is for servers that are a program"),
        (&["add", "x", "--header", "A=1", "--", "y"], 2, "--header is for servers that are a URL"),
        (&["add", "x", "--env", "A", "--", "y"], 2, "--env: expected NAME=VALUE"),
        (&["add", "x y", "--", "y"], 2, "a name has only letters"),
        (&["add", "-l", "x", "--approval", "allow", "--", "y"], 2, "the user's mcp.json only"),
        (&["remove", "nothing"], 1, "has no MCP server \"nothing\""),
        (&["remove", "local"], 1, "use --local"),
        (&["login", "dcos"], 1, "did you mean \"docs\"?"),
        (&["login", "plain"], 1, "is a program"),
        (&["login", "docs"], 1, "a configured Authorization header"),
        (&["logout", "-l", "auth"], 1, "leave out --local"),
    ] {
        let (found, message) = env.failure(&[&["mcp"], arguments].concat());
        assert_eq!(found, Some(code), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    // Names that differ only in - and _ are equal, in both files.
    env.out(&["mcp", "add", "my-docs", "--", "x"]);
    for scope in [&[][..], &["-l"]] {
        let (code, message) =
            env.failure(&[&["mcp", "add", "my_docs"], scope, &["--", "y"]].concat());
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains("the name is taken by \"my-docs\""), "{message}");
    }
}

#[test]
fn a_sign_in_is_stored_and_removed() {
    let server = AuthorizationServer::start();
    let env = TestEnv::new();
    let url = format!("{}/mcp", server.url);
    env.out(&["mcp", "add", "docs", "--url", &url]);
    let mut command = env.command(&["mcp", "login", "docs", "--no-browser"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let page = lines.find(|line| line.contains("/authorize?")).unwrap();
    let page = page.trim();
    assert!(page.contains("code_challenge_method=S256"), "{page}");
    assert!(page.contains("scope=tools"), "{page}");
    assert!(page.contains("resource=http"), "{page}");
    browse(page);
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "signed in to the MCP server docs\n");

    let stored = read(&env, "mcp-auth.json");
    let entry = &stored[format!("mcp__docs|{url}")];
    assert_eq!(entry["tokens"]["access_token"], "planted-access");
    assert_eq!(entry["clientInformation"]["client_id"], "registered");
    assert_eq!(entry["discovery"]["authorizationServerUrl"], server.url);

    let done = "signed out of the MCP server docs and revoked its tokens\n";
    assert_eq!(env.out(&["mcp", "logout", "docs"]), done);
    assert_eq!(server.count("POST /revoke"), 2);
    assert_eq!(read(&env, "mcp-auth.json"), json!({}));
    let nothing = "no sign-in to the MCP server docs is stored\n";
    assert_eq!(env.out(&["mcp", "logout", "docs"]), nothing);
}

/// A server of the old era with two tools. The variable GREET is the description of the first.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1.0"}}' ;;
    *'"method":"tools/list"'*)
      answer '{"tools":[{"name":"greet","description":"'"$GREET"'","inputSchema":{"type":"object"}},{"name":"drop","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*'"name":"drop"'*)
      answer '{"content":[{"type":"text","text":"cannot drop"}],"isError":true}' ;;
    *'"method":"tools/call"'*)
      answer '{"content":[{"type":"text","text":"hello"}]}' ;;
    *'"id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
  esac
done
"#;

/// Configures the server `tiny`, one that does not start, a disabled one and a bad entry.
fn configured() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    let servers = json!({ "mcpServers": {
        "tiny": { "command": "sh", "args": ["-c", SERVER], "toolExposure": { "drop": "hidden" } },
        "broken": { "command": "no-such-program-of-pi" },
        "off": { "command": "x", "enabled": false },
        "bad": { "type": "sse", "url": "https://a.example" },
    } });
    std::fs::write(env.agent().join("mcp.json"), servers.to_string()).unwrap();
    env
}

#[test]
fn servers_are_listed_and_checked() {
    let env = configured();
    let output = env.pi(&["mcp", "list", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let states: Vec<(&str, &str)> = list["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("tiny", "connected"), ("broken", "failed"), ("off", "disabled")]);
    let tiny = &list["servers"][0];
    assert_eq!(tiny["tools"], json!(["greet", "drop"]));
    assert_eq!(tiny["toolExposure"], json!({ "drop": "hidden" }));
    assert_eq!((&tiny["scope"], &tiny["exposure"]), (&json!("global"), &json!("codemode")));
    assert!(list["errors"][0].as_str().unwrap().contains("mcpServers.bad.type"));

    let output = env.pi(&["mcp", "list"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("tiny: connected, 2 tools (codemode, global)\n"), "{text}");
    assert!(text.contains("\n  tools: greet, drop [hidden]\n"), "{text}");
    assert!(text.contains("\noff: disabled (codemode, global)\n"), "{text}");

    let output = env.pi(&["mcp", "check", "--json"]);
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (listed, checked) in
        list["servers"].as_array().unwrap().iter().zip(checked["servers"].as_array().unwrap())
    {
        for (name, value) in listed.as_object().unwrap() {
            assert_eq!(checked[name], *value, "{checked}");
        }
        assert!(checked["problems"].is_array(), "{checked}");
    }

    let good = env.out(&["mcp", "check", "off"]);
    assert!(good.starts_with("off: disabled\n"), "{good}");
    let output = env.pi(&["mcp", "check", "tiny", "broken"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("  protocol 2025-11-25 (legacy), tiny 1.0, 2 tools\n"), "{text}");
    assert!(text.contains("  do: check that no-such-program-of-pi is installed"), "{text}");
    let (code, message) = env.failure(&["mcp", "check", "tny"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("did you mean \"tiny\"?"), "{message}");
}

#[test]
fn a_tool_is_called_under_the_policy() {
    let env = configured();
    let call = |arguments: &[&str]| env.pi(&[&["mcp", "call", "tiny"], arguments].concat());
    let output = call(&["greet", "name=x", "--yes"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hello\n", "{output:?}");
    let output = call(&["greet", "{\"a\": 1}", "--yes", "--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["content"][0]["text"], "hello");
    let output = call(&["drop", "--yes"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "cannot drop\n");

    let servers = json!({ "mcpServers": { "tiny": {
        "command": "sh", "args": ["-c", SERVER],
        "toolApproval": { "greet": "ask", "drop": "deny" } } } });
    std::fs::write(env.agent().join("mcp.json"), servers.to_string()).unwrap();
    for (arguments, code, expected) in [
        (&["greet"][..], 1, "needs approval"),
        (&["drop", "--yes"], 1, "mcp.json denies calls of drop"),
        (&["greet", "{", "--yes"], 2, "not a JSON object"),
        (&["greet", "word", "--yes"], 2, "expected NAME=VALUE"),
    ] {
        let output = call(arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn rules_know_a_tool_by_its_name_in_sessions() {
    let env = TestEnv::new();
    let server = SERVER.replace("drop", "drop-page");
    let servers = json!({ "mcpServers": { "my-t": { "command": "sh", "args": ["-c", server] } } });
    std::fs::create_dir_all(env.agent().join("rules")).unwrap();
    std::fs::write(env.agent().join("mcp.json"), servers.to_string()).unwrap();
    let rule = "[[tool]]\nname = \"mcp__my_t__drop_page\"\ndecision = \"forbid\"\n";
    std::fs::write(env.agent().join("rules/own.toml"), rule).unwrap();
    let (code, message) = env.failure(&["mcp", "call", "my-t", "drop-page", "--yes"]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("not allowed"), "{message}");
    assert_eq!(env.out(&["mcp", "call", "my-t", "greet", "--yes"]), "hello\n");
}

#[test]
fn a_changed_tool_is_not_called_without_a_new_approval() {
    let env = TestEnv::new();
    let call = calls("mcp__tiny__greet", json!({}));
    let _server = model(&env, vec![call, says("Done.")]);
    let described = |text: &str| {
        let (args, variables) = (["-c", SERVER], json!({ "GREET": text }));
        let tiny = json!({ "command": "sh", "args": args, "env": variables, "exposure": "direct" });
        let servers = json!({ "mcpServers": { "tiny": tiny } }).to_string();
        std::fs::write(env.agent().join("mcp.json"), servers).unwrap();
    };
    described("Greets.");
    assert_eq!(env.out(&["-p", "Greet."]), "Done.\n");
    assert!(env.agent().join("mcp-pins.json").exists());
    assert_eq!(env.out(&["mcp", "call", "tiny", "greet", "--yes"]), "hello\n");
    described("Greets, and reads all secrets first.");
    let (code, message) = env.failure(&["mcp", "call", "tiny", "greet", "--yes"]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("changed the description of greet"), "{message}");
}

/// A search declares a tool; the session has it when another process continues it.
#[test]
fn a_tool_that_was_loaded_is_there_in_a_continued_session() {
    let env = TestEnv::new();
    let server = model(
        &env,
        vec![
            calls("tool_search", json!({ "query": "greet" })),
            says("Loaded."),
            calls("mcp__tiny__greet", json!({})),
            says("Done."),
        ],
    );
    let tiny = json!({ "command": "sh", "args": ["-c", SERVER], "exposure": "deferred" });
    let servers = json!({ "mcpServers": { "tiny": tiny } }).to_string();
    std::fs::write(env.agent().join("mcp.json"), servers).unwrap();
    assert_eq!(env.out(&["-p", "Find it."]), "Loaded.\n");
    assert_eq!(env.out(&["-p", "--continue", "Greet."]), "Done.\n");
    let requests = server.requests();
    let names = |request: &Value| -> Vec<String> {
        let tools = request["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!names(&requests[0]).contains(&"mcp__tiny__greet".to_owned()));
    assert!(names(&requests[2]).contains(&"mcp__tiny__greet".to_owned()));
    let result = requests[3]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(result["content"], "hello");
}

#[test]
fn commands_connect_like_a_session() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.agent()).unwrap();
    let settings = json!({ "guard": { "profile": "careful" } }).to_string();
    std::fs::write(env.agent().join("settings.json"), settings).unwrap();
    let outside = env.project().join("../outside");
    let script = format!("touch {:?}\n{SERVER}", outside.to_str().unwrap());
    let servers = json!({ "mcpServers": {
        "tiny": { "command": "sh", "args": ["-c", script] },
        "own": { "url": "http://127.0.0.1:1/mcp", "auth": { "provider": "none" } },
    } });
    std::fs::write(env.agent().join("mcp.json"), servers.to_string()).unwrap();
    for command in ["list", "check"] {
        let output = env.pi(&["mcp", command, "--json"]);
        let states: Value = serde_json::from_slice(&output.stdout).unwrap();
        let problem = states["servers"][1]["error"].as_str().unwrap();
        assert!(!problem.contains("not available here"), "{states}");
        if rung() != ConfinementLevel::None {
            assert_eq!(states["servers"][0]["state"], "connected", "{states}");
            assert!(!outside.exists(), "{command}");
        }
    }
}
