//! Tests of the MCP client against servers that are written by hand.

mod fake;
mod stdio;
