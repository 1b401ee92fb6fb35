//! What the tools do, seen from outside.

#![allow(clippy::unwrap_used)]

mod background;
mod bash;
mod call;
mod change;
mod checkpoint;
mod crash;
#[cfg(target_os = "linux")]
mod crash_runs;
mod declarations;
mod executors;
#[cfg(feature = "images")]
mod images;
#[cfg(unix)]
mod observed;
mod observed_elsewhere;
#[cfg(feature = "images")]
mod observed_images;
mod observed_search;
mod place;
mod processes;
mod processes_elsewhere;
mod read;
mod search;
mod toolset;
#[cfg(target_os = "linux")]
mod undo;
