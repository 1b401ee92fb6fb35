//! A summary of the context that does not read its messages.
//!
//! A program that opens a long session needs its model, its tools and its length at once, and the
//! messages only with the first prompt.

use std::collections::BTreeSet;

use pi_protocol::{AgentMessage, Declarations, EntryBody, Message};

use super::Session;
use crate::SessionError;
use crate::log::{Kind, Reader, Role};
use crate::projection::{self, ModelRef};

/// The context of a session without its messages.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Outline {
    /// Number of messages in the context.
    pub message_count: usize,
    /// The prompt and tools that the system messages of the context add up to.
    pub declared: Declarations,
    /// Names of the tools that the system messages of the context have ever declared or removed.
    pub mentioned_tools: BTreeSet<String>,
    /// The name of the thinking level.
    pub thinking_level: String,
    /// The model that was last selected or used.
    pub model: Option<ModelRef>,
    /// The model that was last selected. Its answers may be those of another one.
    pub selected: Option<ModelRef>,
}

impl Session {
    /// Returns the outline of the context at the current entry. Reads system messages, edits, the
    /// last compaction and the last entries that set model and thinking level, and nothing else.
    ///
    /// The outline is cached until the session changes.
    pub fn outline(&mut self) -> Result<Outline, SessionError> {
        if let Some(outline) = &self.outline {
            return Ok(outline.clone());
        }
        let outline = self.without_damage(Self::build_outline)?;
        self.outline = Some(outline.clone());
        Ok(outline)
    }

    /// Reads the last selection of a model on the branch.
    fn selected_model(&self, reader: &mut Reader<'_>) -> Result<Option<ModelRef>, SessionError> {
        let mut path = self.tree.walk_up(self.leaf);
        let Some(index) = path.find(|index| self.tree.node(*index).kind == Kind::ModelChange)
        else {
            return Ok(None);
        };
        Ok(match self.read_entry(reader, index)?.body {
            EntryBody::ModelChange { provider, model_id } => Some(ModelRef { provider, model_id }),
            _ => None,
        })
    }

    fn build_outline(&self) -> Result<Outline, SessionError> {
        let mut reader = self.log.reader();
        let selection = self.select(self.leaf, &mut reader)?;
        let edits = self.edits(&selection, &mut reader)?;
        let settings = self.settings(&selection.path, &mut reader)?;
        let mut outline = Outline {
            thinking_level: settings.thinking_level,
            model: settings.model,
            selected: self.selected_model(&mut reader)?,
            ..Outline::default()
        };
        let compaction = selection.compaction.map(|(at, _)| selection.path[at]);
        for index in selection.entries(self) {
            let node = self.tree.node(index);
            let edit = edits.get(self.tree.id(index));
            match node.kind {
                Kind::Compaction if Some(index) != compaction => continue,
                // Summaries and compactions may contribute no message.
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
                    let added = system.tools_added.iter().map(|tool| tool.name.clone());
                    let removed = system.tools_removed.iter().map(|tool| tool.name.clone());
                    outline.mentioned_tools.extend(added.chain(removed));
                }
            }
        }
        Ok(outline)
    }
}
