//! The transcript of an agent with the state that follows from it, updated message by message.
//!
//! Nothing here walks the history. The messages for the model and the tools that were declared to
//! it are carried along, so that a turn costs the same after ten thousand others.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, Declarations, History, Message, MessageContent, RemovedTool, SystemMessage, Tool,
    now_ms,
};

use crate::queue::Incoming;
use crate::tool::AgentTool;

/// Converts a message to the form that models read; `None` leaves it out of requests.
pub type Convert = Arc<dyn Fn(&AgentMessage) -> Option<Message> + Send + Sync>;

/// A transcript with its derived state.
#[derive(Clone, Default)]
pub(crate) struct Transcript {
    /// Without it, messages of standard roles are sent as they are and others are left out.
    convert: Option<Convert>,
    messages: History<AgentMessage>,
    /// The messages as models read them.
    llm: History<Message>,
    /// The sum of the system messages.
    declared: Declarations,
}

impl Transcript {
    pub(crate) fn new(
        convert: Option<Convert>,
        messages: impl IntoIterator<Item = AgentMessage>,
    ) -> Self {
        let mut transcript = Self { convert, ..Self::default() };
        for message in messages {
            transcript.push(message);
        }
        transcript
    }

    pub(crate) fn push(&mut self, message: AgentMessage) {
        if let AgentMessage::Llm(Message::System(system)) = &message {
            self.declared.apply(system);
        }
        if let Some(llm) = self.converted(&message) {
            self.llm.push(llm);
        }
        self.messages.push(message);
    }

    /// Replaces all messages.
    pub(crate) fn replace(&mut self, messages: impl IntoIterator<Item = AgentMessage>) {
        *self = Self::new(self.convert.take(), messages);
    }

    /// Returns a message in the form that models read.
    pub(crate) fn converted(&self, message: &AgentMessage) -> Option<Message> {
        match (&self.convert, message) {
            (Some(convert), message) => convert(message),
            (None, AgentMessage::Llm(message)) => Some(message.clone()),
            (None, AgentMessage::Custom(_)) => None,
        }
    }

    pub(crate) fn messages(&self) -> &History<AgentMessage> {
        &self.messages
    }

    pub(crate) fn llm(&self) -> &History<Message> {
        &self.llm
    }

    pub(crate) fn declared(&self) -> &Declarations {
        &self.declared
    }

    /// Completes `incoming` so that exactly `tools` are declared to the model after it.
    ///
    /// The last system message of `incoming` carries the difference. Without one, and if there is
    /// a difference, a new system message goes first.
    pub(crate) fn declare(
        &self,
        mut incoming: Vec<Incoming>,
        tools: &[Arc<dyn AgentTool>],
    ) -> Vec<Incoming> {
        let carrier = incoming.iter().rposition(|entry| as_system(&entry.message).is_some());
        match carrier {
            Some(index) => {
                let (added, removed) = difference(&self.declared_without(&incoming, index), tools);
                let Some(system) = as_system(&incoming[index].message) else { return incoming };
                if system.tools_added != added || system.tools_removed != removed {
                    let system = SystemMessage {
                        tools_added: added,
                        tools_removed: removed,
                        ..(**system).clone()
                    };
                    incoming[index].message = Message::System(Arc::new(system)).into();
                }
            }
            None => {
                let (added, removed) = difference(&self.declared.tools, tools);
                if added.is_empty() && removed.is_empty() {
                    return incoming;
                }
                let system = SystemMessage {
                    content: MessageContent::Text(String::new()),
                    tools_added: added,
                    tools_removed: removed,
                    timestamp: now_ms(),
                    ..SystemMessage::default()
                };
                let system = AgentMessage::from(Message::System(Arc::new(system)));
                incoming.insert(0, system.into());
            }
        }
        incoming
    }

    /// Returns the tools that are declared after `incoming`, not counting the message at
    /// `carrier`.
    fn declared_without(&self, incoming: &[Incoming], carrier: usize) -> Vec<Tool> {
        let mut declared = self.declared.clone();
        for (index, entry) in incoming.iter().enumerate() {
            if let Some(system) = as_system(&entry.message)
                && index != carrier
            {
                declared.apply(system);
            }
        }
        declared.tools
    }
}

fn as_system(message: &AgentMessage) -> Option<&Arc<SystemMessage>> {
    match message {
        AgentMessage::Llm(Message::System(system)) => Some(system),
        _ => None,
    }
}

/// Returns the additions and removals that lead from `declared` to `tools`. A tool that changed is
/// removed and added.
fn difference(declared: &[Tool], tools: &[Arc<dyn AgentTool>]) -> (Vec<Tool>, Vec<RemovedTool>) {
    let same = |a: &Tool, b: &Tool| {
        a.name == b.name
            && a.description == b.description
            && a.parameters == b.parameters
            && a.constrained_sampling == b.constrained_sampling
    };
    let added = tools
        .iter()
        .map(|tool| tool.declaration())
        .filter(|tool| !declared.iter().any(|known| same(known, tool)))
        .cloned()
        .collect();
    let removed = declared
        .iter()
        .filter(|known| !tools.iter().any(|tool| same(known, tool.declaration())))
        .map(|known| RemovedTool { name: known.name.clone() })
        .collect();
    (added, removed)
}
