//! Recordings of the TypeScript pi, replayed over SSH, in a container and in a sandbox.
//!
//! Remote executors replay a part of the cases, because each operation costs a process or two. The
//! strongest sandbox of this machine replays all of them.

use crate::bash;
use crate::env::{TestEnv, sandboxes};
use crate::recorded::{self, EDITS, READS, WRITES};
use crate::recorded_search::{self, FIND, GREP, LS};

/// Every n-th case is replayed on remote executors.
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
async fn files_over_ssh() {
    replay_files(&TestEnv::ssh().await, ONE_OF).await;
}

#[tokio::test]
async fn searches_over_ssh() {
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
async fn files_in_a_sandbox() {
    if let Some(machine) = sandboxes().first() {
        replay_files(&TestEnv::sandboxed(machine), 1).await;
    }
}

#[tokio::test]
async fn searches_in_a_sandbox() {
    if let Some(machine) = sandboxes().first() {
        replay_searches(&TestEnv::sandboxed(machine), 1).await;
    }
}

#[tokio::test]
async fn commands_in_a_sandbox() {
    for machine in sandboxes() {
        bash::replay(&TestEnv::sandboxed(&machine), 1).await;
    }
}
