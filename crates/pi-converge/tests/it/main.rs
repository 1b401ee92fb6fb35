//! Tests of unattended runs.

mod contract;
