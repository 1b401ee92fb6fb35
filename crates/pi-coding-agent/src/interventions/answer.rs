//! Output guardrails: checks of the final answer and of a result that is given through a tool,
//! before either is shown or stored.

use std::sync::Arc;

use pi_config::guardrails::{Guardrail, GuardrailPosition};
use pi_protocol::{AgentMessage, AssistantBlock, AssistantMessage, Message, StopReason, ToolCall};
use serde_json::{Map, Value, json};

use super::check::{Check, Subject};
use super::extension::SessionChecks;
use super::guardrail::{self, Tripped};
use crate::extension::{ExtensionContext, ExtensionError, MessageEnd, ReplacedMessage};
use crate::session::{AgentSession, InterventionAction};

/// Name of the position in reports.
const OUTPUT: &str = "output";

/// A part of an answer that is checked on its own.
enum Part<'a> {
    Text(String),
    /// A result, checked as JSON text.
    Result(&'a ToolCall),
}

/// The end of a check.
enum Checked {
    Passed,
    /// A text, or the arguments of the call that gives the result.
    Rewritten(Value),
    /// The text that takes the place of the answer.
    Withheld(String),
}

impl SessionChecks {
    /// Checks a final answer and replaces it, before it is shown or stored.
    pub(super) async fn check_answer(
        &self,
        end: MessageEnd,
        context: &ExtensionContext,
    ) -> Result<ReplacedMessage, ExtensionError> {
        let unchanged = Ok(ReplacedMessage(None));
        let Some(session) = context.session() else { return unchanged };
        let AgentMessage::Llm(Message::Assistant(answer)) = &end.message else { return unchanged };
        if answer.stop_reason.is_failure() {
            return unchanged;
        }
        let has_result = answer.tool_calls().any(|call| session.receives_result(&call.name));
        if !has_result && answer.tool_calls().next().is_some() {
            return unchanged;
        }
        self.state().ask_again = None;
        let mut content = Vec::new();
        let mut changed = false;
        let text = answer.text();
        if !has_result || !text.trim().is_empty() {
            let checked = self.check_part(&session, &Part::Text(text.clone()), context).await;
            let text = match checked {
                Checked::Passed => text,
                Checked::Rewritten(text) => {
                    changed = true;
                    text.as_str().unwrap_or_default().to_owned()
                }
                Checked::Withheld(text) => return Ok(withheld(answer, text)),
            };
            content.push(AssistantBlock::text(text));
        }
        for call in answer.tool_calls() {
            let mut call = call.clone();
            if session.receives_result(&call.name) {
                match self.check_part(&session, &Part::Result(&call), context).await {
                    Checked::Passed => {}
                    Checked::Rewritten(arguments) => {
                        changed = true;
                        call.arguments = arguments.as_object().cloned().unwrap_or_default();
                    }
                    Checked::Withheld(text) => return Ok(withheld(answer, text)),
                }
            }
            content.push(AssistantBlock::ToolCall(call));
        }
        if !changed {
            return unchanged;
        }
        // Thoughts may contain the finding, too.
        Ok(replaced(AssistantMessage { content, ..(**answer).clone() }))
    }

    async fn check_part(
        &self,
        session: &AgentSession,
        part: &Part<'_>,
        context: &ExtensionContext,
    ) -> Checked {
        let cancel = session.abort_token();
        let mut text = match part {
            Part::Text(text) => text.clone(),
            Part::Result(call) => Value::Object(call.arguments.clone()).to_string(),
        };
        let mut rewritten = None;
        for check in &self.checks.all {
            let Check::Guardrail(guardrail) = check else { continue };
            if guardrail.plan().on != GuardrailPosition::Output {
                continue;
            }
            let fields = Map::from_iter([("answer".to_owned(), json!(text))]);
            let value = json!(text);
            let subject = Subject { session: Some(session), value, fields, cancel: &cancel };
            let Some(mut tripped) = self.find(guardrail, session, &subject, context).await else {
                continue;
            };
            let replacement = tripped.rewritten.take();
            let replacement = replacement.and_then(|value| part.replacement(session, value));
            if tripped.action == InterventionAction::Rewrite && replacement.is_none() {
                tripped.action = InterventionAction::Block;
            }
            if tripped.action == InterventionAction::Block && !self.may_retry(guardrail) {
                tripped.action = InterventionAction::Stop;
            }
            let name = &guardrail.plan().name;
            let told = (tripped.action, name.as_str(), tripped.reason.as_str());
            self.intervene_once(session, OUTPUT, told, part.call_id()).await;
            match (tripped.action, replacement) {
                (InterventionAction::Note, _) => {}
                (InterventionAction::Rewrite, Some(value)) => {
                    text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    rewritten = Some(value);
                }
                (action, _) => {
                    let reason = tripped.reason.trim_end_matches('.');
                    if action == InterventionAction::Block {
                        self.state().ask_again = Some(part.request(name, reason));
                    }
                    let noun = part.noun();
                    return Checked::Withheld(format!(
                        "[The {noun} was withheld by guardrail {name}: {reason}]"
                    ));
                }
            }
        }
        rewritten.map_or(Checked::Passed, Checked::Rewritten)
    }

    /// Returns true if another answer can be asked for, and counts it.
    fn may_retry(&self, guardrail: &Guardrail) -> bool {
        let mut state = self.state();
        let may = state.retries < guardrail.retries();
        state.retries += u32::from(may);
        may
    }

    /// Checks an answer, and reports a guardrail that could not be evaluated.
    async fn find(
        &self,
        guardrail: &Guardrail,
        session: &AgentSession,
        subject: &Subject<'_>,
        context: &ExtensionContext,
    ) -> Option<Tripped> {
        let mut tripped = guardrail::check(guardrail, subject, &self.checks.runner).await?;
        tripped.reason = session.redacted(&tripped.reason).into_owned();
        if let Some(failure) = &tripped.failure {
            self.report_failure(OUTPUT, &guardrail.plan().name, failure, context).await;
        }
        Some(tripped)
    }
}

impl Part<'_> {
    /// Returns the part after a rewrite; `None` if it cannot take the place of the part.
    fn replacement(&self, session: &AgentSession, value: Value) -> Option<Value> {
        let Part::Result(call) = self else { return value.is_string().then_some(value) };
        let value = match value {
            Value::String(text) => serde_json::from_str(&text).ok()?,
            value => value,
        };
        session.check_arguments(&call.name, &value).ok().map(Value::Object)
    }

    fn call_id(&self) -> Option<&str> {
        match self {
            Part::Text(_) => None,
            Part::Result(call) => Some(&call.id),
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Part::Text(_) => "answer",
            Part::Result(_) => "result",
        }
    }

    /// Returns the request for another answer, for the model.
    fn request(&self, guardrail: &str, reason: &str) -> String {
        match self {
            Part::Text(_) => format!(
                "Guardrail {guardrail} withheld your last answer: {reason}. Answer again so that \
                 the guardrail accepts the answer."
            ),
            Part::Result(call) => format!(
                "Guardrail {guardrail} withheld your result: {reason}. No tool call of that answer \
                 was run. Call {} again with a result that the guardrail accepts.",
                call.name
            ),
        }
    }
}

/// Returns an answer with this text only: nothing of the withheld answer is left, and no call of it
/// is made.
fn withheld(answer: &AssistantMessage, text: String) -> ReplacedMessage {
    let mut answer = answer.clone();
    answer.content = vec![AssistantBlock::text(text)];
    if answer.stop_reason == StopReason::ToolUse {
        answer.stop_reason = StopReason::Stop;
    }
    replaced(answer)
}

fn replaced(answer: AssistantMessage) -> ReplacedMessage {
    ReplacedMessage(Some(AgentMessage::Llm(Message::Assistant(Arc::new(answer)))))
}
