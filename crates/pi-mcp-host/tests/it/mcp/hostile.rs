//! Hostile servers: each costs its own calls and nothing else.

use std::fs;

use pi_coding_agent::extension::ToolWait;
use pi_config::mcp::{ConfiguredServer, Origin, ServerConfig};
use pi_mcp_host::{McpOptions, McpServers, ServerState};
use serde_json::json;

use super::{McpTest, PATIENCE, declared, text, tools};

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
    let mcp = pi_mcp_host::servers_of(&running.session).unwrap().clone();
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

/// A server that does not answer is given up, and no one waits that long for its tools.
#[tokio::test(start_paused = true)]
async fn connecting_has_a_limit() {
    let test = McpTest::new(&[]);
    let servers = McpServers::new(McpOptions::new(test.env.environment("home/proj")));
    let hanging = json!({"command": "/bin/sh", "args": ["-c", "cat > /dev/null"], "timeout": 600});
    let config = ServerConfig::parse("hangs", &hanging).unwrap();
    let (name, origin) = ("hangs".to_owned(), Origin::Program);
    servers.set_servers(vec![ConfiguredServer { name, origin, config }]);
    let start = tokio::time::Instant::now();
    servers.wait(&ToolWait::All).await;
    assert_eq!(start.elapsed().as_secs(), 30);
    assert_eq!(servers.states()[0].state, ServerState::Connecting);
    let error = servers.connect("hangs").await.unwrap_err().to_string();
    assert!(error.contains("it was not connected within 120 s"), "{error}");
    servers.shutdown().await;
}

/// A list that changes while it is read is read again.
#[tokio::test]
async fn a_change_during_the_connection_is_noticed() {
    let test = McpTest::new(&["echo"]);
    let tool = json!({"name": "late", "inputSchema": {}});
    test.set_tools("tools2.json", &[tool]);
    test.env.write("server/changes", "");
    let running = test.start().await;
    let mcp = pi_mcp_host::servers_of(&running.session).unwrap().clone();
    mcp.connect("s").await.unwrap();
    let mut changes = mcp.changes();
    let is_listed =
        || mcp.tools("s").is_some_and(|tools| tools.iter().any(|one| one.name == "late"));
    let listed = async {
        while !is_listed() {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, listed).await.unwrap();
    running.runtime.shut_down().await;
}

/// A long message of a server with control characters does not reach the screen or the model.
#[tokio::test]
async fn errors_are_cleaned_and_cut() {
    let test = McpTest::new(&["echo"]);
    let script = "read line; id=${line#*'\"id\":'}; id=${id%%[,\\}]*}
        printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"no\"}}\\n' $id
        read line; id=${line#*'\"id\":'}; id=${id%%[,\\}]*}
        long=$(head -c 1000000 /dev/zero | tr '\\0' x)
        printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":1,\"message\":\"\\\\u001b[2J%s\"}}\\n' $id $long
        cat > /dev/null";
    let server = json!({"command": "/bin/sh", "args": ["-c", script]});
    test.configure(&json!({"mcpServers": {"s": server}}));
    let running = test.start().await;
    let error = pi_mcp_host::servers_of(&running.session)
        .unwrap()
        .connect("s")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("[2Jxxxx"), "{}", error.len());
    assert!(error.len() < 5_000 && !error.contains('\u{1b}'), "{}", error.len());
    running.runtime.shut_down().await;
}
