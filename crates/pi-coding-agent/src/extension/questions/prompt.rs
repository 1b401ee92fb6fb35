//! The question about a prompt in its final form, before it reaches the model.

use pi_session::ExtensionMessage;
use serde_json::{Value, json};

use super::InputSource;
use crate::extension::question::wrapping;
use crate::extension::{Ask, Flow, OnFailure};

/// Asks whether a prompt may reach the model: after commands, skills and templates, before it is
/// sent or queued. A failing extension blocks the prompt.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforePrompt {
    /// Text of the prompt, as changed by the extensions asked before.
    pub text: String,
    /// Origin of the prompt.
    pub source: InputSource,
}

/// Decision about a prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptDecision {
    /// Replacement for the text.
    pub text: Option<String>,
    /// Messages that follow the prompt.
    pub context: Vec<ExtensionMessage>,
    /// The prompt does not reach the model.
    pub block: Option<PromptBlock>,
}

/// Refusal of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptBlock {
    /// The guardrail, hook or extension that refuses the prompt.
    pub by: String,
    /// Reason for the user.
    pub reason: String,
}

impl BeforePrompt {
    pub(crate) fn new(text: String, source: InputSource) -> Self {
        Self { text, source }
    }
}

impl Ask for BeforePrompt {
    type Answer = PromptDecision;
    const ON_FAILURE: OnFailure = OnFailure::Stop;
    wrapping!(BeforePrompt);

    fn merge(&mut self, combined: &mut PromptDecision, answer: PromptDecision) -> Flow {
        if let Some(text) = answer.text {
            self.text.clone_from(&text);
            combined.text = Some(text);
        }
        combined.context.extend(answer.context);
        combined.block = answer.block;
        if combined.block.is_some() { Flow::Stop } else { Flow::Next }
    }

    fn payload(&self) -> Value {
        json!({ "text": self.text, "source": self.source })
    }
}
