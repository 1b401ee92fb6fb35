//! What a context amounts to, without reading it.
//!
//! Whoever opens a long conversation wants to know its model, its tools and its length before
//! anybody asks the model something; the messages themselves are read when they are needed.

use pi_protocol::{AgentMessage, Declarations, Message};

use super::Session;
use crate::SessionError;
use crate::log::{Kind, Role};
use crate::projection::{self, ModelRef};

/// What a context amounts to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outline {
    /// How many messages it has.
    pub message_count: usize,
    /// What its system messages add up to.
    pub declared: Declarations,
    /// The thinking level, by name.
    pub thinking_level: String,
    /// The model last chosen or used.
    pub model: Option<ModelRef>,
}

impl Session {
    /// The outline of the context at the current entry. Reads system messages, edits, the last
    /// compaction and what says which model it is, and nothing else.
    ///
    /// The outline is kept until the session changes, so a second call costs a copy.
    pub fn outline(&mut self) -> Result<Outline, SessionError> {
        if let Some(outline) = &self.outline {
            return Ok(outline.clone());
        }
        let outline = self.without_damage(Self::build_outline)?;
        self.outline = Some(outline.clone());
        Ok(outline)
    }

    fn build_outline(&self) -> Result<Outline, SessionError> {
        let mut reader = self.log.reader();
        let selection = self.select(self.leaf, &mut reader)?;
        let edits = self.edits(&selection, &mut reader)?;
        let settings = self.settings(&selection.path, &mut reader)?;
        let mut outline = Outline {
            thinking_level: settings.thinking_level,
            model: settings.model,
            ..Outline::default()
        };
        let compaction = selection.compaction.map(|(at, _)| selection.path[at]);
        for index in selection.entries(self) {
            let node = self.tree.node(index);
            let edit = edits.get(self.tree.id(index));
            match node.kind {
                Kind::Compaction if Some(index) != compaction => continue,
                // One without a text says nothing.
                Kind::Message(Role::System) | Kind::Compaction | Kind::BranchSummary => {}
                Kind::Message(_) | Kind::CustomMessage => {
                    let hidden = edit.is_some_and(|edit| edit.replacement.is_none());
                    outline.message_count += usize::from(!hidden);
                    continue;
                }
                _ => continue,
            }
            let entry = self.read_entry(&mut reader, index)?;
            for message in projection::messages(&entry, edit) {
                outline.message_count += 1;
                if let AgentMessage::Llm(Message::System(system)) = &message {
                    outline.declared.apply(system);
                }
            }
        }
        Ok(outline)
    }
}
