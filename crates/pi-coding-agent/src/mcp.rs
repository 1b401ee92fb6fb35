//! Servers of the Model Context Protocol in sessions: their configuration, connections and tools.

pub mod auth;
pub mod config;
