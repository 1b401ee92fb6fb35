//! Tests of unattended runs.

#![allow(clippy::disallowed_methods, reason = "tests start programs directly")]
#![allow(clippy::unwrap_used)]

mod agents;
mod contract;
mod document;
mod explain;
mod report;
mod schemas;
mod task;
mod workspace;
