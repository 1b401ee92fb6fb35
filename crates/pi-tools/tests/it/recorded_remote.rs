//! What the TypeScript pi was seen to do, done again on another machine, in a container, and
//! confined.
//!
//! A part of the cases, spread over all of them: each operation there costs a process or two.
//! Confined it is all of them, as high as this machine confines.

use crate::bash;
use crate::env::{TestEnv, sandboxes};
use crate::recorded::{self, EDITS, READS, WRITES};
use crate::recorded_search::{self, FIND, GREP, LS};

/// One of so many cases is replayed.
const ONE_OF: usize = 12;

async fn replay_files(env: &TestEnv, one_of: usize) {
    for fixture in [EDITS, WRITES, READS] {
        recorded::replay(fixture, env, one_of).await;
    }
}

async fn replay_searches(env: &TestEnv, one_of: usize) {
    for search in [LS, FIND, GREP] {
        recorded_search::replay(&search, env, one_of).await;
    }
}

#[tokio::test]
async fn files_on_another_machine() {
    replay_files(&TestEnv::ssh().await, ONE_OF).await;
}

#[tokio::test]
async fn searches_on_another_machine() {
    replay_searches(&TestEnv::ssh().await, ONE_OF).await;
}

#[tokio::test]
async fn files_in_a_container() {
    replay_files(&TestEnv::container().await, ONE_OF).await;
}

#[tokio::test]
async fn searches_in_a_container() {
    replay_searches(&TestEnv::container().await, ONE_OF).await;
}

#[tokio::test]
async fn files_confined() {
    if let Some(machine) = sandboxes().first() {
        replay_files(&TestEnv::sandboxed(machine), 1).await;
    }
}

#[tokio::test]
async fn searches_confined() {
    if let Some(machine) = sandboxes().first() {
        replay_searches(&TestEnv::sandboxed(machine), 1).await;
    }
}

#[tokio::test]
async fn commands_confined() {
    for machine in sandboxes() {
        bash::replay(&TestEnv::sandboxed(&machine), 1).await;
    }
}
