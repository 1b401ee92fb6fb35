//! What the TypeScript pi was seen to do, done again on another machine, in a container, and
//! confined.
//!
//! A part of the cases, spread over all of them: each operation there costs a process or two.
//! Confined it is all of them, as high as this machine confines.

use crate::bash;
use crate::observed::{self, EDITS, READS, WRITES};
use crate::observed_search::{self, FIND, GREP, LS};
use crate::place::{Place, rungs};

/// One of so many cases is replayed.
const ONE_OF: usize = 12;

async fn replay_files(place: &Place, one_of: usize) {
    for fixture in [EDITS, WRITES, READS] {
        observed::replay(fixture, place, one_of).await;
    }
}

async fn replay_searches(place: &Place, one_of: usize) {
    for search in [LS, FIND, GREP] {
        observed_search::replay(&search, place, one_of).await;
    }
}

#[tokio::test]
async fn files_on_another_machine() {
    replay_files(&Place::ssh().await, ONE_OF).await;
}

#[tokio::test]
async fn searches_on_another_machine() {
    replay_searches(&Place::ssh().await, ONE_OF).await;
}

#[tokio::test]
async fn files_in_a_container() {
    replay_files(&Place::container().await, ONE_OF).await;
}

#[tokio::test]
async fn searches_in_a_container() {
    replay_searches(&Place::container().await, ONE_OF).await;
}

#[tokio::test]
async fn files_confined() {
    if let Some(machine) = rungs().first() {
        replay_files(&Place::confined(machine), 1).await;
    }
}

#[tokio::test]
async fn searches_confined() {
    if let Some(machine) = rungs().first() {
        replay_searches(&Place::confined(machine), 1).await;
    }
}

#[tokio::test]
async fn commands_confined() {
    for machine in rungs() {
        bash::replay(&Place::confined(&machine), 1).await;
    }
}
