//! Builds an assistant message and its events from what a provider says.
//!
//! A wire decoder says "text began", "here is more of block 2", "the call is complete"; the
//! builder keeps the message, queues the matching events, and reads tool arguments as they come.
//! It knows no wire format. Every call costs what its argument is long, not what the message is.

use std::collections::VecDeque;

use crate::{
    AssistantBlock, AssistantEvent, AssistantMessage, Model, PartialJson, StopReason, TextContent,
    ThinkingContent, ToolCall, json,
};

/// The message under construction, and the events not yet delivered.
#[derive(Debug)]
pub struct MessageBuilder {
    message: AssistantMessage,
    events: VecDeque<AssistantEvent>,
    /// What is known of each block beyond the message itself, by content index.
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
        Self { message: AssistantMessage::pending(model), ..Self::empty() }
    }

    pub(crate) fn empty() -> Self {
        Self {
            message: AssistantMessage::default(),
            events: VecDeque::new(),
            blocks: Vec::new(),
            started: false,
            finished: false,
        }
    }

    /// The message so far.
    pub fn message(&self) -> &AssistantMessage {
        &self.message
    }

    /// The message, for facts that are not events: ids, usage, signatures, diagnostics.
    pub fn message_mut(&mut self) -> &mut AssistantMessage {
        &mut self.message
    }

    /// The message, taken out.
    pub fn into_message(self) -> AssistantMessage {
        self.message
    }

    /// The next event not yet delivered.
    pub fn pop_event(&mut self) -> Option<AssistantEvent> {
        self.events.pop_front()
    }

    /// There are events not yet delivered.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// A terminal event has been queued; whatever comes after it is ignored.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The provider has begun to answer. Said again, it changes nothing.
    pub fn start(&mut self) {
        if !self.started && !self.finished {
            self.started = true;
            self.events.push_back(AssistantEvent::Start);
        }
    }

    /// A text block begins.
    pub fn text_start(&mut self) -> usize {
        self.open(AssistantBlock::Text(TextContent::default()), BlockState::Text, |content_index| {
            AssistantEvent::TextStart { content_index }
        })
    }

    /// A thinking block begins.
    pub fn thinking_start(&mut self) -> usize {
        self.thinking_start_with(ThinkingContent::default())
    }

    /// A thinking block begins that already has content, such as a redacted one.
    pub fn thinking_start_with(&mut self, thinking: ThinkingContent) -> usize {
        self.open(AssistantBlock::Thinking(thinking), BlockState::Thinking, |content_index| {
            AssistantEvent::ThinkingStart { content_index }
        })
    }

    /// A tool call begins.
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
        self.message.content.push(block);
        self.blocks.push(state);
        if !self.finished {
            self.events.push_back(event(index));
        }
        index
    }

    /// More of a block that is open: text, thinking, or the argument text of a call.
    pub fn delta(&mut self, content_index: usize, delta: &str) {
        if self.finished {
            return;
        }
        let Some(block) = self.message.content.get_mut(content_index) else { return };
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
            // The block has ended: a late delta of a confused server changes nothing.
            _ => return,
        };
        self.events.push_back(event);
    }

    /// The argument text of an open call so far.
    pub fn argument_text(&self, content_index: usize) -> Option<&str> {
        match self.blocks.get(content_index)? {
            BlockState::ToolCall { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The whole argument text of an open call, said again by the provider: what it adds to the
    /// text so far becomes a delta; if it contradicts it, it replaces it.
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

    /// A block is complete. The arguments of a call are parsed strictly, once.
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
        let Some(AssistantBlock::ToolCall(call)) = self.message.content.get_mut(content_index)
        else {
            return;
        };
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

    /// The block is still open.
    pub fn is_open(&self, content_index: usize) -> bool {
        self.blocks.get(content_index).is_some_and(|state| !matches!(state, BlockState::Ended))
    }

    /// The answer is complete. Blocks that a sloppy server left open are ended first.
    pub fn finish(&mut self, reason: StopReason) {
        if self.finished {
            return;
        }
        self.start();
        self.end_all();
        self.message.stop_reason = reason.clone();
        self.events.push_back(AssistantEvent::Done { reason });
        self.finished = true;
    }

    /// The request failed: `reason` is `Error` or `Aborted`. Content gathered so far is kept.
    pub fn fail(&mut self, reason: StopReason, error: impl Into<String>) {
        if self.finished {
            return;
        }
        self.message.stop_reason = reason.clone();
        self.message.error_message = Some(error.into());
        self.events.push_back(AssistantEvent::Error { reason });
        self.finished = true;
    }
}
