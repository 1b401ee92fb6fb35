//! Tests of the tools through their public interface.

#![allow(clippy::disallowed_methods, reason = "tests start programs directly")]
#![allow(clippy::unwrap_used)]

mod background;
mod bash;
mod call;
mod change;
mod checkpoint;
mod connect;
mod crash;
#[cfg(target_os = "linux")]
mod crash_runs;
mod declarations;
mod env;
mod executors;
#[cfg(feature = "images")]
mod images;
#[cfg(target_os = "linux")]
mod limits;
mod piped;
mod processes;
mod read;
#[cfg(unix)]
mod recorded;
#[cfg(feature = "images")]
mod recorded_images;
mod recorded_remote;
mod recorded_search;
mod remote_processes;
mod repositories;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod sandbox_processes;
#[cfg(target_os = "linux")]
mod sandbox_races;
mod search;
#[cfg(unix)]
mod special_files;
mod toolset;
#[cfg(target_os = "linux")]
mod undo;
