//! The result of a sub-agent: complete, long enough, and valid for its schema, or asked for again.

use std::sync::Arc;

use pi_coding_agent::extension::Extension;
use pi_coding_agent::session::AgentSession;
use pi_protocol::AgentMessage;
use std::sync::atomic::{AtomicU32, Ordering};

use super::failure::{ChildFailure, FailureKind};
use super::spec::AgentSpec;
use crate::output::{Collected, OutputContract, ResultCollector};

/// Judges the results of one sub-agent.
pub(super) struct ResultJudge {
    collector: Option<ResultCollector>,
    min_length: usize,
    repairs: u32,
    asked: AtomicU32,
}

/// The judgment of a result.
pub(super) enum Judged {
    Valid(String),
    /// The result is missing or invalid; this prompt asks for it again.
    Repair(String),
}

impl ResultJudge {
    pub(super) fn new(spec: &AgentSpec) -> Result<Self, ChildFailure> {
        let contract = match &spec.output_schema {
            Some(schema) => Some(OutputContract::compile(schema).map_err(|error| {
                let message = format!("The output schema of the agent cannot be used: {error}");
                ChildFailure::new(FailureKind::Configuration, message)
            })?),
            None => None,
        };
        Ok(Self {
            collector: contract.map(|contract| ResultCollector::new(contract, Some(spec.repairs))),
            min_length: spec.min_length.map_or(1, |least| least.max(1) as usize),
            repairs: spec.repairs,
            asked: AtomicU32::new(0),
        })
    }

    /// Returns the extension that receives structured results.
    pub(super) fn extension(&self) -> Option<Arc<dyn Extension>> {
        self.collector.as_ref().map(ResultCollector::extension)
    }

    /// Prepares the session for a prompt.
    pub(super) fn begin(&self, session: &AgentSession) {
        if let Some(collector) = &self.collector {
            collector.begin(session);
        }
    }

    /// Judges the result after the sub-agent has ended.
    pub(super) async fn judge(&self, session: &AgentSession) -> Result<Judged, ChildFailure> {
        match &self.collector {
            Some(collector) => structured(collector, session).await,
            None => self.text(session),
        }
    }

    fn text(&self, session: &AgentSession) -> Result<Judged, ChildFailure> {
        let text = final_text(session);
        let length = text.as_deref().map_or(0, |text| text.trim().chars().count());
        if length >= self.min_length {
            return Ok(Judged::Valid(text.unwrap_or_default()));
        }
        if self.asked.fetch_add(1, Ordering::Relaxed) < self.repairs {
            let least = match self.min_length {
                1 => String::new(),
                least => format!(" Write at least {least} characters."),
            };
            return Ok(Judged::Repair(format!(
                "Your final answer is missing or too short. Another agent waits for it and sees \
                 nothing else of your work. Answer now with the complete result: what you found or \
                 did, with file paths, and what is left open.{least}"
            )));
        }
        let message = match length {
            0 => "The sub-agent gave no answer.".to_owned(),
            _ => format!("The answer has {length} characters, fewer than {}.", self.min_length),
        };
        Err(ChildFailure::new(FailureKind::EmptyResult, message))
    }
}

async fn structured(
    collector: &ResultCollector,
    session: &AgentSession,
) -> Result<Judged, ChildFailure> {
    match collector.collect(session).await {
        Collected::Valid(value) => Ok(Judged::Valid(value.to_string())),
        Collected::Repair(prompt) => Ok(Judged::Repair(prompt)),
        Collected::Invalid(invalid) => {
            let problems: Vec<String> =
                invalid.violations.iter().map(ToString::to_string).collect();
            let message = format!("The result does not match the schema: {}", problems.join("; "));
            let mut failure = ChildFailure::new(FailureKind::InvalidResult, message);
            failure.text = Some(invalid.text);
            Err(failure)
        }
    }
}

/// Returns the text of the last message, if the sub-agent wrote it.
fn final_text(session: &AgentSession) -> Option<String> {
    let messages = session.messages();
    let answer = messages.last().and_then(AgentMessage::as_assistant)?;
    let texts: Vec<&str> = answer.content.iter().filter_map(|block| block.as_text()).collect();
    Some(texts.join("\n"))
}
