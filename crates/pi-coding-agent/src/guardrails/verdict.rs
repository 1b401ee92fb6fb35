//! The verdict of a guardrail about one prompt, answer, call or result.

use pi_protocol::CancelToken;
use serde_json::{Map, Value, json};

use pi_config::guardrails::strings;

use super::{Guardrail, GuardrailAction, model};
use crate::hooks::{CommandRunner, HookDecision, HookVerdict};
use crate::session::AgentSession;

/// The subject of a check.
pub(super) struct Subject<'a> {
    pub(super) session: &'a AgentSession,
    /// The text, or the arguments of a call.
    pub(super) value: Value,
    /// Fields for commands: the tool and its call.
    pub(super) fields: Map<String, Value>,
    pub(super) cancel: &'a CancelToken,
}

/// A tripped guardrail.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tripped {
    pub(super) action: GuardrailAction,
    /// Reason for the model and the user.
    pub(super) reason: String,
    /// The subject after a rewrite.
    pub(super) rewritten: Option<Value>,
    /// The guardrail could not be evaluated.
    pub(super) failure: Option<String>,
}

/// A finding, before the consequence is known.
struct Found {
    reason: String,
    rewritten: Option<Value>,
    /// The command ends the run.
    stops: bool,
}

/// Checks a subject. Returns `None` if it passes.
pub(super) async fn check(
    guardrail: &Guardrail,
    subject: &Subject<'_>,
    runner: &CommandRunner,
) -> Option<Tripped> {
    let plan = guardrail.plan();
    let found = if let Some(command) = &plan.command {
        ask_command(guardrail, command, subject, runner).await
    } else if let Some(model) = &plan.model {
        let rewrites = plan.action == GuardrailAction::Rewrite;
        let text = text(&subject.value);
        let (timeout, cancel) = (guardrail.timeout(), subject.cancel);
        model::check(subject.session, model, plan.on, &text, rewrites, timeout, cancel).await.map(
            |checked| {
                let is_tripped = checked.is_tripped();
                let rewritten = checked.replacement.map(Value::from);
                let found = Found { reason: checked.reason, rewritten, stops: false };
                is_tripped.then_some(found)
            },
        )
    } else {
        Ok(apply_rule(guardrail, subject))
    };
    match found {
        Ok(None) => None,
        Ok(Some(found)) => Some(tripped(guardrail, found, None)),
        Err(failure) => {
            let reason = format!("it could not be evaluated: {failure}");
            let found = Found { reason, rewritten: None, stops: false };
            Some(tripped(guardrail, found, Some(failure)))
        }
    }
}

fn apply_rule(guardrail: &Guardrail, subject: &Subject<'_>) -> Option<Found> {
    let guard = subject.session.guard();
    let none = pi_guard::secrets::Secrets::new([]);
    let secrets = guard.map_or(&none, |guard| guard.secrets());
    let reason = guardrail.finding(&strings(&subject.value), secrets)?;
    let mut rewritten = subject.value.clone();
    guardrail.rewrite_value(&mut rewritten, secrets);
    Some(Found { reason, rewritten: Some(rewritten), stops: false })
}

/// Asks a command, which answers like a hook.
async fn ask_command(
    guardrail: &Guardrail,
    command: &str,
    subject: &Subject<'_>,
    runner: &CommandRunner,
) -> Result<Option<Found>, String> {
    let plan = guardrail.plan();
    let session = subject.session;
    let mut input = Map::from_iter([
        ("guardrail".to_owned(), json!(plan.name)),
        ("position".to_owned(), json!(plan.on)),
        ("session_id".to_owned(), json!(session.id())),
        ("session_file".to_owned(), json!(session.file())),
        ("cwd".to_owned(), json!(runner.cwd())),
        ("text".to_owned(), json!(text(&subject.value))),
    ]);
    input.extend(subject.fields.clone());
    let input = Value::Object(input).to_string();
    let variables = [("PI_GUARDRAIL", plan.name.clone())];
    let ran = runner.run(command, &input, &variables, guardrail.timeout(), subject.cancel).await;
    let decision = HookDecision::read_strict(&ran.map_err(|failure| failure.to_string())?)?;
    let rewritten = decision.updated_output.map(Value::from).or(decision.updated_input);
    let blocks = matches!(decision.verdict, Some(HookVerdict::Block | HookVerdict::Ask));
    if !blocks && decision.stop.is_none() && rewritten.is_none() {
        return Ok(None);
    }
    let stops = decision.stop.is_some();
    let reason = decision.stop.or(decision.reason);
    let reason = reason.unwrap_or_else(|| "the command did not accept it".to_owned());
    Ok(Some(Found { reason, rewritten, stops }))
}

/// Returns the consequence. A rewrite without a result is a block.
fn tripped(guardrail: &Guardrail, found: Found, failure: Option<String>) -> Tripped {
    let Found { reason, rewritten, stops } = found;
    let plan = guardrail.plan();
    let rewritten = match &plan.replace_with {
        Some(text) if rewritten.is_none() && failure.is_none() => Some(json!(text)),
        _ => rewritten,
    };
    let action = match plan.action {
        _ if stops => GuardrailAction::Stop,
        GuardrailAction::Rewrite if rewritten.is_none() => GuardrailAction::Block,
        action => action,
    };
    let reason = match (&plan.message, &failure) {
        (Some(message), None) => message.clone(),
        _ => reason,
    };
    Tripped { action, reason, rewritten, failure }
}

/// Returns the subject as text.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
