//! Tests of the MCP client against servers that are written by hand, and of the server.

mod fake;
mod server;
mod stdio;
