//! What the tools do, seen from outside.

#![allow(clippy::unwrap_used)]
// What a machine cannot show must be said.
#![allow(clippy::print_stderr)]

mod background;
mod bash;
mod call;
mod change;
mod checkpoint;
#[cfg(target_os = "linux")]
mod confined;
#[cfg(target_os = "linux")]
mod confined_processes;
#[cfg(target_os = "linux")]
mod confined_races;
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
