//! Connections over in-memory pipes.

mod connection;
