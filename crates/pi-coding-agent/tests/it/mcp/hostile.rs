//! Hostile servers: each costs its own calls and nothing else.

use std::fs;

use pi_coding_agent::extension::ToolWait;
use pi_coding_agent::mcp::ServerState;
use serde_json::json;

use super::{McpTest, declared, text, tools};

/// A call fails or succeeds, and the next one works.
#[tokio::test]
async fn misbehaving_calls() {
    let test = McpTest::new(&["echo", "die", "twice", "noise", "storm"]);
    let running = test.start().await;
    let usable = async || {
        let result = test.call(&running, "mcp__s__echo", json!({"message": "still"})).await;
        assert_eq!(text(&result), "Echo: still");
    };
    let result = test.call(&running, "mcp__s__die", json!({})).await;
    assert!(result.is_error && text(&result).starts_with("MCP server s: "), "{}", text(&result));
    // The next call starts the server again.
    usable().await;
    assert_eq!(test.count("start"), 2);
    let result = test.call(&running, "mcp__s__twice", json!({})).await;
    assert_eq!(text(&result), "one");
    usable().await;
    let result = test.call(&running, "mcp__s__noise", json!({})).await;
    assert_eq!(text(&result), "quiet");
    usable().await;
    let log = fs::metadata(test.env.path("home/.pi/agent/mcp.log")).unwrap().len();
    assert!(log < 1 << 20, "{log}");
    let result = test.call(&running, "mcp__s__storm", json!({})).await;
    assert_eq!(text(&result), "stormed");
    usable().await;
    assert!(test.count("tools/list") < 20, "{}", test.count("tools/list"));
    running.runtime.shut_down().await;
}

/// A result that no one could use fails its call.
#[tokio::test]
async fn a_result_of_100_mb() {
    let test = McpTest::with(&["echo", "large"], &json!({"exposure": "direct", "timeout": 60}));
    let running = test.start().await;
    let result = test.call(&running, "mcp__s__large", json!({})).await;
    assert!(result.is_error && text(&result).len() < 1000, "{}", text(&result).len());
    assert!(text(&result).contains("too"), "{}", text(&result));
    let result = test.call(&running, "mcp__s__echo", json!({"message": "still"})).await;
    assert_eq!(text(&result), "Echo: still");
    running.runtime.shut_down().await;
}

#[tokio::test]
async fn a_server_that_never_answers() {
    let test = McpTest::with(&["echo", "silent"], &json!({"exposure": "direct", "timeout": 10}));
    let running = test.start().await;
    let result = test.call(&running, "mcp__s__silent", json!({})).await;
    assert!(result.is_error && text(&result).contains("did not answer"), "{}", text(&result));
    let result = test.call(&running, "mcp__s__echo", json!({"message": "still"})).await;
    assert_eq!(text(&result), "Echo: still");
    running.runtime.shut_down().await;
}

/// Names, descriptions and schemas are made harmless; tools that cannot be are left out.
#[tokio::test]
async fn hostile_lists() {
    let test = McpTest::new(&[]);
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "items": inner }));
    let wide = json!({"properties": {"a": {"enum": vec!["x".repeat(1000); 400]}}});
    test.set_tools(
        "tools.json",
        &[
            json!({"name": "ctl\u{1b}[2J\u{202e}", "description": "a\u{1b}b\u{200b}c", "inputSchema": {}}),
            json!({"name": "deep", "inputSchema": deep}),
            json!({"name": "wide", "inputSchema": wide}),
            json!({"name": "long", "description": "y".repeat(1 << 20), "inputSchema": {}}),
            json!({"name": 7}),
            json!({"name": "same", "inputSchema": {}}),
            json!({"name": "same", "inputSchema": {}}),
            json!({"name": "read", "inputSchema": {}}),
        ],
    );
    let running = test.start().await;
    let request = test.request(&running).await;
    let names = declared(&request);
    let of_server: Vec<&String> = names.iter().filter(|name| name.starts_with("mcp__")).collect();
    assert_eq!(
        of_server,
        ["mcp__s__ctl__2J_", "mcp__s__long", "mcp__s__same", "mcp__s__read"],
        "{names:?}"
    );
    let tool = |name: &str| tools(&request).into_iter().find(|one| one.name == name).unwrap();
    assert_eq!(tool("mcp__s__ctl__2J_").description, "abc");
    assert!(tool("mcp__s__long").description.len() < 20_000);
    running.runtime.shut_down().await;
}

/// A server that hangs at its start delays neither the session nor a call of another server.
#[tokio::test]
async fn a_server_that_hangs_at_its_start() {
    let test = McpTest::new(&["echo"]);
    let script = test.env.path("server/server.sh");
    let working = json!({"command": "/bin/sh", "args": [script, test.env.path("server")],
        "exposure": "direct"});
    let hanging = json!({"command": "/bin/sh", "args": ["-c", "cat > /dev/null"], "timeout": 600});
    test.configure(&json!({"mcpServers": {"hangs": hanging, "s": working}}));
    let running = test.start().await;
    let mcp = running.session.mcp().unwrap().clone();
    let connecting = tokio::spawn({
        let mcp = mcp.clone();
        async move { mcp.connect("hangs").await }
    });
    let result = test.call(&running, "mcp__s__echo", json!({"message": "hi"})).await;
    assert_eq!(text(&result), "Echo: hi");
    let namespaces = ToolWait::Namespaces(vec!["mcp__s".to_owned()]);
    running.session.wait_for_tools(namespaces).await;
    assert_eq!(mcp.states()[1].state, ServerState::Connected);
    running.runtime.shut_down().await;
    connecting.await.unwrap().unwrap_err();
}
