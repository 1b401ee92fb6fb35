//! Guardrails: checks of prompts, answers, tool calls and tool results, by a rule, a command or a
//! model.
//!
//! A guardrail that is tripped blocks, rewrites, stops the run or only notes the finding. One that
//! cannot be evaluated counts as tripped. `pi_config::guardrails` is the format in settings and task files,
//! with the rules about texts, `verdict` the answers of commands and models,
//! `extension` connects guardrails to a session, and `answer` applies them to final answers.

mod answer;
mod extension;
mod model;
mod verdict;

pub(crate) use extension::extension;
pub use pi_config::guardrails::{
    Guardrail, GuardrailAction, GuardrailModel, GuardrailPlan, GuardrailPosition, GuardrailRule,
    GuardrailScope,
};
