//! Guardrails: checks of prompts, answers, tool calls and tool results, by a rule, a command or a
//! model.
//!
//! A guardrail that is tripped blocks, rewrites, stops the run or only notes the finding. One that
//! cannot be evaluated counts as tripped. `definition` is the format in settings and task files,
//! `rule` the checks that need nothing else, `verdict` the answers of commands and models,
//! `extension` connects guardrails to a session, and `answer` applies them to final answers.

mod answer;
mod definition;
mod extension;
mod model;
mod rule;
mod verdict;

pub use definition::{
    Guardrail, GuardrailAction, GuardrailModel, GuardrailPlan, GuardrailPosition, GuardrailRule,
    GuardrailScope,
};
pub(crate) use extension::extension;
