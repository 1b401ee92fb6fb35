//! MCP servers on the screen.

use serde_json::json;

use super::emulator::Size;
use super::home::Home;

/// Prompts of a server are commands, as soon as the server is connected; the server completes their
/// arguments.
#[test]
fn prompts_of_a_server_are_completed_and_sent() {
    let home = Home::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.sh");
    let server = json!({ "command": "/bin/bash", "args": [script] });
    home.write(".pi/agent/mcp.json", json!({ "mcpServers": { "s": server } }).to_string());
    let mut screen = home.regular(Size::new(80, 24));
    screen.wait_for("fake-1");
    screen.text("/mcp");
    screen.wait_for("Greets a person.");
    screen.text(":s:greet A");
    screen.wait_for("Alan");
    screen.text("da\r");
    screen.wait_until("the prompt", |_| {
        let requests = home.server.requests();
        requests.last().is_some_and(|last| last["messages"].to_string().contains("Greet Ada"))
    });
    screen.text("/mcp\r");
    screen.wait_for("s: connected, 1 tool");
}
