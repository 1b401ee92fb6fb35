//! Questions at the boundaries of a run: its start, its messages, the end of a turn and of the run.

use std::sync::Arc;

use pi_config::resources::SystemPromptOptions;
use pi_protocol::{
    AgentMessage, AssistantMessage, Entry, EntryBody, Extra, History, ImageContent, Message,
    ToolResultMessage,
};
use pi_session::{ExtensionMessage, to_llm};
use serde::Serialize;
use serde_json::{Value, json};

use crate::extension::question::wrapping;
use crate::extension::{Ask, Flow};

/// Asks for additions to a run that is about to begin.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeAgentStart {
    /// The message that begins the run.
    pub message: FirstMessage,
    /// The system prompt as it would be, with the changes of the extensions asked before.
    pub system_prompt: String,
    /// The parts of the system prompt, with the changes of the extensions asked before.
    pub options: Arc<SystemPromptOptions>,
    /// An extension has set the whole prompt.
    is_forced: bool,
}

/// The message that begins a run.
#[derive(Debug, Clone)]
pub enum FirstMessage {
    /// A prompt of the user.
    User {
        /// Text of the prompt.
        text: String,
        /// Images that go with the text.
        images: Vec<ImageContent>,
    },
    /// A message of an extension.
    Custom(AgentMessage),
}

impl FirstMessage {
    /// Returns the text of the user's prompt.
    pub fn prompt(&self) -> Option<&str> {
        match self {
            Self::User { text, .. } => Some(text),
            Self::Custom(_) => None,
        }
    }
}

/// Additions to a run that is about to begin.
#[derive(Debug, Clone, Default)]
pub struct RunStart {
    /// Messages that follow the first one.
    pub messages: Vec<ExtensionMessage>,
    /// The whole system prompt of this run.
    pub system_prompt: Option<String>,
    /// Replacement for the parts of the system prompt.
    pub options: Option<Arc<SystemPromptOptions>>,
}

impl BeforeAgentStart {
    pub(crate) fn new(message: FirstMessage, options: SystemPromptOptions) -> Self {
        Self {
            message,
            system_prompt: options.text(),
            options: Arc::new(options),
            is_forced: false,
        }
    }

    /// Returns the parts of the system prompt as handlers see them; with the whole prompt if an
    /// extension has set it.
    pub fn payload_of_options(&self) -> Value {
        let mut payload = self.options.payload();
        if self.is_forced {
            payload["forceSystemPrompt"] = json!(self.system_prompt);
        }
        payload
    }
}

impl Ask for BeforeAgentStart {
    type Answer = RunStart;
    wrapping!(BeforeAgentStart);

    fn merge(&mut self, combined: &mut RunStart, answer: RunStart) -> Flow {
        combined.messages.extend(answer.messages);
        if let Some(options) = answer.options {
            if !self.is_forced {
                self.system_prompt = options.text();
            }
            self.options = Arc::clone(&options);
            combined.options = Some(options);
        }
        if let Some(prompt) = answer.system_prompt {
            self.system_prompt.clone_from(&prompt);
            self.is_forced = true;
            combined.system_prompt = Some(prompt);
        }
        Flow::Next
    }

    fn payload(&self) -> Value {
        let mut payload = json!({
            "systemPrompt": self.system_prompt,
            "systemPromptOptions": self.payload_of_options(),
        });
        match &self.message {
            FirstMessage::User { text, images } => {
                payload["messageType"] = "user".into();
                payload["prompt"] = json!(text);
                if !images.is_empty() {
                    payload["images"] = json!(images);
                }
            }
            FirstMessage::Custom(message) => {
                payload["messageType"] = "custom".into();
                payload["message"] = json!(message);
            }
        }
        payload
    }
}

/// Asks for entries to append at the end of a turn, and whether the run continues.
#[derive(Debug, Clone)]
pub struct TurnEnd(pub BoundaryState);

/// Asks for entries to append when no work is left, and whether the run continues.
#[derive(Debug, Clone)]
pub struct BeforeSettle(pub BoundaryState);

/// The state at the end of a turn or of a run, with the proposals of the extensions asked before.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BoundaryState {
    /// Index of the turn in the run; `None` at the end of the run.
    pub turn_index: Option<u32>,
    /// The last answer.
    pub message: Option<Arc<AssistantMessage>>,
    /// Results of the tool calls in the answer.
    pub tool_results: Vec<Arc<ToolResultMessage>>,
    /// Entry of the answer.
    pub message_entry_id: Option<String>,
    /// Entries of the results.
    pub tool_result_entry_ids: Vec<String>,
    /// Outcome of the turn or run.
    pub outcome: RunOutcome,
    /// Entries that are proposed so far.
    pub entries: Vec<EntryBody>,
    /// The run continues, as proposed so far.
    pub continues: bool,
    /// The messages of the session with the proposed ones.
    pub context: History<AgentMessage>,
    /// The messages without the proposed ones.
    before: History<AgentMessage>,
}

/// Outcome of a turn or run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // The names say it.
pub enum RunOutcome {
    Completed,
    Aborted,
    Error,
}

/// Entries to append, and whether the run continues.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Boundary {
    /// Entries in place of those that are proposed so far: custom, custom message, context edit or
    /// compaction. `None` keeps the proposed ones.
    pub entries: Option<Vec<EntryBody>>,
    /// The run continues. `None` leaves it as proposed.
    pub continues: Option<bool>,
}

impl BoundaryState {
    pub(crate) fn new(outcome: RunOutcome, context: History<AgentMessage>) -> Self {
        Self {
            turn_index: None,
            message: None,
            tool_results: Vec::new(),
            message_entry_id: None,
            tool_result_entry_ids: Vec::new(),
            outcome,
            entries: Vec::new(),
            continues: false,
            before: context.clone(),
            context,
        }
    }

    /// An invalid list of entries discards the whole answer.
    fn merge(&mut self, combined: &mut Boundary, answer: Boundary) -> Flow {
        let entries = answer.entries.as_deref().unwrap_or_default();
        if let Some(problem) = entries.iter().find_map(invalid_draft) {
            return Flow::Invalid(format!("Invalid boundary entries: {problem}"));
        }
        if let Some(entries) = answer.entries {
            self.context = self.before.clone();
            self.context.extend(entries.iter().filter_map(message_of));
            self.entries.clone_from(&entries);
            combined.entries = Some(entries);
        }
        if let Some(continues) = answer.continues {
            self.continues = continues;
            combined.continues = Some(continues);
        }
        Flow::Next
    }

    /// Returns the context of the next request with the proposed entries.
    fn preview(&self) -> Value {
        let ends_open =
            self.context.iter().last().is_some_and(|message| {
                !matches!(message, AgentMessage::Llm(Message::Assistant(_)))
            });
        let to_model: Vec<Message> = self.context.iter().filter_map(to_llm).collect();
        json!({
            "contextMessages": self.context,
            "llmMessages": to_model,
            "pendingMessages": [],
            "canContinue": ends_open,
        })
    }

    fn payload(&self) -> Value {
        let mut payload = json!({
            "outcome": self.outcome,
            "entries": self.entries.iter().map(draft).collect::<Vec<_>>(),
            "continue": self.continues,
            "context": self.preview(),
        });
        if let Some(index) = self.turn_index {
            let message = self.message.clone().map(Message::Assistant);
            let results: Vec<Message> =
                self.tool_results.iter().cloned().map(Message::ToolResult).collect();
            payload["turnIndex"] = json!(index);
            payload["message"] = json!(message);
            payload["toolResults"] = json!(results);
            payload["messageEntryId"] = json!(self.message_entry_id);
            payload["toolResultEntryIds"] = json!(self.tool_result_entry_ids);
        }
        payload
    }
}

/// Returns the message that a proposed entry adds to the context.
fn message_of(entry: &EntryBody) -> Option<AgentMessage> {
    let EntryBody::CustomMessage(message) = entry else { return None };
    AgentMessage::custom(&ExtensionMessage {
        custom_type: message.custom_type.clone(),
        content: message.content.clone(),
        display: message.display,
        details: message.details.clone(),
        ..ExtensionMessage::default()
    })
    .ok()
}

/// Returns a proposed entry as JSON: without id, parent and time, which it gets when appended.
fn draft(body: &EntryBody) -> Value {
    let entry = Entry {
        id: String::new(),
        parent_id: None,
        timestamp: String::new(),
        body: body.clone(),
        extra: Extra::default(),
    };
    let mut draft = serde_json::to_value(entry).unwrap_or_default();
    if let Value::Object(fields) = &mut draft {
        for name in ["id", "parentId", "timestamp"] {
            fields.shift_remove(name);
        }
    }
    draft
}

/// Returns the problem of an entry that extensions may not append.
fn invalid_draft(entry: &EntryBody) -> Option<String> {
    match entry {
        EntryBody::Custom { .. }
        | EntryBody::CustomMessage(_)
        | EntryBody::ContextEdit(_)
        | EntryBody::Compaction(_) => None,
        other => {
            Some(format!("entries of type {:?} cannot be appended by an extension", other.kind()))
        }
    }
}

impl Ask for TurnEnd {
    type Answer = Boundary;
    wrapping!(TurnEnd);

    fn merge(&mut self, combined: &mut Boundary, answer: Boundary) -> Flow {
        self.0.merge(combined, answer)
    }

    fn payload(&self) -> Value {
        self.0.payload()
    }
}

impl Ask for BeforeSettle {
    type Answer = Boundary;
    wrapping!(BeforeSettle);

    fn merge(&mut self, combined: &mut Boundary, answer: Boundary) -> Flow {
        self.0.merge(combined, answer)
    }

    fn payload(&self) -> Value {
        self.0.payload()
    }
}

/// Asks for another message in place of one that is complete, before it is stored.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MessageEnd {
    /// The message, as changed by the extensions asked before.
    pub message: AgentMessage,
}

impl MessageEnd {
    pub(crate) fn new(message: AgentMessage) -> Self {
        Self { message }
    }
}

/// Another message of the same role; `None` leaves the message as it is.
#[derive(Debug, Clone, Default)]
pub struct ReplacedMessage(pub Option<AgentMessage>);

impl Ask for MessageEnd {
    type Answer = ReplacedMessage;
    wrapping!(MessageEnd);

    fn merge(&mut self, combined: &mut ReplacedMessage, answer: ReplacedMessage) -> Flow {
        let Some(message) = answer.0 else { return Flow::Next };
        if message.role() != self.message.role() {
            return Flow::Invalid(
                "message_end handlers must return a message with the same role".to_owned(),
            );
        }
        self.message = message.clone();
        combined.0 = Some(message);
        Flow::Next
    }

    fn payload(&self) -> Value {
        json!({ "message": self.message })
    }
}
