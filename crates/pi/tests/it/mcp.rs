//! `pi mcp` with real files, and with a scripted server to sign in to.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::logins::{AuthorizationServer, browse};
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
