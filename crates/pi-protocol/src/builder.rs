//! Builds an assistant message and its events from the output of a provider.
//!
//! A wire decoder reports "text began", "more of block 2", "the call is complete"; the builder
//! keeps the message, queues the matching events, and parses tool arguments while they stream.
//! This module must not know a wire format. The cost of a call depends on the length of its
//! argument, not on the length of the message.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{
    AssistantBlock, AssistantEvent, AssistantMessage, Model, PartialJson, StopReason, TextContent,
    ThinkingContent, ToolCall, json,
};

/// A message under construction, and its events that are not yet delivered.
#[derive(Debug)]
pub struct MessageBuilder {
    /// Shared with readers of an event. A reader that keeps it makes the next change copy it.
    message: Arc<AssistantMessage>,
    events: VecDeque<AssistantEvent>,
    /// State of each block beyond the message itself, by content index.
    blocks: Vec<BlockState>,
    started: bool,
    finished: bool,
}

#[derive(Debug)]
enum BlockState {
    Text,
    Thinking,
    /// The argument text so far, and the parser that keeps `arguments` up to date.
    ToolCall {
        text: String,
        preview: Box<PartialJson>,
    },
    Ended,
}

impl MessageBuilder {
    /// An empty message from `model`.
    pub fn new(model: &Model) -> Self {
        Self { message: Arc::new(AssistantMessage::pending(model)), ..Self::empty() }
    }

    pub(crate) fn empty() -> Self {
        Self {
            message: Arc::default(),
            events: VecDeque::new(),
            blocks: Vec::new(),
            started: false,
            finished: false,
        }
    }

    /// The message so far.
    pub fn message(&self) -> &Arc<AssistantMessage> {
        &self.message
    }

    /// The message, to set fields that have no events: ids, usage, signatures, diagnostics.
    pub fn message_mut(&mut self) -> &mut AssistantMessage {
        Arc::make_mut(&mut self.message)
    }

    /// Returns the message and drops the events.
    pub fn into_message(self) -> AssistantMessage {
        Arc::unwrap_or_clone(self.message)
    }

    /// Removes and returns the oldest event that is not yet delivered.
    pub fn pop_event(&mut self) -> Option<AssistantEvent> {
        self.events.pop_front()
    }

    /// Returns true if some events are not yet delivered.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns true if a terminal event has been queued. Later calls have no effect.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Reports that the provider has begun to answer. A second call has no effect.
    pub fn start(&mut self) {
        if !self.started && !self.finished {
            self.started = true;
            self.events.push_back(AssistantEvent::Start);
        }
    }

    /// Begins a text block and returns its content index.
    pub fn text_start(&mut self) -> usize {
        self.open(AssistantBlock::Text(TextContent::default()), BlockState::Text, |content_index| {
            AssistantEvent::TextStart { content_index }
        })
    }

    /// Begins a thinking block and returns its content index.
    pub fn thinking_start(&mut self) -> usize {
        self.thinking_start_with(ThinkingContent::default())
    }

    /// Begins a thinking block that already has content, such as a redacted one.
    pub fn thinking_start_with(&mut self, thinking: ThinkingContent) -> usize {
        self.open(AssistantBlock::Thinking(thinking), BlockState::Thinking, |content_index| {
            AssistantEvent::ThinkingStart { content_index }
        })
    }

    /// Begins a tool call and returns its content index.
    pub fn tool_call_start(&mut self, id: impl Into<String>, name: impl Into<String>) -> usize {
        let call = ToolCall { id: id.into(), name: name.into(), ..ToolCall::default() };
        let state = BlockState::ToolCall { text: String::new(), preview: Box::default() };
        self.open(AssistantBlock::ToolCall(call), state, |content_index| {
            AssistantEvent::ToolCallStart { content_index }
        })
    }

    fn open(
        &mut self,
        block: AssistantBlock,
        state: BlockState,
        event: impl FnOnce(usize) -> AssistantEvent,
    ) -> usize {
        self.start();
        let index = self.message.content.len();
        self.message_mut().content.push(block);
        self.blocks.push(state);
        if !self.finished {
            self.events.push_back(event(index));
        }
        index
    }

    /// Appends to an open block: text, thinking, or the argument text of a call.
    pub fn delta(&mut self, content_index: usize, delta: &str) {
        if self.finished {
            return;
        }
        let message = Arc::make_mut(&mut self.message);
        let Some(block) = message.content.get_mut(content_index) else { return };
        let event = match (block, &mut self.blocks[content_index]) {
            (AssistantBlock::Text(text), BlockState::Text) => {
                text.text.push_str(delta);
                AssistantEvent::TextDelta { content_index, delta: delta.to_owned() }
            }
            (AssistantBlock::Thinking(thinking), BlockState::Thinking) => {
                thinking.thinking.push_str(delta);
                AssistantEvent::ThinkingDelta { content_index, delta: delta.to_owned() }
            }
            (AssistantBlock::ToolCall(call), BlockState::ToolCall { text, preview }) => {
                text.push_str(delta);
                preview.push(delta, &mut call.arguments);
                AssistantEvent::ToolCallDelta { content_index, delta: delta.to_owned() }
            }
            // The block has ended: a late delta of a confused server is ignored.
            _ => return,
        };
        self.events.push_back(event);
    }

    /// Returns the argument text of an open call so far.
    pub fn argument_text(&self, content_index: usize) -> Option<&str> {
        match self.blocks.get(content_index)? {
            BlockState::ToolCall { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Takes the complete argument text of an open call, as providers repeat it at the end. Text
    /// that extends the text so far becomes a delta; text that contradicts it replaces it.
    pub fn complete_arguments(&mut self, content_index: usize, whole: &str) {
        let Some(so_far) = self.argument_text(content_index) else { return };
        if let Some(rest) = whole.strip_prefix(so_far) {
            if !rest.is_empty() {
                let rest = rest.to_owned();
                self.delta(content_index, &rest);
            }
        } else if let BlockState::ToolCall { text, .. } = &mut self.blocks[content_index] {
            whole.clone_into(text);
        }
    }

    /// Ends a block. The arguments of a call are parsed strictly, once.
    pub fn end(&mut self, content_index: usize) {
        let Some(state) = self.blocks.get_mut(content_index) else { return };
        let event = match std::mem::replace(state, BlockState::Ended) {
            BlockState::Text => AssistantEvent::TextEnd { content_index },
            BlockState::Thinking => AssistantEvent::ThinkingEnd { content_index },
            BlockState::ToolCall { text, .. } => {
                self.finish_arguments(content_index, &text);
                AssistantEvent::ToolCallEnd { content_index }
            }
            BlockState::Ended => return,
        };
        if !self.finished {
            self.events.push_back(event);
        }
    }

    fn finish_arguments(&mut self, content_index: usize, text: &str) {
        let block = self.message_mut().content.get_mut(content_index);
        let Some(AssistantBlock::ToolCall(call)) = block else { return };
        match json::parse_tool_arguments(text) {
            Ok(arguments) => call.arguments = arguments,
            Err(error) => {
                call.arguments.clear();
                call.arguments_error = Some(error.to_string());
            }
        }
    }

    /// Ends every block that is still open, in order.
    pub fn end_all(&mut self) {
        for index in 0..self.blocks.len() {
            self.end(index);
        }
    }

    /// Returns true if the block has begun and not ended.
    pub fn is_open(&self, content_index: usize) -> bool {
        self.blocks.get(content_index).is_some_and(|state| !matches!(state, BlockState::Ended))
    }

    /// Completes the answer. Blocks that a sloppy server left open are ended first.
    pub fn finish(&mut self, reason: StopReason) {
        if self.finished {
            return;
        }
        self.start();
        self.end_all();
        self.message_mut().stop_reason = reason.clone();
        self.events.push_back(AssistantEvent::Done { reason });
        self.finished = true;
    }

    /// Ends the answer with a failure: `reason` is `Error` or `Aborted`. The content so far is kept.
    pub fn fail(&mut self, reason: StopReason, error: impl Into<String>) {
        if self.finished {
            return;
        }
        let message = self.message_mut();
        message.stop_reason = reason.clone();
        message.error_message = Some(error.into());
        self.events.push_back(AssistantEvent::Error { reason });
        self.finished = true;
    }
}
