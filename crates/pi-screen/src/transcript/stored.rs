//! Entries of the log as blocks. An entry is read when it is visible, and forgotten when it is far
//! away, so that a long session costs what is on the screen.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::session::AgentSession;
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, CustomMessage as _, Entry, EntryBody, Message,
    StopReason, ToolCall, ToolResultMessage,
};
use pi_session::{
    BashExecution, BranchSummaryMessage, CacheMiss, CompactionSummaryMessage, ExtensionMessage,
    SessionError,
};
use pi_tui::Line;

use super::labeled::Labeled;
use super::notice::{Failure, Miss, Notice, tells_of_abort};
use super::options::{Look, Shared};
use super::shell::Shell;
use super::slot::Draw;
use super::tool::{Call, Output, Progress, Time};
use super::{assistant, card, is_known_tool, user};

/// Entries around an entry that are searched for what belongs to it.
const NEIGHBORS: usize = 64;
/// Prompts of the history of the editor, and entries that are searched for them.
const MOST_PROMPTS: usize = 100;
const PROMPT_ENTRIES: usize = 2000;
/// Parsed entries that are kept for their neighbors.
const KEPT: usize = 16;

/// The entries of the log that are shown, in order.
pub(super) struct StoredLog {
    session: AgentSession,
    ids: Vec<Box<str>>,
    /// Place of the last compaction; earlier ones are part of its summary.
    compaction: Option<usize>,
    /// Parts that a click has turned around.
    toggled: RefCell<HashSet<(usize, usize)>>,
    /// The first row of each part of the entries that were drawn.
    parts: RefCell<HashMap<usize, Vec<(usize, usize)>>>,
    recent: RefCell<VecDeque<(usize, Rc<Entry>)>>,
    #[cfg(test)]
    reads: std::cell::Cell<usize>,
}

impl StoredLog {
    /// Lists the entries of the context: those that a compaction kept, the compaction, those after
    /// it. Reads at most the compaction.
    pub(super) fn new(session: &AgentSession) -> Result<Self, SessionError> {
        let (ids, compaction) = session.with_log(|log| -> Result<_, SessionError> {
            let mut ids: Vec<&str> = log.context_ids()?;
            let mut compaction = None;
            if let Some(first) = ids.first().copied() {
                // A compaction is first in the context, and the entry before those after it in the
                // tree. Any other first entry is followed by its child.
                let after = ids.iter().position(|id| log.parent_id(id) == Some(first));
                let after = after.unwrap_or(ids.len());
                let is_compaction =
                    || matches!(log.entry(first), Ok(Entry { body: EntryBody::Compaction(_), .. }));
                if after > 1 && is_compaction() {
                    ids[..after].rotate_left(1);
                    compaction = Some(after - 1);
                } else {
                    compaction = Some(0);
                }
            }
            Ok((ids.into_iter().map(Box::from).collect(), compaction))
        })?;
        Ok(Self {
            session: session.clone(),
            ids,
            compaction,
            toggled: RefCell::default(),
            parts: RefCell::default(),
            recent: RefCell::default(),
            #[cfg(test)]
            reads: std::cell::Cell::default(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the number of entries that were read.
    #[cfg(test)]
    pub(super) fn entries_read(&self) -> usize {
        self.reads.get()
    }

    /// Turns the part of an entry at a row around.
    pub(super) fn toggle(&self, index: usize, row: usize) {
        let parts = self.parts.borrow();
        let Some(parts) = parts.get(&index) else { return };
        let part = parts.iter().rev().find(|(_, first)| *first <= row).map_or(0, |(part, _)| *part);
        let mut toggled = self.toggled.borrow_mut();
        if !toggled.remove(&(index, part)) {
            toggled.insert((index, part));
        }
    }

    /// Shows all parts alike.
    pub(super) fn reset(&self) {
        self.toggled.borrow_mut().clear();
    }

    fn entry(&self, index: usize) -> Option<Result<Rc<Entry>, SessionError>> {
        let mut recent = self.recent.borrow_mut();
        if let Some((_, entry)) = recent.iter().find(|(at, _)| *at == index) {
            return Some(Ok(Rc::clone(entry)));
        }
        let id = self.ids.get(index)?;
        #[cfg(test)]
        self.reads.set(self.reads.get() + 1);
        let entry = match self.session.with_log(|log| log.entry(id)) {
            Ok(entry) => Rc::new(entry),
            Err(error) => return Some(Err(error)),
        };
        recent.push_back((index, Rc::clone(&entry)));
        if recent.len() > KEPT {
            recent.pop_front();
        }
        Some(Ok(entry))
    }

    /// Returns the message of an entry.
    pub(super) fn message(&self, index: usize) -> Option<AgentMessage> {
        self.entry(index)?.ok()?.message().cloned()
    }

    /// Returns the results of the calls of an answer: the tool results that follow it.
    fn results(&self, index: usize, calls: usize) -> HashMap<String, Arc<ToolResultMessage>> {
        let mut results = HashMap::new();
        for at in (index + 1..self.len()).take(calls + NEIGHBORS) {
            if results.len() == calls {
                break;
            }
            match self.message(at) {
                Some(AgentMessage::Llm(Message::ToolResult(result))) => {
                    results.insert(result.tool_call_id.clone(), result);
                }
                Some(AgentMessage::Llm(Message::Assistant(_))) => break,
                _ => {}
            }
        }
        results
    }

    /// Returns true if the box of its call shows a result.
    fn has_call(&self, index: usize, result: &ToolResultMessage) -> bool {
        for at in (0..index).rev().take(NEIGHBORS) {
            if let Some(AgentMessage::Llm(Message::Assistant(answer))) = self.message(at) {
                return answer.tool_calls().any(|call| call.id == result.tool_call_id);
            }
        }
        false
    }

    /// Returns true if a failed answer left the context for a retry, and the retry answered.
    fn is_retried(&self, index: usize) -> bool {
        let mut is_omitted = false;
        for at in (index + 1..self.len()).take(NEIGHBORS) {
            let Some(Ok(entry)) = self.entry(at) else { return false };
            match &entry.body {
                EntryBody::ContextEdit(edit) if edit.replacement.is_none() => {
                    is_omitted |= self.ids.get(index).is_some_and(|id| **id == *edit.target_id);
                }
                EntryBody::Message(AgentMessage::Llm(Message::Assistant(_))) => return is_omitted,
                EntryBody::Message(_) => return false,
                _ => {}
            }
        }
        false
    }

    /// Returns true if the message before an entry tells that the run was aborted.
    fn is_told_before(&self, index: usize) -> bool {
        let before = (0..index).rev().take(NEIGHBORS).find_map(|at| self.message(at));
        match before {
            Some(AgentMessage::Llm(Message::ToolResult(result))) => tells_of_abort(&result),
            _ => false,
        }
    }

    /// Returns the last prompts, oldest first. Only some entries are looked at: a long session must
    /// not be read for the history of the editor.
    pub(super) fn prompts(&self) -> Vec<String> {
        let mut prompts = Vec::new();
        for id in self.ids.iter().rev().take(PROMPT_ENTRIES) {
            if prompts.len() == MOST_PROMPTS {
                break;
            }
            let line = self.session.with_log(|log| log.raw_entry(id)).unwrap_or_default();
            // Most entries are answers and results, which need not be parsed.
            if !line.contains("\"role\":\"user\"") {
                continue;
            }
            if let Ok(entry) = Entry::from_json(&line)
                && let Some(AgentMessage::Llm(Message::User(message))) = entry.message()
            {
                prompts.push(user::text_of(&message.content));
            }
        }
        prompts.reverse();
        prompts
    }

    /// Returns the last answer, if it is near the end.
    pub(super) fn last_answer(&self) -> Option<Arc<AssistantMessage>> {
        (0..self.len()).rev().take(NEIGHBORS).find_map(|index| match self.message(index)? {
            AgentMessage::Llm(Message::Assistant(answer)) => Some(answer),
            _ => None,
        })
    }

    /// Returns the place of the last answer, if one of its calls passes a test.
    pub(super) fn last_answer_with(&self, is_wanted: impl Fn(&str) -> bool) -> Option<usize> {
        for index in (0..self.len()).rev().take(NEIGHBORS) {
            if let Some(AgentMessage::Llm(Message::Assistant(answer))) = self.message(index) {
                return answer.tool_calls().any(|call| is_wanted(&call.id)).then_some(index);
            }
        }
        None
    }

    /// Returns true if nothing of the entries before this one is shown.
    pub(super) fn is_first(&self, index: usize) -> bool {
        index < NEIGHBORS
            && (0..index).all(|at| match self.entry(at) {
                Some(Ok(entry)) => match &entry.body {
                    EntryBody::Message(AgentMessage::Llm(Message::System(_))) => true,
                    EntryBody::Message(_) | EntryBody::BranchSummary(_) => false,
                    EntryBody::Compaction(_) => Some(at) != self.compaction,
                    EntryBody::CustomMessage(message) => !message.display,
                    _ => true,
                },
                _ => false,
            })
    }
}

/// An entry of the log.
pub(super) struct Stored {
    pub(super) log: Rc<StoredLog>,
    pub(super) index: usize,
}

/// Lines of an entry, and the rows at which its parts begin.
#[derive(Default)]
struct Drawing {
    lines: Vec<Line>,
    parts: Vec<(usize, usize)>,
}

impl Drawing {
    fn add(&mut self, part: usize, lines: Vec<Line>) {
        self.parts.push((part, self.lines.len()));
        self.lines.extend(lines);
    }
}

impl Draw for Stored {
    fn draw(&self, look: Look<'_>, shared: &Shared) -> Vec<Line> {
        let mut drawing = Drawing::default();
        match self.log.entry(self.index) {
            None => {}
            Some(Ok(entry)) => {
                shared.foreign().set_entry(Some((entry.id.clone(), entry.timestamp.clone())));
                self.draw_entry(&entry, &mut drawing, look, shared);
                shared.foreign().set_entry(None);
            }
            Some(Err(error)) => {
                let text = format!("an entry of the session cannot be read: {error}");
                let notice = Notice { kind: NotifyKind::Error, text, hint: None, raw: None };
                drawing.lines = notice.draw(look, shared);
            }
        }
        if !drawing.parts.is_empty() {
            self.log.parts.borrow_mut().insert(self.index, drawing.parts);
        }
        drawing.lines
    }

    fn release(&mut self) {
        self.log.parts.borrow_mut().remove(&self.index);
    }
}

impl Stored {
    fn look<'a>(&self, part: usize, look: Look<'a>) -> Look<'a> {
        let toggled = self.log.toggled.borrow().contains(&(self.index, part));
        Look { toggled, ..look }
    }

    fn draw_entry(&self, entry: &Entry, drawing: &mut Drawing, look: Look<'_>, shared: &Shared) {
        let whole = self.look(0, look);
        match &entry.body {
            EntryBody::Message(AgentMessage::Llm(message)) => match message {
                Message::User(message) => {
                    let is_first = self.log.is_first(self.index);
                    drawing.add(0, user::lines(&message.content, is_first, whole));
                }
                Message::Assistant(answer) => self.draw_answer(answer, drawing, look, shared),
                Message::ToolResult(result) if !self.log.has_call(self.index, result) => {
                    let arguments = serde_json::Map::new();
                    let call = call(
                        &result.tool_call_id,
                        &result.tool_name,
                        &arguments,
                        Some(result),
                        shared,
                    );
                    drawing.add(0, card::lines(&call, whole));
                }
                Message::ToolResult(_) | Message::System(_) => {}
            },
            EntryBody::Message(message) => {
                if let Some(content) = custom(message) {
                    drawing.add(0, content.draw(whole, shared));
                }
            }
            EntryBody::CustomMessage(_) | EntryBody::Custom { .. } => {
                if let Some(content) = custom_entry(entry) {
                    drawing.add(0, content.draw(whole, shared));
                }
            }
            EntryBody::Compaction(compaction) if self.log.compaction == Some(self.index) => {
                let content = Labeled::Compaction {
                    summary: compaction.summary.clone(),
                    tokens_before: compaction.tokens_before,
                };
                drawing.add(0, content.lines(whole));
            }
            EntryBody::BranchSummary(branch) if !branch.summary.is_empty() => {
                let content = Labeled::Branch { summary: branch.summary.clone() };
                drawing.add(0, content.lines(whole));
            }
            _ => {}
        }
    }

    fn draw_answer(
        &self,
        answer: &AssistantMessage,
        drawing: &mut Drawing,
        look: Look<'_>,
        shared: &Shared,
    ) {
        if answer.stop_reason == StopReason::Error && self.log.is_retried(self.index) {
            return;
        }
        let calls = answer.tool_calls().count();
        let mut is_prompt = calls == 0;
        let results = if calls > 0 { self.log.results(self.index, calls) } else { HashMap::new() };
        for (part, block) in answer.content.iter().enumerate() {
            let look = self.look(part, look);
            let lines = match block {
                AssistantBlock::Text(text) => {
                    let lines = assistant::text(&text.text, is_prompt, look);
                    is_prompt &= lines.is_empty();
                    lines
                }
                AssistantBlock::Thinking(thinking) => assistant::thinking(&thinking.thinking, look),
                AssistantBlock::ToolCall(ToolCall { id, name, arguments, .. }) => {
                    let result = results.get(id).map(|result| &**result);
                    let mut call = call(id, name, arguments, result, shared);
                    if call.output.is_none() {
                        // A run that goes on shows its calls itself.
                        call.progress = Progress::Error;
                        call.is_interrupted = !answer.stop_reason.is_failure();
                    }
                    card::lines(&call, look)
                }
                AssistantBlock::Unknown(_) => continue,
            };
            drawing.add(part, lines);
        }
        let is_told = drawing.lines.is_empty() && self.log.is_told_before(self.index);
        if let Some(failure) = Failure::of(answer, is_told, shared) {
            drawing.lines.extend(failure.draw(look, shared));
        }
    }
}

fn call<'a>(
    id: &'a str,
    name: &'a str,
    arguments: &'a serde_json::Map<String, serde_json::Value>,
    result: Option<&'a ToolResultMessage>,
    shared: &Shared,
) -> Call<'a> {
    Call {
        id,
        has_begun: result.is_some(),
        name,
        arguments,
        is_streaming: false,
        output: result
            .map(|result| Output { content: &result.content, details: result.details.as_ref() }),
        progress: match result {
            None => Progress::Pending,
            Some(result) if result.is_error => Progress::Error,
            Some(_) => Progress::Success,
        },
        time: result.and_then(|result| result.duration_ms).map(|ms| Time::Took(ms / 1000.0)),
        preview: None,
        is_interrupted: false,
        is_known: is_known_tool(name, shared),
    }
}

/// Returns the content of a custom entry: a miss of the prompt cache, a message of an extension that
/// is displayed, or data that a renderer may draw.
pub(super) fn custom_entry(entry: &Entry) -> Option<Box<dyn Draw>> {
    match &entry.body {
        EntryBody::CustomMessage(message) if message.display => {
            Some(Box::new(Labeled::Extension(Box::new(ExtensionMessage::from_entry(entry)?))))
        }
        EntryBody::Custom { custom_type, .. } => Some(match CacheMiss::of(&entry.body) {
            Some(miss) => Box::new(Miss(miss)),
            None => {
                let (kind, entry) = (custom_type.clone(), Box::new(entry.clone()));
                Box::new(Labeled::Data { kind, entry })
            }
        }),
        _ => None,
    }
}

/// Returns the content of a message of a role that models do not know.
pub(super) fn custom(message: &AgentMessage) -> Option<Box<dyn Draw>> {
    Some(match message.role() {
        BashExecution::ROLE => Box::new(Shell::stored(message.as_custom()?)),
        ExtensionMessage::ROLE => {
            let message: ExtensionMessage = message.as_custom()?;
            if !message.display {
                return None;
            }
            Box::new(Labeled::Extension(Box::new(message)))
        }
        BranchSummaryMessage::ROLE => {
            let message: BranchSummaryMessage = message.as_custom()?;
            Box::new(Labeled::Branch { summary: message.summary })
        }
        CompactionSummaryMessage::ROLE => {
            let message: CompactionSummaryMessage = message.as_custom()?;
            Box::new(Labeled::Compaction {
                summary: message.summary,
                tokens_before: message.tokens_before,
            })
        }
        _ => return None,
    })
}
