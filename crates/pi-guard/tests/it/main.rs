//! Tests of the guard through its public API: decisions of the policy, real sandboxed processes,
//! redaction.

#![allow(clippy::disallowed_methods, reason = "tests start programs directly")]
#![allow(clippy::unwrap_used)]
// A test reports what this machine cannot show.
#![allow(clippy::print_stderr)]

#[cfg(unix)]
mod beside_bash;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod destruction;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod env;
#[cfg(target_os = "linux")]
mod escapes;
#[cfg(target_os = "linux")]
mod hidden;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
mod identities;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod named_by_git;
#[cfg(target_os = "linux")]
mod places;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(unix)]
mod proxy;
#[cfg(target_os = "linux")]
mod repositories;
#[cfg(target_os = "linux")]
mod restored;
#[cfg(target_os = "linux")]
mod top_level;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod work;

mod approvals;
mod evasion;
mod everyday;
mod rule_files;
mod secrets;
