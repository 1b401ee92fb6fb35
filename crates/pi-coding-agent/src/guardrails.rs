//! Guardrails: checks of prompts, answers, tool calls and tool results, by a rule, a command or a
//! model.
//!
//! A guardrail that is tripped blocks, rewrites, stops the run or only notes the finding. One that
//! cannot be evaluated counts as tripped. `pi_config::guardrails` is the format, `interventions`
//! the engine.

pub use pi_config::guardrails::{
    Guardrail, GuardrailAction, GuardrailModel, GuardrailPlan, GuardrailPosition, GuardrailRule,
    GuardrailScope,
};
