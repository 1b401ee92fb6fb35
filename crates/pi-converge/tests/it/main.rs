//! Tests of unattended runs.

mod agents;
mod contract;
mod document;
mod output;
mod task;
mod workspace;
