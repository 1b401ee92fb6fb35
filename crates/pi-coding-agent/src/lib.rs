//! The coding agent as a library.
//!
//! Composes the layers below it: a model from `pi-ai`, the loop of `pi-agent`, the tools of
//! `pi-tools`, the memory of `pi-session`; and adds what makes them one program: settings,
//! credentials, models, resources, and the order in which things are persisted, announced,
//! retried and compacted.
//!
//! # What this crate must not know
//!
//! Terminals, arguments, standard streams, the process environment and the user's home directory:
//! the program passes them in ([`Environment`]).
//!
//! # Where to start reading
//!
//! [`create_agent_session`] puts an agent together, [`session::AgentSession`] is one, and
//! [`extension::Extension`] is how to take part in it. [`Environment`] is what the program was told
//! about the world, [`config`] the files of the user, [`resources`] what users put beside the program
//! to make it theirs, [`guard`] what the agent may do, [`models`] which models there are and which one is meant, [`rpc`] how other
//! programs drive an agent.

mod checkpoints;
pub mod config;
mod create;
mod diagnostic;
mod environment;
pub mod extension;
pub mod guard;
pub mod models;
pub mod resources;
pub mod rpc;
pub mod runtime;
mod secrets;
pub mod session;
mod session_selector;

pub use checkpoints::checkpoint_directory;
pub use create::{
    AgentOptions, CreateError, Created, CustomModel, MixedToolEntries, NotCreated, ToolChange,
    ToolChoice, ToolFilter, ToolSelection, create_agent_session, load_guard, load_resources,
};
pub use diagnostic::{Diagnostic, Severity};
pub use environment::Environment;
pub use runtime::AgentRuntime;
pub use secrets::{configured_secrets, redacted_session};
pub use session::AgentSession;
pub use session_selector::{SelectSessionError, SessionSelector};

/// The examples of the README, compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeDoctests;
