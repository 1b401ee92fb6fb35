//! Hooks: commands of the user that run at fixed positions of a session and may decide.
//!
//! For people who extend pi without TypeScript. A hook reads a JSON object on stdin and answers
//! with a JSON object on stdout, or with its exit code (`decision`). [`HookEvent`] lists the
//! positions, `pi_config::hooks` is the settings group, `process` runs one command, `run` all hooks of an
//! event, and `extension` connects them to a session.
//!
//! Hooks run with the rights of the user, outside of the sandbox: their author is the user. They
//! can only restrict. A hook that allows a call does not override the guard, which judges the call
//! afterwards.

mod decision;
mod extension;
mod payload;
mod process;
mod run;

pub use decision::{HookDecision, HookVerdict};
pub(crate) use extension::extension;
pub(crate) use payload::text_of;
pub use pi_config::hooks::{DEFAULT_TIMEOUT, Hook, HookEvent, OnHookFailure};
pub(crate) use process::CommandRunner;
pub use process::{CommandFailure, FinishedCommand};
pub use run::{HookFailure, HookReport, HookResult, Hooks, configured_hooks};
