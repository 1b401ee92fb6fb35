//! What the tools do, seen from outside.

#![allow(clippy::unwrap_used)]

mod bash;
mod call;
mod change;
mod checkpoint;
mod crash;
mod executors;
#[cfg(feature = "images")]
mod images;
#[cfg(unix)]
mod observed;
mod observed_elsewhere;
mod observed_search;
mod place;
mod processes;
mod processes_elsewhere;
mod read;
mod search;
mod toolset;
