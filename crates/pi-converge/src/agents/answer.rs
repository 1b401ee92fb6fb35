//! The result of a sub-agent: complete, long enough, and valid for its schema, or asked for again.

use std::sync::Arc;

use pi_coding_agent::extension::Extension;
use pi_coding_agent::session::{AgentSession, EndedTurn, OutputContract, ResultCollector};
use pi_protocol::AgentMessage;
use std::sync::atomic::{AtomicU32, Ordering};

use super::failure::{ChildFailure, FailureKind};
use super::spec::AgentSpec;

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

    /// Returns the collector of structured results.
    pub(super) fn collector(&self) -> Option<&ResultCollector> {
        self.collector.as_ref()
    }

    /// Judges the result of a turn of the sub-agent.
    pub(super) fn judge(&self, end: &EndedTurn) -> Result<Judged, ChildFailure> {
        match &end.result {
            Some(Ok(value)) => Ok(Judged::Valid(value.to_string())),
            Some(Err(invalid)) => {
                let problems = invalid.problems().join("; ");
                let message = format!("The result does not match the schema: {problems}");
                let mut failure = ChildFailure::new(FailureKind::InvalidResult, message);
                failure.text = Some(invalid.text.clone());
                Err(failure)
            }
            None => self.text(&end.session),
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

/// Returns the text of the last message, if the sub-agent wrote it.
fn final_text(session: &AgentSession) -> Option<String> {
    let messages = session.messages();
    let answer = messages.last().and_then(AgentMessage::as_assistant)?;
    let texts: Vec<&str> = answer.content.iter().filter_map(|block| block.as_text()).collect();
    Some(texts.join("\n"))
}
