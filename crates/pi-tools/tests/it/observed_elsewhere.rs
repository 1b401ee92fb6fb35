//! What the TypeScript pi was seen to do, done again on another machine and in a container.
//!
//! A part of the cases, spread over all of them: each operation there costs a process or two.

use crate::observed::{self, EDITS, READS, WRITES};
use crate::observed_search::{self, FIND, GREP, LS};
use crate::place::Place;

/// One of so many cases is replayed.
const ONE_OF: usize = 12;

async fn replay_files(place: &Place) {
    for fixture in [EDITS, WRITES, READS] {
        observed::replay(fixture, place, ONE_OF).await;
    }
}

async fn replay_searches(place: &Place) {
    for search in [LS, FIND, GREP] {
        observed_search::replay(&search, place, ONE_OF).await;
    }
}

#[tokio::test]
async fn files_on_another_machine() {
    replay_files(&Place::ssh().await).await;
}

#[tokio::test]
async fn searches_on_another_machine() {
    replay_searches(&Place::ssh().await).await;
}

#[tokio::test]
async fn files_in_a_container() {
    replay_files(&Place::container().await).await;
}

#[tokio::test]
async fn searches_in_a_container() {
    replay_searches(&Place::container().await).await;
}
