//! The finding of a guardrail about one prompt, answer, call or result, and its consequence.

use pi_config::guardrails::{Guardrail, GuardrailAction, strings};
use pi_config::hooks::HookEvent;
use serde_json::{Map, Value, json};

use super::check::Subject;
use super::command::{Checking, CommandRunner};
use super::model;
use super::result::Answered;
use crate::session::{AgentSession, InterventionAction};
use pi_config::hooks::{HookDecision, HookVerdict};

/// A tripped guardrail.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tripped {
    pub(super) action: InterventionAction,
    /// Reason for the model and the user.
    pub(super) reason: String,
    /// The subject after a rewrite.
    pub(super) rewritten: Option<Value>,
    /// The guardrail could not be evaluated.
    pub(super) failure: Option<String>,
}

impl Tripped {
    /// Returns the answer of the guardrail. A rewrite that cannot take the place of the subject is
    /// a block.
    pub(super) fn answered(self, event: HookEvent) -> Answered {
        let mut answered = Answered { failure: self.failure, ..Answered::default() };
        let decision = &mut answered.decision;
        decision.reason = Some(self.reason.clone());
        match (self.action, self.rewritten, event) {
            (InterventionAction::Note, ..) => answered.notes = true,
            (InterventionAction::Stop, ..) => decision.stop = Some(self.reason),
            (InterventionAction::Rewrite, Some(Value::String(text)), HookEvent::AfterTool) => {
                decision.updated_output = Some(text);
            }
            (InterventionAction::Rewrite, Some(value), HookEvent::BeforeTool) => {
                decision.updated_input = Some(value);
            }
            (
                InterventionAction::Rewrite,
                Some(value @ Value::String(_)),
                HookEvent::BeforePrompt,
            ) => {
                decision.updated_input = Some(value);
            }
            _ => decision.verdict = Some(HookVerdict::Block),
        }
        answered
    }
}

/// The reason of a finding, and the subject without it.
type Found = (String, Option<Value>);

/// Checks a subject. Returns `None` if it passes.
pub(super) async fn check(
    guardrail: &Guardrail,
    subject: &Subject<'_>,
    runner: &CommandRunner,
) -> Option<Tripped> {
    let plan = guardrail.plan();
    // Guardrails belong to sessions.
    let session = subject.session?;
    let mut stops = false;
    let found = if let Some(command) = &plan.command {
        ask_command(guardrail, command, session, subject, runner).await.map(|answer| {
            answer.map(|(found, is_stop)| {
                stops = is_stop;
                found
            })
        })
    } else if let Some(model) = &plan.model {
        let rewrites = plan.action == GuardrailAction::Rewrite;
        let text = text(&subject.value);
        let (timeout, cancel) = (guardrail.timeout(), subject.cancel);
        let checked = model::check(session, model, plan.on, &text, rewrites, timeout, cancel).await;
        checked.map(|checked| {
            let is_tripped = checked.is_tripped();
            is_tripped.then(|| (checked.reason, checked.replacement.map(Value::from)))
        })
    } else {
        Ok(apply_rule(guardrail, session, subject))
    };
    let (found, failure) = match found {
        Ok(found) => (found?, None),
        Err(failure) => ((format!("it could not be evaluated: {failure}"), None), Some(failure)),
    };
    Some(tripped(guardrail, found, stops, failure))
}

fn apply_rule(
    guardrail: &Guardrail,
    session: &AgentSession,
    subject: &Subject<'_>,
) -> Option<Found> {
    let guard = session.guard();
    let none = pi_guard::secrets::Secrets::new([]);
    let secrets = guard.map_or(&none, |guard| guard.secrets());
    let reason = guardrail.finding(&strings(&subject.value), secrets)?;
    let mut rewritten = subject.value.clone();
    guardrail.rewrite_value(&mut rewritten, secrets);
    Some((reason, Some(rewritten)))
}

/// Asks a command, which answers like a hook. The flag is true if it ends the run.
async fn ask_command(
    guardrail: &Guardrail,
    command: &str,
    session: &AgentSession,
    subject: &Subject<'_>,
    runner: &CommandRunner,
) -> Result<Option<(Found, bool)>, String> {
    let plan = guardrail.plan();
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
    let checking = Checking {
        command,
        input: &input,
        variables: &variables,
        timeout: guardrail.timeout(),
        is_lifted: plan.sandbox == Some(false),
        guard: session.guard(),
    };
    let ran = runner.run(checking, subject.cancel).await;
    let decision = HookDecision::read_strict(&ran.map_err(|failure| failure.to_string())?)?;
    let rewritten = decision.updated_output.map(Value::from).or(decision.updated_input);
    let blocks = matches!(decision.verdict, Some(HookVerdict::Block | HookVerdict::Ask));
    if !blocks && decision.stop.is_none() && rewritten.is_none() {
        return Ok(None);
    }
    let stops = decision.stop.is_some();
    let reason = decision.stop.or(decision.reason);
    let reason = reason.unwrap_or_else(|| "the command did not accept it".to_owned());
    Ok(Some(((reason, rewritten), stops)))
}

/// Returns the consequence. A rewrite without a result is a block.
fn tripped(
    guardrail: &Guardrail,
    (reason, rewritten): Found,
    stops: bool,
    failure: Option<String>,
) -> Tripped {
    let plan = guardrail.plan();
    let rewritten = match &plan.replace_with {
        Some(text) if rewritten.is_none() && failure.is_none() => Some(json!(text)),
        _ => rewritten,
    };
    let action = match plan.action {
        _ if stops => InterventionAction::Stop,
        GuardrailAction::Rewrite if rewritten.is_some() => InterventionAction::Rewrite,
        GuardrailAction::Rewrite | GuardrailAction::Block => InterventionAction::Block,
        GuardrailAction::Stop => InterventionAction::Stop,
        GuardrailAction::Note => InterventionAction::Note,
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
