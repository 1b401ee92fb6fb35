//! Tests of unattended runs.

mod agents;
mod contract;
mod document;
mod explain;
mod output;
mod task;
mod workspace;
