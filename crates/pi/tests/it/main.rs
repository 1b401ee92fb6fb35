//! Tests that run the `pi` binary.

#![allow(clippy::disallowed_methods, reason = "tests start programs directly")]
#![allow(clippy::unwrap_used)]

mod accounts;
mod acp;
#[cfg(target_os = "linux")]
mod agent_files;
#[allow(dead_code)]
#[path = "../../../pi-packages/tests/it/archives.rs"]
mod archives;
mod auth;
mod bad_input;
mod cache_misses;
mod careful;
mod checkpoints;
mod cli;
mod clouds;
mod completions;
mod config;
mod converge;
mod doctor;
mod example_extensions;
mod examples;
mod extension_files;
mod fallback;
mod getting_started;
mod golden;
mod guard;
mod guard_guide;
mod hints;
#[cfg(target_os = "linux")]
mod hostile;
mod limits;
mod logins;
mod mcp;
mod mcp_hostile;
mod mcp_serve;
mod model_catalog;
mod models;
mod omissions;
mod package_rights;
mod packages;
mod policy;
mod progress;
mod provider_errors;
mod provider_page;
mod rate_limits;
mod redaction;
#[allow(dead_code)]
#[path = "../../../pi-packages/tests/it/registry.rs"]
mod registry;
mod renewal;
mod replay;
mod restrictions;
mod sandbox;
mod scenarios;
#[cfg(target_os = "linux")]
mod screen;
mod secrets;
mod self_update;
mod serve;
mod sessions;
mod terminal;
mod test_env;
#[cfg(target_os = "linux")]
mod trusted_files;
mod unattended;
mod undo;
mod watch;
mod workflows;
