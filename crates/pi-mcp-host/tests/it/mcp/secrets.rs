//! Values that servers are configured with do not reach the model or the log.

use std::fs;
use std::time::Duration;

use pi_coding_agent::extension::ToolWait;
use serde_json::json;

use super::{McpTest, PATIENCE, text};

/// A value that only its name gives away.
const SECRET: &str = "orchid-meadow-lantern";

#[tokio::test]
async fn a_configured_value_is_redacted_in_results() {
    let more = json!({ "exposure": "direct", "env": { "SERVICE_TOKEN": SECRET } });
    let test = McpTest::with(&["echo"], &more);
    let running = test.start().await;
    let message = format!("it is {SECRET}");
    let result = test.call(&running, "mcp__s__echo", json!({ "message": message })).await;
    let shown = text(&result);
    assert!(shown.starts_with("Echo: it is [masked:"), "{shown}");
    running.runtime.shut_down().await;
}

#[tokio::test]
async fn messages_of_servers_are_redacted_in_states_and_in_the_log() {
    let test = McpTest::new(&["echo"]);
    test.configure(&json!({ "mcpServers": { "ends": {
        "command": "/bin/sh",
        "args": ["-c", "echo \"$SERVICE_TOKEN is wrong\" >&2; exit 1"],
        "env": { "SERVICE_TOKEN": format!("!echo {SECRET}") },
    } } }));
    let running = test.start().await;
    running.session.wait_for_tools(ToolWait::All).await;
    let state = pi_mcp_host::servers_of(&running.session).unwrap().states().remove(0).state;
    let reason = state.reason().unwrap_or_default().to_owned();
    assert!(!reason.contains(SECRET), "{reason}");
    let log = || fs::read_to_string(test.env.path("home/.pi/agent/mcp.log")).unwrap_or_default();
    let written = async {
        while !log().contains(" is wrong") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, written).await.unwrap();
    assert!(!log().contains(SECRET), "{}", log());
    running.runtime.shut_down().await;
}
