//! The transcript of a run, and what follows from it, kept up to date message by message.
//!
//! Nothing here walks the history: what a request needs (the messages for the model, the tools it
//! was told of) is carried along, so that a turn costs the same after ten thousand others.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, History, Message, MessageContent, RemovedTool, SystemMessage, Tool, Transcript,
    now_ms,
};

use crate::tool::AgentTool;

/// What a model reads of a message; `None` for nothing.
pub type Convert = Arc<dyn Fn(&AgentMessage) -> Option<Message> + Send + Sync>;

/// A transcript with its derived state.
#[derive(Clone, Default)]
pub(crate) struct Conversation {
    /// Without it, models read what they understand as it is.
    convert: Option<Convert>,
    messages: History<AgentMessage>,
    /// Those of them that models understand.
    llm: History<Message>,
    /// What the system messages add up to.
    declared: Transcript,
}

impl Conversation {
    pub(crate) fn new(
        convert: Option<Convert>,
        messages: impl IntoIterator<Item = AgentMessage>,
    ) -> Self {
        let mut conversation = Self { convert, ..Self::default() };
        for message in messages {
            conversation.push(message);
        }
        conversation
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

    /// Another transcript in the place of this one.
    pub(crate) fn replace(&mut self, messages: impl IntoIterator<Item = AgentMessage>) {
        *self = Self::new(self.convert.take(), messages);
    }

    /// What a model reads of a message.
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

    pub(crate) fn declared(&self) -> &Transcript {
        &self.declared
    }

    /// Completes `pending` so that, with it, the model has been told of exactly `tools`.
    ///
    /// The last system message among `pending` carries the difference; without one, and if there
    /// is a difference, one is made and goes before the first message that is not a system's.
    pub(crate) fn declare(
        &self,
        mut pending: Vec<AgentMessage>,
        tools: &[Arc<dyn AgentTool>],
    ) -> Vec<AgentMessage> {
        let carrier = pending.iter().rposition(|message| as_system(message).is_some());
        match carrier {
            Some(index) => {
                let (added, removed) = difference(&self.told_by(&pending, index), tools);
                let Some(system) = as_system(&pending[index]) else { return pending };
                if system.tools_added != added || system.tools_removed != removed {
                    let system = SystemMessage {
                        tools_added: added,
                        tools_removed: removed,
                        ..(**system).clone()
                    };
                    pending[index] = Message::System(Arc::new(system)).into();
                }
            }
            None => {
                let (added, removed) = difference(&self.declared.tools, tools);
                if added.is_empty() && removed.is_empty() {
                    return pending;
                }
                let system = SystemMessage {
                    content: MessageContent::Text(String::new()),
                    tools_added: added,
                    tools_removed: removed,
                    timestamp: now_ms(),
                    ..SystemMessage::default()
                };
                pending.insert(0, Message::System(Arc::new(system)).into());
            }
        }
        pending
    }

    /// The tools that the model knows of after `pending`, but for what the message at `carrier`
    /// claims about them.
    fn told_by(&self, pending: &[AgentMessage], carrier: usize) -> Vec<Tool> {
        let mut told = self.declared.clone();
        for (index, message) in pending.iter().enumerate() {
            if let Some(system) = as_system(message)
                && index != carrier
            {
                told.apply(system);
            }
        }
        told.tools
    }
}

fn as_system(message: &AgentMessage) -> Option<&Arc<SystemMessage>> {
    match message {
        AgentMessage::Llm(Message::System(system)) => Some(system),
        _ => None,
    }
}

/// What must be said to get from `told` to `tools`. A tool that changed is removed and added.
fn difference(told: &[Tool], tools: &[Arc<dyn AgentTool>]) -> (Vec<Tool>, Vec<RemovedTool>) {
    let same = |a: &Tool, b: &Tool| {
        a.name == b.name
            && a.description == b.description
            && a.parameters == b.parameters
            && a.constrained_sampling == b.constrained_sampling
    };
    let added = tools
        .iter()
        .map(|tool| tool.declaration())
        .filter(|tool| !told.iter().any(|known| same(known, tool)))
        .cloned()
        .collect();
    let removed = told
        .iter()
        .filter(|known| !tools.iter().any(|tool| same(known, tool.declaration())))
        .map(|known| RemovedTool { name: known.name.clone() })
        .collect();
    (added, removed)
}
