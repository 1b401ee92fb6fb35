//! Tests of unattended runs.

mod agents;
mod contract;
mod document;
mod explain;
mod output;
mod schemas;
mod task;
mod workspace;
