//! The configuration of the coding agent: the environment of the process, and the files of the user
//! and of projects.
//!
//! Settings, credentials, trust, MCP servers, hooks, guardrails, context files, skills and prompt templates: this
//! crate finds, reads, checks, merges and writes them. Other programs read and write the same files
//! at the same time. Every write takes the lock that they take, starts from a fresh read, and keeps
//! unknown content. A problem with a file is a [`Diagnostic`], and the rest still loads.
//!
//! # What this crate must not know
//!
//! Sessions, the registry of models, extensions, terminals, arguments. It does not read the process
//! environment: the program passes it in ([`Environment`]).
//!
//! # Where to start reading
//!
//! [`Project`] is the whole of an opened project. [`SettingsStore`] has the settings of the user and
//! of the project; [`Settings`] is their typed form. [`AuthStore`] has the credentials, [`TrustStore`] the decisions about projects,
//! [`resources`] everything that the user and projects add to prompts.

mod auth;
pub mod checkpoints;
mod diagnostic;
mod directories;
mod environment;
mod error;
mod exposure;
pub mod file;
mod file_schema;
pub mod guardrails;
pub mod hooks;
pub mod lock;
mod matcher;
pub mod mcp;
pub mod omissions;
mod project;
mod resolver;
pub mod resources;
mod schemas;
pub mod settings;
pub mod suggest;
mod tool_change;
mod trust;
mod trusted_files;
mod value;
pub mod yaml;

pub use auth::{AuthEdit, AuthLock, AuthStore, StoredCredential};
pub use diagnostic::{Diagnostic, Severity};
pub use directories::{SessionDirectory, agent_directory, resolve_session_directory};
pub use environment::Environment;
pub use error::ConfigError;
pub use exposure::Exposure;
pub use file_schema::file_schema;
pub use matcher::{Matcher, MatcherError};
pub use omissions::Omission;
pub use project::Project;
pub use resolver::{CommandRuns, ValueResolver};
pub use schemas::{FileSchema, schemas};
pub use settings::{Settings, SettingsChanges, SettingsScope, SettingsStore};
pub use tool_change::ToolChange;
pub use trust::{Trust, TrustEntry, TrustQuestion, TrustStore, files_that_need_trust, needs_trust};
pub use trusted_files::TrustedFiles;
