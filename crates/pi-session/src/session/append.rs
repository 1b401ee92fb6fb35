//! Appending entries to a session.

use pi_protocol::{
    AgentMessage, BranchSummary, Compaction, ContextEdit, CustomEntryMessage, Declarations, Entry,
    EntryBody, Extra, Message, MessageContent, SystemMessage, UsageRecord,
};
use serde_json::Value;

use super::Session;
use crate::log::{Head, Log, Span};
use crate::{SessionError, files, projection, time};

impl Session {
    /// Appends a message and returns the id of its entry, as all methods of this kind do.
    pub fn append_message(
        &mut self,
        message: impl Into<AgentMessage>,
    ) -> Result<String, SessionError> {
        self.append(EntryBody::Message(message.into()))
    }

    /// Appends a change of the thinking level.
    pub fn append_thinking_level(&mut self, level: &str) -> Result<String, SessionError> {
        self.append(EntryBody::ThinkingLevelChange { thinking_level: level.to_owned() })
    }

    /// Appends a change of the model.
    pub fn append_model(&mut self, provider: &str, model: &str) -> Result<String, SessionError> {
        let (provider, model_id) = (provider.to_owned(), model.to_owned());
        self.append(EntryBody::ModelChange { provider, model_id })
    }

    /// Appends the usage of a request that produced no message.
    pub fn append_usage(&mut self, usage: UsageRecord) -> Result<String, SessionError> {
        self.append(EntryBody::Usage(Box::new(usage)))
    }

    /// Appends state of an extension.
    pub fn append_custom(
        &mut self,
        custom_type: &str,
        data: Option<Value>,
    ) -> Result<String, SessionError> {
        self.append(EntryBody::Custom { custom_type: custom_type.to_owned(), data })
    }

    /// Appends a message of an extension.
    pub fn append_custom_message(
        &mut self,
        message: CustomEntryMessage,
    ) -> Result<String, SessionError> {
        self.append(EntryBody::CustomMessage(Box::new(message)))
    }

    /// Replaces the content that an earlier entry of the branch contributes to the context; `None`
    /// removes it from the context. The entry itself is unchanged.
    pub fn append_context_edit(
        &mut self,
        target: &str,
        content: Option<Value>,
    ) -> Result<String, SessionError> {
        let index = self.find(target)?;
        let entry = self.entry(target)?;
        if !projection::is_editable(&entry) || !self.tree.is_on_path(index, self.leaf) {
            return Err(SessionError::NotEditable(target.to_owned()));
        }
        let content = content.map(|content| projection::fit_content(&entry, content));
        self.append(EntryBody::ContextEdit(ContextEdit::new(target, content)))
    }

    /// Labels an entry; `None` or an empty text removes its label.
    pub fn append_label(
        &mut self,
        target: &str,
        label: Option<&str>,
    ) -> Result<String, SessionError> {
        self.find(target)?;
        let (target_id, label) = (target.to_owned(), label.map(str::to_owned));
        self.append(EntryBody::Label { target_id, label })
    }

    /// Names the session; an empty name removes it.
    pub fn append_name(&mut self, name: &str) -> Result<String, SessionError> {
        let lines = name.split(['\r', '\n']).filter(|line| !line.is_empty());
        let name = lines.collect::<Vec<_>>().join(" ").trim().to_owned();
        self.append(EntryBody::SessionInfo { name: Some(name) })
    }

    /// Appends a compaction. An empty `first_kept_entry_id` keeps no entry. The `system_message`
    /// is set here, to the prompt and tools in force at the current entry.
    pub fn append_compaction(&mut self, compaction: Compaction) -> Result<String, SessionError> {
        let id = self.new_id();
        let mut first_kept_entry_id = compaction.first_kept_entry_id;
        if first_kept_entry_id.is_empty() {
            first_kept_entry_id.clone_from(&id);
        } else {
            self.find(&first_kept_entry_id)?;
        }
        let timestamp = time::now();
        let at = time::parse_ms(&timestamp).unwrap_or_default() as f64;
        let system_message = self.system_message(at)?.map(Into::into);
        let body = Compaction { first_kept_entry_id, system_message, ..compaction };
        self.append_entry(id, timestamp, EntryBody::Compaction(Box::new(body)))
    }

    /// Moves to an earlier entry, or before the first, and appends a summary of the abandoned
    /// branch there. If the summary cannot be written, the current entry stays.
    pub fn branch_with_summary(
        &mut self,
        to: Option<&str>,
        summary: BranchSummary,
    ) -> Result<String, SessionError> {
        let target = to.map(|id| self.find(id)).transpose()?;
        let left = self.leaf;
        let from_id = self.leaf_id().unwrap_or("root").to_owned();
        self.move_to(target);
        let appended =
            self.append(EntryBody::BranchSummary(Box::new(BranchSummary { from_id, ..summary })));
        if appended.is_err() {
            self.move_to(left);
        }
        appended
    }

    /// Returns the system messages of the context as one message.
    fn system_message(&mut self, timestamp: f64) -> Result<Option<SystemMessage>, SessionError> {
        let messages = self.context()?.messages;
        let system = messages.iter().filter_map(|message| match message {
            AgentMessage::Llm(message @ Message::System(_)) => Some(message),
            _ => None,
        });
        let state = Declarations::replay(system);
        Ok(state.timestamp.map(|_| SystemMessage {
            content: MessageContent::Text(state.content.join("\n\n")),
            sections: (!state.sections.is_empty()).then_some(state.sections),
            tools_added: state.tools,
            timestamp,
            ..SystemMessage::default()
        }))
    }

    pub(super) fn new_id(&self) -> String {
        files::new_entry_id(|id| self.tree.has_id(id))
    }

    fn append(&mut self, body: EntryBody) -> Result<String, SessionError> {
        self.append_entry(self.new_id(), time::now(), body)
    }

    pub(super) fn append_entry(
        &mut self,
        id: String,
        timestamp: String,
        body: EntryBody,
    ) -> Result<String, SessionError> {
        let parent_id = self.leaf_id().map(str::to_owned);
        let entry = Entry { id, parent_id, timestamp, body, extra: Extra::new() };
        let line = serde_json::to_string(&entry)?;
        let head = Head::read(line.as_bytes());
        let head = head.map_err(|reason| SessionError::Damaged { id: entry.id.clone(), reason })?;
        let span = self.write(&line, &head)?;
        let index = self.add_line(&head, span, line.as_bytes());
        self.tree.resolve();
        self.leaf = Some(index);
        self.update_context(index, &entry);
        self.signal_growth();
        Ok(entry.id)
    }

    /// Writes a line to the log. The first message of a conversation also creates the file, with
    /// everything before it.
    fn write(&mut self, line: &str, head: &Head<'_>) -> Result<Span, SessionError> {
        self.add_foreign_lines()?;
        let span = self.log.append(line)?;
        if (self.has_conversation || head.kind.is_conversation())
            && let Err(error) = self.log.publish()
        {
            self.log.forget(span);
            return Err(error);
        }
        Ok(span)
    }

    /// Adds the lines that another program appended to the file. The current entry stays: those
    /// entries are another branch.
    fn add_foreign_lines(&mut self) -> Result<(), SessionError> {
        let Log::File(file) = &mut self.log else { return Ok(()) };
        match file.growth()? {
            Some(grown) => self.scan(grown.start),
            None => Ok(()),
        }
    }
}
