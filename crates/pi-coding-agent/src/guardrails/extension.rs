//! The extension that applies guardrails in a session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_agent::OutputChange;
use pi_protocol::{CancelToken, UserBlock};
use serde_json::{Map, Value, json};

use super::verdict::{Subject, Tripped, check};
use super::{Guardrail, GuardrailAction, GuardrailPosition};
use crate::extension::{
    BeforeAgentStart, BeforePrompt, BeforeSettle, ExtensionContext, ExtensionError, Handlers,
    MessageEnd, PromptBlock, PromptDecision, RunStart, ToolCall, ToolDecision, ToolResult,
};
use crate::hooks::{CommandRunner, text_of};
use crate::session::{AgentSession, Intervention, InterventionAction, InterventionSource};

/// Name of the extension in reports.
const PATH: &str = "builtin:guardrails";

/// The guardrails of a session.
pub(super) struct SessionGuardrails {
    guardrails: Vec<Guardrail>,
    runner: CommandRunner,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// The request for another answer.
    pub(super) ask_again: Option<String>,
    /// Number of answers of this run that were asked for again.
    pub(super) retries: u32,
}

/// Returns the extension that applies guardrails. Only the questions that they answer are
/// registered.
pub(crate) fn extension(guardrails: Vec<Guardrail>, runner: CommandRunner) -> Handlers {
    let has = |position| guardrails.iter().any(|guardrail| guardrail.plan().on == position);
    let (input, output) = (has(GuardrailPosition::Input), has(GuardrailPosition::Output));
    let (calls, results) = (has(GuardrailPosition::ToolCall), has(GuardrailPosition::ToolResult));
    let state = Mutex::default();
    let all = Arc::new(SessionGuardrails { guardrails, runner, state });
    // Each guardrail has a limit of its own.
    let mut handlers = Handlers::new(PATH).without_time_limit();
    if input {
        let all = Arc::clone(&all);
        handlers = handlers.on(move |prompt: BeforePrompt, context| {
            let all = Arc::clone(&all);
            async move { all.check_prompt(prompt, &context).await }
        });
    }
    if calls {
        let all = Arc::clone(&all);
        handlers = handlers.on(move |call: ToolCall, context| {
            let all = Arc::clone(&all);
            async move { all.check_call(call, &context).await }
        });
    }
    if results {
        let all = Arc::clone(&all);
        handlers = handlers.on(move |result: ToolResult, context| {
            let all = Arc::clone(&all);
            async move { all.check_result(result, &context).await }
        });
    }
    if output {
        let (starting, ending, settling) = (Arc::clone(&all), Arc::clone(&all), all);
        handlers = handlers
            .on(move |_: BeforeAgentStart, _| {
                *starting.state() = State::default();
                std::future::ready(Ok(RunStart::default()))
            })
            .on(move |end: MessageEnd, context| {
                let all = Arc::clone(&ending);
                async move { all.check_answer(end, &context).await }
            })
            .on(move |BeforeSettle(settle): BeforeSettle, _| {
                let boundary = settling.ask_again(settle.outcome, settle.entries);
                std::future::ready(Ok(boundary))
            })
            .setup(|api| {
                // What was shown cannot be withheld any more.
                api.withhold_answers();
                Ok(())
            });
    }
    handlers
}

impl SessionGuardrails {
    pub(super) fn at(&self, position: GuardrailPosition) -> impl Iterator<Item = &Guardrail> {
        self.guardrails.iter().filter(move |guardrail| guardrail.plan().on == position)
    }

    async fn check_prompt(
        &self,
        prompt: BeforePrompt,
        context: &ExtensionContext,
    ) -> Result<PromptDecision, ExtensionError> {
        let mut decision = PromptDecision::default();
        let Some(session) = context.session() else { return Ok(decision) };
        let cancel = CancelToken::new();
        let mut text = prompt.text;
        for guardrail in self.at(GuardrailPosition::Input) {
            let fields = Map::from_iter([("prompt".to_owned(), json!(text))]);
            let value = json!(text);
            let subject = Subject { session: &session, value, fields, cancel: &cancel };
            let Some(tripped) = self.check(guardrail, &subject, context, None).await else {
                continue;
            };
            match (tripped.action, tripped.rewritten) {
                (GuardrailAction::Note, _) => {}
                (GuardrailAction::Rewrite, Some(Value::String(rewritten))) => {
                    text.clone_from(&rewritten);
                    decision.text = Some(rewritten);
                }
                _ => {
                    let by = format!("guardrail {}", guardrail.plan().name);
                    decision.block = Some(PromptBlock { by, reason: tripped.reason });
                    break;
                }
            }
        }
        Ok(decision)
    }

    async fn check_call(
        &self,
        call: ToolCall,
        context: &ExtensionContext,
    ) -> Result<ToolDecision, ExtensionError> {
        let Some(session) = context.session() else { return Ok(ToolDecision::allow()) };
        let cancel = session.abort_token();
        let mut input = (*call.input).clone();
        let mut changed = false;
        let (tool, id) = (call.tool_name.as_str(), call.tool_call_id.as_str());
        for guardrail in self.at(GuardrailPosition::ToolCall).filter(|one| one.concerns(tool)) {
            let value = Value::Object(input.clone());
            let fields = of_call(tool, id, &value);
            let subject = Subject { session: &session, value, fields, cancel: &cancel };
            let Some(tripped) = self.check(guardrail, &subject, context, Some(id)).await else {
                continue;
            };
            match (tripped.action, &tripped.rewritten) {
                (GuardrailAction::Note, _) => {}
                (GuardrailAction::Rewrite, Some(rewritten)) => {
                    match session.check_arguments(tool, rewritten) {
                        Ok(rewritten) => (input, changed) = (rewritten, true),
                        Err(problem) => {
                            let error = format!("the changed arguments are invalid: {problem}");
                            return Ok(ToolDecision::block(refusal(guardrail, &error)));
                        }
                    }
                }
                _ => return Ok(ToolDecision::block(refusal(guardrail, &tripped.reason))),
            }
        }
        Ok(ToolDecision::Allow { input: changed.then_some(input) })
    }

    async fn check_result(
        &self,
        asked: ToolResult,
        context: &ExtensionContext,
    ) -> Result<OutputChange, ExtensionError> {
        let mut change = OutputChange::default();
        let Some(session) = context.session() else { return Ok(change) };
        let cancel = session.abort_token();
        let (tool, id) = (asked.tool_name.as_str(), asked.tool_call_id.as_str());
        let mut text = text_of(&asked.result.content);
        for guardrail in self.at(GuardrailPosition::ToolResult).filter(|one| one.concerns(tool)) {
            let mut fields = of_call(tool, id, &Value::Object((*asked.input).clone()));
            fields.insert("tool_response".to_owned(), json!(text));
            fields.insert("is_error".to_owned(), json!(asked.is_error));
            let value = json!(text);
            let subject = Subject { session: &session, value, fields, cancel: &cancel };
            let Some(tripped) = self.check(guardrail, &subject, context, Some(id)).await else {
                continue;
            };
            match (tripped.action, tripped.rewritten) {
                (GuardrailAction::Note, _) => continue,
                (GuardrailAction::Rewrite, Some(Value::String(rewritten))) => text = rewritten,
                _ => {
                    let (name, reason) = (&guardrail.plan().name, tripped.reason);
                    text = format!("[The result was withheld by guardrail {name}: {reason}]");
                    change.is_error = Some(true);
                }
            }
            // Images and details may show what the text does not any more.
            change.content = Some(vec![UserBlock::text(text.clone())]);
            change.details = Some(json!({}));
            if change.is_error == Some(true) {
                break;
            }
        }
        Ok(change)
    }

    /// Checks a subject, and emits and records what was found.
    async fn check(
        &self,
        guardrail: &Guardrail,
        subject: &Subject<'_>,
        context: &ExtensionContext,
        call_id: Option<&str>,
    ) -> Option<Tripped> {
        let tripped = self.find(guardrail, subject, context).await?;
        intervene(subject.session, guardrail, &tripped, call_id).await;
        Some(tripped)
    }

    /// Checks a subject, and reports a guardrail that could not be evaluated.
    pub(super) async fn find(
        &self,
        guardrail: &Guardrail,
        subject: &Subject<'_>,
        context: &ExtensionContext,
    ) -> Option<Tripped> {
        let mut tripped = check(guardrail, subject, &self.runner).await?;
        tripped.reason = subject.session.redacted(&tripped.reason).into_owned();
        if let Some(failure) = &tripped.failure {
            let error = format!("guardrail {}: {failure}", guardrail.plan().name);
            context.report_failure(PATH, guardrail.plan().on.name(), &error).await;
        }
        Some(tripped)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn intervene(
    session: &AgentSession,
    guardrail: &Guardrail,
    tripped: &Tripped,
    call_id: Option<&str>,
) {
    let action = match tripped.action {
        GuardrailAction::Block => InterventionAction::Block,
        GuardrailAction::Rewrite => InterventionAction::Rewrite,
        GuardrailAction::Stop => InterventionAction::Stop,
        GuardrailAction::Note => InterventionAction::Note,
    };
    let plan = guardrail.plan();
    let source = InterventionSource::Guardrail;
    let mut intervention =
        Intervention::new(source, &plan.name, plan.on.name(), action, &tripped.reason);
    if let Some(id) = call_id {
        intervention = intervention.of_call(id);
    }
    session.intervene(intervention).await;
}

fn of_call(tool: &str, id: &str, input: &Value) -> Map<String, Value> {
    Map::from_iter([
        ("tool_name".to_owned(), json!(tool)),
        ("tool_use_id".to_owned(), json!(id)),
        ("tool_input".to_owned(), input.clone()),
    ])
}

/// Returns the tool error for a blocked call.
fn refusal(guardrail: &Guardrail, reason: &str) -> String {
    format!(
        "This was not run: guardrail {} blocked it: {}. Do not work around this: continue without \
         it, or tell the user.",
        guardrail.plan().name,
        reason.trim_end_matches('.')
    )
}
