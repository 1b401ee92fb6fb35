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
#[cfg(feature = "images")]
mod images;
#[cfg(unix)]
mod observed;
#[cfg(feature = "images")]
mod observed_images;
mod observed_search;
mod processes;
mod read;
mod search;
mod toolset;
#[cfg(target_os = "linux")]
mod undo;
