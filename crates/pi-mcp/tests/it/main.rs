//! Tests of the MCP client against servers that are written by hand, and of the server.

mod fake;
mod hostile;
mod http_hostile;
mod http_legacy;
mod http_modern;
mod limits;
mod server;
mod stdio;
mod web;
