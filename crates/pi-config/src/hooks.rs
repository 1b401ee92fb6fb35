//! The format of hooks in settings: commands of the user that run at events of a session.
//!
//! Only data: running them belongs to the sessions. `decision` reads what a command answered.

mod decision;
mod definition;
mod event;

use std::time::Duration;

pub use decision::{FinishedCommand, HookDecision, HookVerdict};
pub use definition::{Hook, HooksGroup, OnHookFailure};
pub use event::HookEvent;

/// Time limit of a hook or guardrail that has none of its own.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
