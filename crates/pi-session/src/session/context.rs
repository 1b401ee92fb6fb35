//! The context at the current entry, updated as the session grows.
//!
//! The first request builds the context from its entries and no others. After that an append adds
//! its own messages; only an edit, a compaction or a move to another branch rebuilds the context.

use std::collections::HashMap;

use pi_protocol::{AgentMessage, ContextEdit, Entry, EntryBody, History, Message};

use serde_json::{Map, Value};

use super::Session;
use crate::SessionError;
use crate::log::{Kind, Reader, Role};
use crate::projection::{self, ModelRef, ProjectedEntry};
use crate::tree::Index;

/// The messages that a model reads, and the settings that belong to them.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SessionContext {
    /// The messages, oldest first.
    pub messages: History<AgentMessage>,
    /// The name of the thinking level.
    pub thinking_level: String,
    /// The model that was last selected or used.
    pub model: Option<ModelRef>,
}

/// The entries of the context at some entry of the tree.
pub(super) struct Selection {
    pub(super) path: Vec<Index>,
    /// The positions on the path of the last compaction and of the first entry that it keeps.
    pub(super) compaction: Option<(usize, usize)>,
}

impl Selection {
    /// Returns the entries of the context: the compaction, the entries it kept, those after it.
    pub(super) fn entries<'a>(&'a self, session: &'a Session) -> impl Iterator<Item = Index> + 'a {
        let is_system = |at: usize| {
            matches!(session.tree.node(self.path[at]).kind, Kind::Message(Role::System))
        };
        projection::context_positions(self.path.len(), self.compaction, is_system)
            .map(|at| self.path[at])
    }
}

impl Session {
    /// Returns the context at the current entry. The first call reads the entries of the context;
    /// later calls share it.
    pub fn context(&mut self) -> Result<SessionContext, SessionError> {
        if let Some(context) = &self.context {
            return Ok(context.clone());
        }
        let context = self.without_damage(|session| session.build_context(session.leaf))?;
        self.context = Some(context.clone());
        Ok(context)
    }

    /// Builds the context at another entry; `None` for the context before the first.
    pub fn context_at(&self, leaf: Option<&str>) -> Result<SessionContext, SessionError> {
        let leaf = leaf.map(|id| self.find(id)).transpose()?;
        self.build_context(leaf)
    }

    /// Returns the ids of the entries of the context, in its order. Reads a compaction at most.
    pub fn context_ids(&self) -> Result<Vec<&str>, SessionError> {
        let selection = self.select(self.leaf, &mut self.log.reader())?;
        Ok(selection.entries(self).map(|index| self.tree.id(index)).collect())
    }

    /// Reads the entries of the context, with the messages that they contribute.
    pub fn projection(&mut self) -> Result<Vec<ProjectedEntry>, SessionError> {
        let entries = self.without_damage(|session| {
            let mut reader = session.log.reader();
            let selection = session.select(session.leaf, &mut reader)?;
            selection.entries(session).map(|at| session.read_entry(&mut reader, at)).collect()
        })?;
        Ok(projection::project_selected(entries))
    }

    /// Calls `build` until it encounters no damaged entry that is not marked as such yet.
    pub(super) fn without_damage<T>(
        &mut self,
        build: impl Fn(&Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        loop {
            match build(self) {
                Err(SessionError::Damaged { id, reason }) => {
                    // Where one entry is damaged, others may be: find all at once.
                    let known = self.damaged.len();
                    self.verify()?;
                    if self.damaged.len() == known {
                        let index = self.find(&id)?;
                        self.mark_damaged(index, reason);
                        self.tree.resolve();
                    }
                }
                built => return built,
            }
        }
    }

    fn build_context(&self, leaf: Option<Index>) -> Result<SessionContext, SessionError> {
        let mut reader = self.log.reader();
        let selection = self.select(leaf, &mut reader)?;
        let edits = self.edits(&selection, &mut reader)?;
        let mut context = self.settings(&selection.path, &mut reader)?;
        let compaction = selection.compaction.map(|(at, _)| selection.path[at]);
        for index in selection.entries(self) {
            match self.tree.node(index).kind {
                // The last of several compactions supersedes the others.
                Kind::Compaction if Some(index) != compaction => continue,
                Kind::Message(_) | Kind::Compaction | Kind::BranchSummary | Kind::CustomMessage => {
                }
                _ => continue,
            }
            let entry = self.read_entry(&mut reader, index)?;
            context.messages.extend(projection::messages(&entry, edits.get(&entry.id)));
        }
        Ok(context)
    }

    /// Finds the entries of the context at `leaf`.
    pub(super) fn select(
        &self,
        leaf: Option<Index>,
        reader: &mut Reader<'_>,
    ) -> Result<Selection, SessionError> {
        let path = self.tree.path(leaf);
        let last = path.iter().rposition(|index| self.tree.node(*index).kind == Kind::Compaction);
        let Some(at) = last else { return Ok(Selection { path, compaction: None }) };
        let entry = self.read_entry(reader, path[at])?;
        let EntryBody::Compaction(compaction) = entry.body else {
            // A compaction of an unknown shape is ignored.
            return Ok(Selection { path, compaction: None });
        };
        let first_kept = &*compaction.first_kept_entry_id;
        let is_first = |index: &Index| self.tree.id(*index) == first_kept;
        let kept = path[..at].iter().position(is_first).or_else(|| {
            let after = self.tree.after_damaged(first_kept, path[at])?;
            path[..at].iter().position(|index| *index == after)
        });
        Ok(Selection { compaction: Some((at, kept.unwrap_or(at))), path })
    }

    /// Reads the last edit of every entry of the context.
    pub(super) fn edits(
        &self,
        selection: &Selection,
        reader: &mut Reader<'_>,
    ) -> Result<HashMap<String, ContextEdit>, SessionError> {
        let mut edits = HashMap::new();
        for index in selection.entries(self) {
            if self.tree.node(index).kind != Kind::ContextEdit {
                continue;
            }
            if let EntryBody::ContextEdit(edit) = self.read_entry(reader, index)?.body {
                edits.insert(edit.target_id.clone(), edit);
            }
        }
        Ok(edits)
    }

    /// Reads model and thinking level: the last ones on the whole path, compacted or not.
    pub(super) fn settings(
        &self,
        path: &[Index],
        reader: &mut Reader<'_>,
    ) -> Result<SessionContext, SessionError> {
        let mut context =
            SessionContext { thinking_level: "off".to_owned(), ..SessionContext::default() };
        let mut level_known = false;
        for index in path.iter().rev() {
            let kind = self.tree.node(*index).kind;
            let wanted = match kind {
                Kind::ThinkingLevelChange => !level_known,
                Kind::ModelChange | Kind::Message(Role::Assistant) => context.model.is_none(),
                _ => false,
            };
            if wanted {
                let entry = self.read_entry(reader, *index)?;
                level_known |= kind == Kind::ThinkingLevelChange;
                context.apply_settings(&entry);
            }
            if level_known && context.model.is_some() {
                break;
            }
        }
        Ok(context)
    }

    /// Adds an appended entry to the context, or drops the context if the entry changes its past.
    pub(super) fn update_context(&mut self, index: Index, entry: &Entry) {
        let kind = self.tree.node(index).kind;
        if matches!(kind, Kind::Compaction | Kind::ContextEdit) {
            self.context = None;
        }
        if let Some(context) = &mut self.context {
            context.apply_settings(entry);
            context.messages.extend(projection::messages(entry, None));
        }
    }
}

impl SessionContext {
    /// Applies an entry that sets the model or the thinking level.
    fn apply_settings(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::ThinkingLevelChange { thinking_level } => {
                self.thinking_level.clone_from(thinking_level);
            }
            EntryBody::ModelChange { provider, model_id } => {
                let (provider, model_id) = (provider.clone(), model_id.clone());
                self.model = Some(ModelRef { provider, model_id });
            }
            EntryBody::Message(AgentMessage::Llm(Message::Assistant(message))) => {
                let (provider, model_id) = (message.provider.clone(), message.model.clone());
                self.model = Some(ModelRef { provider, model_id });
            }
            // An answer of a shape we do not know still names its model.
            EntryBody::Message(AgentMessage::Custom(fields)) if is_assistant(fields) => {
                let text = |name| fields.get(name).and_then(Value::as_str).map(str::to_owned);
                if let (Some(provider), Some(model_id)) = (text("provider"), text("model")) {
                    self.model = Some(ModelRef { provider, model_id });
                }
            }
            _ => {}
        }
    }
}

fn is_assistant(fields: &Map<String, Value>) -> bool {
    fields.get("role").is_some_and(|role| role == "assistant")
}
