//! The transcript: every kind of message and tool on the screen.
//!
//! Blocks of the log are read when they are visible. Live messages are blocks that events change;
//! both are drawn by the same functions, so that a session looks the same after it is resumed.

mod answer;
mod assistant;
mod calls;
mod card;
mod code;
mod foreign;
mod growing;
mod images;
mod labeled;
mod layout;
mod markdown;
mod notice;
mod options;
mod output;
mod page;
mod preview;
mod shell;
mod slot;
mod stored;
#[cfg(test)]
mod tests;
mod tool;
mod tools;
mod user;

use std::rc::Rc;
use std::time::Instant;

use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::session::{AgentSession, BashError, BashResult, SessionEvent};
use pi_protocol::{AgentMessage, AssistantMessage, Message, Usage};
use pi_tui::{Block, BlockId, Blocks};

use answer::Answer;
use calls::Calls;
pub(super) use foreign::styled;
use notice::{Failure, Notice, Status, tells_of_abort};
use options::Shared;
pub(super) use options::{ImageLimits, Options};
use page::Page;
use shell::{Shell, Shells};
use slot::Slot;
use stored::{Stored, StoredLog};
use user::User;

/// The transcript of a session.
pub(super) struct Transcript {
    page: Page,
    /// The blocks before the first message.
    prefix: Vec<BlockId>,
    /// The entries of the log that are shown, and the first of their blocks.
    stored: Option<(Rc<StoredLog>, BlockId)>,
    answer: Option<Answer>,
    calls: Calls,
    shells: Shells,
    /// The last status line.
    status: Option<BlockId>,
    /// Blocks of the last answer, which go away if it failed and the retry answers.
    last_answer: Vec<BlockId>,
    /// Blocks of failed answers that are being retried.
    retried: Vec<BlockId>,
    /// The last message is the result of a tool that was aborted.
    is_abort_told: bool,
    /// A run is in progress.
    is_running: bool,
    /// Nothing but the header is on the page.
    is_empty: bool,
}

impl Transcript {
    /// Creates an empty transcript.
    pub(super) fn new(options: Options) -> Self {
        Self {
            page: Page::new(Shared::new(options)),
            prefix: Vec::new(),
            stored: None,
            answer: None,
            calls: Calls::default(),
            shells: Shells::default(),
            status: None,
            last_answer: Vec::new(),
            retried: Vec::new(),
            is_abort_told: false,
            is_running: false,
            is_empty: true,
        }
    }

    /// Returns the document for a screen.
    pub(super) fn blocks(&mut self) -> &mut Blocks {
        self.page.blocks()
    }

    /// Shows the log of a session below `prefix`. Reads no message; what is not in the log yet (an
    /// answer that streams, calls and commands that run) stays.
    pub(super) fn rebuild(&mut self, session: &AgentSession, prefix: Vec<Box<dyn Block>>) {
        self.page.clear();
        self.page.shared().set_session(session.clone());
        self.calls.detach();
        (self.stored, self.status, self.is_empty) = (None, None, true);
        (self.last_answer, self.retried, self.is_abort_told) = (Vec::new(), Vec::new(), false);
        self.prefix = prefix.into_iter().map(|block| self.page.push(block)).collect();
        match StoredLog::new(session) {
            Ok(log) => self.show_log(&Rc::new(log)),
            Err(error) => {
                let text = format!("the session cannot be read: {error}");
                self.notice(NotifyKind::Error, text, None);
            }
        }
        if let Some(answer) = self.answer.take() {
            self.answer = Some(answer.moved(&mut self.page, &mut self.calls));
        }
        self.calls.place_detached(&mut self.page);
        self.shells.place(&mut self.page);
    }

    /// Replaces the blocks before the first message.
    pub(super) fn set_prefix(&mut self, prefix: Vec<Box<dyn Block>>) {
        for old in std::mem::take(&mut self.prefix) {
            self.page.remove(old);
        }
        let first = self.page.blocks().first();
        let place = |block| match first {
            Some(first) => self.page.insert_before(first, block),
            None => self.page.push(block),
        };
        self.prefix = prefix.into_iter().map(place).collect();
    }

    fn show_log(&mut self, log: &Rc<StoredLog>) {
        // An answer whose calls run is live, and what follows it.
        let live = match self.calls.has_detached() {
            true => log.last_answer_with(|call| self.calls.is_detached(call)),
            false => None,
        };
        let live = live.unwrap_or(log.len());
        for index in 0..live {
            let stored = Stored { log: Rc::clone(log), index };
            let id = self.page.push(Box::new(Slot::new(self.page.shared(), stored)));
            self.stored.get_or_insert_with(|| (Rc::clone(log), id));
        }
        self.is_empty = live == 0 || log.is_first(live);
        for index in live..log.len() {
            if let Some(message) = log.message(index) {
                self.add_message(&message);
            }
        }
    }

    /// Stops the time of a call while the user is asked about it, and lets it go on.
    pub(super) fn call_waits(&mut self, id: &str, is_waiting: bool) {
        match is_waiting {
            true => self.calls.ask(id, &mut self.page),
            false => self.calls.answered(id, &mut self.page),
        }
    }

    /// Shows an event of the session. Events that are not about the transcript change nothing.
    pub(super) fn on_event(&mut self, event: &SessionEvent) {
        let (page, calls) = (&mut self.page, &mut self.calls);
        match event {
            SessionEvent::MessageStart { message } if message.as_assistant().is_some() => {
                for block in self.retried.drain(..) {
                    page.remove(block);
                }
                self.answer = Some(Answer::default());
            }
            SessionEvent::MessageUpdate { assistant_message_event, .. } => {
                let answer = self.answer.get_or_insert_default();
                answer.apply(assistant_message_event, page, calls);
            }
            SessionEvent::MessageEnd { message } => self.add_message(message),
            // A call during another one is shown by the outer one.
            SessionEvent::ToolExecutionStart { parent_tool_call_id: Some(_), .. } => {}
            SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                calls.start(tool_call_id, tool_name, args, page);
            }
            SessionEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                calls.change(tool_call_id, page, |card| card.update(partial_result));
            }
            SessionEvent::ToolExecutionEnd {
                tool_call_id, result, is_error, duration_ms, ..
            } => {
                calls.change(tool_call_id, page, |card| card.end(result, *is_error, *duration_ms));
            }
            SessionEvent::AgentStart => self.is_running = true,
            SessionEvent::AgentSettled { .. } => {
                self.is_running = false;
                page.unpin();
            }
            SessionEvent::AgentEnd { .. } => {
                calls.abandon_all(page);
                self.answer = None;
            }
            SessionEvent::AutoRetryStart { .. } => self.retried.append(&mut self.last_answer),
            SessionEvent::AutoRetryEnd { success: false, attempt, final_error } => {
                self.retried.clear();
                self.status(stopped_retries(*attempt, final_error.as_deref()));
            }
            SessionEvent::ModelFallback { message, .. } => {
                self.retried.append(&mut self.last_answer);
                self.notice(NotifyKind::Warning, message.clone(), None);
            }
            SessionEvent::CompactionEnd { result: None, aborted, error_message, .. } => {
                if *aborted {
                    self.status("Compaction cancelled".to_owned());
                } else if let Some(reason) = error_message.as_deref().and_then(not_needed) {
                    self.status(reason.to_owned());
                } else if let Some(error) = error_message {
                    self.notice(NotifyKind::Error, error.clone(), None);
                }
            }
            SessionEvent::EntryAppended { entry } => {
                if let Some(content) = stored::custom_entry(entry) {
                    self.page.draw(content);
                    self.is_empty = false;
                }
            }
            SessionEvent::BashExecutionUpdate { id: Some(id), delta } => {
                self.shells.push(id, delta, page);
            }
            _ => {}
        }
    }

    /// Shows a complete message.
    fn add_message(&mut self, message: &AgentMessage) {
        let (page, calls) = (&mut self.page, &mut self.calls);
        match message {
            AgentMessage::Llm(Message::System(_)) => return,
            AgentMessage::Llm(Message::User(message)) => {
                let is_first = self.is_empty;
                page.draw(User { message: message.clone(), is_first });
            }
            AgentMessage::Llm(Message::Assistant(message)) => self.finish_answer(message),
            AgentMessage::Llm(Message::ToolResult(result)) => calls.set_result(result, page),
            AgentMessage::Custom(_) => match stored::custom(message) {
                Some(content) => drop(page.draw(content)),
                None => return,
            },
        }
        self.is_empty = false;
        self.is_abort_told = match message {
            AgentMessage::Llm(Message::ToolResult(result)) => tells_of_abort(result),
            _ => false,
        };
    }

    fn finish_answer(&mut self, message: &AssistantMessage) {
        let mut answer = self.answer.take().unwrap_or_default();
        answer.finish(message, &mut self.page, &mut self.calls);
        self.last_answer = answer.blocks();
        let is_told = self.is_abort_told && answer.is_blank();
        if let Some(failure) = Failure::of(message, is_told, self.page.shared()) {
            self.last_answer.push(self.page.draw(failure));
        }
    }

    /// Adds a block of another part of the screen.
    pub(super) fn push(&mut self, block: Box<dyn Block>) -> BlockId {
        self.is_empty = false;
        self.page.push(block)
    }

    /// Shows a dim line. It replaces the one before it if nothing came between.
    pub(super) fn status(&mut self, text: String) {
        if let Some(last) = self.status.take()
            && self.page.last() == Some(last)
        {
            self.page.remove(last);
        }
        self.is_empty = false;
        self.status = Some(self.page.draw(Status(text)));
    }

    /// Shows a remark, a warning or an error, and what the user can do about it.
    pub(super) fn notice(&mut self, kind: NotifyKind, text: String, hint: Option<String>) {
        self.is_empty = false;
        self.page.draw(Notice { kind, text, hint, raw: None });
    }

    /// Shows a command of the user, which begins. The model does not see an `excluded` one.
    pub(super) fn shell_started(&mut self, id: &str, command: &str, excluded: bool) {
        self.is_empty = false;
        let shell = Shell::started(command, excluded, Instant::now());
        self.shells.start(id, shell, self.is_running, &mut self.page);
    }

    /// Shows the result of a command of the user, or why it could not be run.
    pub(super) fn shell_ended(&mut self, id: &str, result: &Result<BashResult, BashError>) {
        self.shells.end(id, result, &mut self.page);
    }

    /// Shows tool output and summaries whole, or their ends only.
    pub(super) fn set_expanded(&mut self, expanded: bool) {
        self.change_options(|options| options.expanded = expanded);
    }

    /// Hides thinking, or shows it.
    pub(super) fn set_hide_thinking(&mut self, hide: bool) {
        self.change_options(|options| options.hide_thinking = hide);
    }

    /// Draws again what renderers of extensions drew.
    pub(super) fn redraw_rendered(&mut self) {
        self.page.shared().foreign().redraw();
        self.page.blocks().touch_all();
    }

    /// Sets the text in the place of hidden thinking; `None` restores the built-in one.
    pub(super) fn set_hidden_thinking_label(&mut self, label: Option<String>) {
        self.change_options(|options| options.hidden_thinking_label = label);
    }

    /// Returns true if tool output and summaries are shown whole.
    pub(super) fn is_expanded(&self) -> bool {
        self.page.shared().options().expanded
    }

    /// Returns a number for the id of the next command of the user.
    pub(super) fn next_shell(&mut self) -> u64 {
        self.shells.next()
    }

    /// Returns the last prompts of the log, oldest first. Looks at the end of the log only.
    pub(super) fn prompts(&self) -> Vec<String> {
        self.stored.as_ref().map_or_else(Vec::new, |(log, _)| log.prompts())
    }

    /// Returns the usage of the last answer of the log.
    pub(super) fn last_usage(&self) -> Option<Usage> {
        let (log, _) = self.stored.as_ref()?;
        Some(log.last_answer()?.usage.clone())
    }

    /// Returns the number of entries that were read.
    #[cfg(test)]
    fn entries_read(&self) -> usize {
        self.stored.as_ref().map_or(0, |(log, _)| log.entries_read())
    }

    /// Changes the settings. Live text keeps its padding until the transcript is rebuilt.
    pub(super) fn change_options(&mut self, change: impl FnOnce(&mut Options)) {
        if let Some((log, _)) = &self.stored {
            log.reset();
        }
        self.page.change_options(change);
    }

    /// Turns the part of a block at a row around: shown whole, or not.
    pub(super) fn toggle(&mut self, id: BlockId, row: usize) {
        if self.page.toggle(id) {
            return;
        }
        let Some((log, first)) = &self.stored else { return };
        let blocks = self.page.blocks();
        let (Some(at), Some(first)) = (blocks.index_of(id), blocks.index_of(*first)) else {
            return;
        };
        if let Some(index) = at.checked_sub(first).filter(|index| *index < log.len()) {
            log.toggle(index, row);
            self.page.shared().change(|_| {});
            self.page.touch(id);
        }
    }

    /// Returns the time at which something changes without an event, if there is such a thing.
    pub(super) fn next_tick(&self, now: Instant) -> Option<Instant> {
        self.calls.next_tick().into_iter().chain(self.shells.next_tick(now)).min()
    }

    /// Moves the times and spinners that are shown. Returns true if one of them looks different.
    pub(super) fn tick(&mut self, now: Instant) -> bool {
        let calls = self.calls.tick(now, &mut self.page);
        self.shells.tick(now, &mut self.page) || calls
    }
}

/// Returns the line about retries that ended without an answer. The error itself is above it.
fn stopped_retries(attempt: u32, error: Option<&str>) -> String {
    match error {
        Some("Retry cancelled") => "Retry cancelled".to_owned(),
        _ if attempt == 1 => "Gave up after 1 retry".to_owned(),
        _ => format!("Gave up after {attempt} retries"),
    }
}

/// Returns the line about a compaction for which there is nothing to do, which is no failure.
fn not_needed(error: &str) -> Option<&'static str> {
    match error.strip_prefix("Compaction failed: ")? {
        "Nothing to compact (session too small)" => {
            Some("Nothing to compact: the session is still small")
        }
        "Already compacted" => Some("Nothing to compact: the session was just compacted"),
        _ => None,
    }
}

/// Returns true if the session has a tool of this name.
fn is_known_tool(name: &str, shared: &Shared) -> bool {
    let Some(session) = shared.session() else { return false };
    session.all_tools().iter().any(|tool| tool.declaration().name == name)
}
