//! What the guard decides and holds, seen from outside.

#![allow(clippy::unwrap_used)]
// What a machine cannot show must be said.
#![allow(clippy::print_stderr)]

#[cfg(target_os = "linux")]
mod bed;
#[cfg(unix)]
mod beside_bash;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod escapes;
#[cfg(target_os = "linux")]
mod hidden;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
mod places;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(unix)]
mod proxy;
#[cfg(target_os = "linux")]
mod work;

mod evasion;
mod everyday;
mod rule_files;
mod secrets;
