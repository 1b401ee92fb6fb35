//! The coding agent as a library.
//!
//! This crate composes the layers below it: models from `pi-ai`, the loop of `pi-agent`, the tools
//! of `pi-tools`, the session logs of `pi-session`, the guard of `pi-guard`. It adds settings,
//! credentials, resources and extensions, and the order in which things are stored, emitted,
//! retried and compacted.
//!
//! ```no_run
//! use pi_coding_agent::session::PromptOptions;
//! use pi_coding_agent::{AgentOptions, Environment, create_agent_session};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let environment = Environment::new("project", "agent-directory");
//! let created = create_agent_session(AgentOptions::new(environment)).await?;
//! let _subscription = created.runtime.subscribe(|event| {
//!     print!("{}", event.text_delta().unwrap_or_default());
//! });
//! let session = created.runtime.session();
//! session.prompt("What does this project do?", PromptOptions::default()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What this crate must not know
//!
//! Terminals, arguments, standard streams, the process environment and the user's home directory:
//! the program passes them in ([`Environment`]).
//!
//! # Where to start reading
//!
//! [`create_agent_session`] puts an agent together from [`AgentOptions`]. [`AgentRuntime`] holds
//! the current session and replaces it; [`AgentSession`] is one session, and
//! [`Turn`](session::Turn) one prompt of it, driven to its end. [`extension`] is the interface of
//! code that takes part in a session, and [`guard`] decides what tools may do.
//!
//! The types of `pi-config` and `pi-models` that a program needs are at the root.

/// The examples of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

/// The examples of the repository's README, compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct RepositoryReadmeExamples;

mod approval;
mod create;
mod event;
pub mod extension;
pub mod guard;
mod guard_report;
pub mod hooks;
mod interventions;
mod merge_queue;
mod output;
mod redacted_session;
pub mod session;
mod session_selector;
mod tap;
mod tool_filter;
mod tool_index;
pub mod tool_search;

pub use create::{
    AgentOptions, AgentRuntime, BuiltinExtension, CreateError, Created, CustomModel,
    ExtensionOptions, GuardOptions, MixedToolEntries, ModelOptions, NotCreated, OpenExtension,
    OpenPage, ReplaceError, Replaced, Room, RoomKind, SessionOptions, SessionSurroundings,
    ToolChoice, ToolOptions, ToolSelection, UnknownToolError, UserShell, WeakAgentRuntime,
    WrapExecutor, add_registered_providers, create_agent_session, find_flags, find_omissions,
    initial_session_model, load_guard,
};
pub use merge_queue::{Merge, MergeQueue, merge_into};
pub use pi_config::resources::{
    ContextFile, ResourceFlags, Section, Skill, SystemPromptOptions, ToolPrompt,
};
pub use pi_config::{Diagnostic, Environment, Omission, Project, Severity, ToolChange};
pub use pi_guard::confine::Trace;
pub use pi_models::{CredentialError, ModelRegistry, SelectModelError};
pub use redacted_session::redacted_session;
pub use session::AgentSession;
pub use session_selector::{SelectSessionError, SessionSelector, by_name, names_id, session_index};
pub use tap::{Tap, TappedCall};
pub use tool_filter::ToolFilter;
