//! The result of a session: the way in which the model gives it, and the repairs of an invalid one.

use std::sync::Arc;

use pi_protocol::{AgentMessage, AssistantMessage, Message, OutputSchema};
use serde_json::Value;

use super::AgentSession;
use crate::extension::{Extension, Handlers, ToolRegistration};
use crate::output::{
    OutputContract, Refused, SUBMIT_RESULT, Submissions, SubmitResult, Violation, find_json,
    listed, read,
};

/// Number of times that an invalid result is returned to the model, by default.
const DEFAULT_REPAIRS: u32 = 3;

/// Name of the schema in requests.
const SCHEMA_NAME: &str = "result";

/// Leads a session to a result that matches the output contract.
///
/// The extension has to be a part of the session; a [`Turn`](super::Turn) does the rest.
pub struct ResultCollector {
    contract: OutputContract,
    repairs: u32,
    submissions: Submissions,
    wanted: Arc<OutputSchema>,
}

/// The state of a result after the agent has ended.
#[derive(Debug)]
pub(super) enum Collected {
    /// A result that matches the contract.
    Valid(Arc<Value>),
    /// There is no valid result. This prompt returns the problems to the model.
    Repair(String),
    /// There is no valid result, and no repair is left.
    Invalid(InvalidOutput),
}

/// An invalid result after the last repair.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidOutput {
    /// The last answer or submission.
    pub text: String,
    /// The problems of it.
    pub violations: Vec<Violation>,
}

impl ResultCollector {
    /// Creates a collector; `None` is the default number of repairs.
    pub fn new(contract: OutputContract, repairs: Option<u32>) -> Self {
        let wanted = Arc::new(OutputSchema::new(SCHEMA_NAME, contract.schema().clone()));
        let repairs = repairs.unwrap_or(DEFAULT_REPAIRS);
        Self { contract, repairs, submissions: Submissions::default(), wanted }
    }

    /// Returns the extension that offers the tool `submit_result`.
    pub fn extension(&self) -> Arc<dyn Extension> {
        let tool = SubmitResult::new(self.contract.clone(), self.submissions.clone(), self.repairs);
        let mut registration = ToolRegistration::new(Arc::new(tool)).receives_result();
        // The collector activates the tool for models that need it.
        registration.default_active = false;
        Arc::new(
            Handlers::new("pi:submit-result")
                .setup(move |api| api.register_tool(registration.clone())),
        )
    }

    /// Prepares a session for a prompt: its model is constrained, or gets the tool.
    pub(super) fn begin(&self, session: &AgentSession) {
        self.submissions.reset();
        self.set_tool(session, false);
        if session.enforces_output(&self.wanted) {
            session.set_output_schema(Some(Arc::clone(&self.wanted)));
        } else {
            self.use_tool(session);
        }
    }

    /// Returns the result after the agent has ended, or the prompt that asks for it.
    pub(super) async fn collect(&self, session: &AgentSession) -> Collected {
        if let Some(value) = self.submissions.accepted() {
            return Collected::Valid(value);
        }
        let refused = match last_answer(session) {
            Some(answer) => match self.read_answer(&answer).await {
                Ok(value) => return Collected::Valid(value),
                Err(refused) => Some(refused),
            },
            None => None,
        };
        let is_exhausted = self.submissions.refused() > self.repairs;
        let count = match (is_exhausted, &refused) {
            // The tool has counted the submission.
            (true, _) => self.submissions.refused(),
            (false, Some(refused)) => self.submissions.refuse(refused.clone()),
            (false, None) => self.submissions.refuse(missing()),
        };
        let last = self.submissions.last_refused().unwrap_or_else(missing);
        if count > self.repairs {
            return Collected::Invalid(InvalidOutput {
                text: last.text,
                violations: last.violations,
            });
        }
        // A model that was constrained and still answered with something else gets the tool.
        self.use_tool(session);
        Collected::Repair(format!(
            "The task is not complete: it requires a result that matches a schema.\n{}\nCall \
             {SUBMIT_RESULT} with the complete result.",
            listed(&last.violations)
        ))
    }

    /// Reads the result from an answer: a submission that the process before this one received, or
    /// its text.
    async fn read_answer(&self, answer: &AssistantMessage) -> Result<Arc<Value>, Refused> {
        if let Some(call) = answer.tool_calls().filter(|call| call.name == SUBMIT_RESULT).last() {
            let value = Arc::new(read(&self.contract, call.arguments.clone()));
            let violations = self.contract.check(&value).await;
            let text = || serde_json::to_string_pretty(&*value).unwrap_or_default();
            return match violations.is_empty() {
                true => Ok(value),
                false => Err(Refused { text: text(), violations }),
            };
        }
        let texts: Vec<&str> = answer.content.iter().filter_map(|block| block.as_text()).collect();
        // A result can follow the text before it in a block of its own.
        let last = texts.last().copied().unwrap_or_default();
        let text = texts.join("\n");
        let found = find_json(last).or_else(|_| find_json(&text));
        let value = match found {
            Ok(value) => Arc::new(self.contract.without_nulls(value)),
            Err(problem) => {
                let violations = vec![Violation::of_whole(problem)];
                return Err(Refused { text, violations });
            }
        };
        let violations = self.contract.check(&value).await;
        if violations.is_empty() { Ok(value) } else { Err(Refused { text, violations }) }
    }

    fn use_tool(&self, session: &AgentSession) {
        session.set_output_schema(None);
        self.set_tool(session, true);
    }

    fn set_tool(&self, session: &AgentSession, is_active: bool) {
        let names = [SUBMIT_RESULT.to_owned()];
        // In the last place, also if it is active.
        session.deactivate_tools(&names);
        if is_active {
            session.activate_tools(&names);
        }
    }
}

/// Returns the last answer to the last prompt.
fn last_answer(session: &AgentSession) -> Option<Arc<AssistantMessage>> {
    let messages = session.messages();
    let is_prompt = |message: &AgentMessage| matches!(message, AgentMessage::Llm(Message::User(_)));
    let since_prompt = messages.iter().rev().take_while(|message| !is_prompt(message));
    since_prompt.filter_map(AgentMessage::as_assistant).next().cloned()
}

fn missing() -> Refused {
    let violations = vec![Violation::of_whole("the agent ended without a result")];
    Refused { text: String::new(), violations }
}

pi_protocol::debug_fields!(ResultCollector, contract);

impl InvalidOutput {
    /// Returns the problems as sentences.
    pub fn problems(&self) -> Vec<String> {
        self.violations.iter().map(ToString::to_string).collect()
    }
}
