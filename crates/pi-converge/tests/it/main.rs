//! Tests of unattended runs.

mod contract;
mod document;
mod output;
mod workspace;
