//! Checks of the user at fixed positions of a session: by a rule, a command or a model, with a
//! consequence.
//!
//! Hooks and guardrails are two file formats over this engine. `check` is a check of
//! either format, [`Checks`] runs those of one position one after the other, `extension`
//! connects them to a session, and `answer` applies them to final answers. `command` runs a
//! command, `decision` reads its answer, `model` asks a model, `guardrail` applies the consequence
//! that a guardrail names.
//!
//! Checks run with the rights of the user, outside of the sandbox: their author is the user. They
//! can only restrict. A check that allows a call does not override the guard, which judges the call
//! afterwards.

mod answer;
mod check;
mod command;
mod events;
mod extension;
mod guardrail;
mod model;
mod result;
mod run;

pub use crate::tap::{CommandFailure, FinishedCommand};
pub(crate) use check::Subject;
pub(crate) use command::CommandRunner;
pub(crate) use extension::extension;
pub use result::{CheckFailure, CheckReport, CheckResult};
pub(crate) use run::Checks;
