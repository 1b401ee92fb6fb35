//! `/mcp` in a session without servers. With servers, it is a command of the session.

use crate::app::App;

pub(super) fn run(app: &mut App, _argument: &str) {
    app.status("No MCP servers are configured; /help mcp describes mcp.json, /reload reads it");
}
