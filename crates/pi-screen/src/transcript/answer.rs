//! The answer that streams: blocks per part, each changed by its own deltas only.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_coding_agent::session::MessageDelta;
use pi_protocol::{AssistantBlock, AssistantMessage, ToolCall};
use pi_tui::BlockId;

use super::calls::Calls;
use super::growing::Growing;
use super::markdown::Prose;
use super::page::Page;

/// A part of the answer.
enum Part {
    Text(Growing),
    Thinking(Growing),
    /// A call, by its id.
    Call(String, BlockId),
}

/// The answer that streams.
#[derive(Default)]
pub(super) struct Answer {
    /// The parts, by their place in the message.
    parts: BTreeMap<usize, Part>,
    has_text: bool,
    has_calls: bool,
}

impl Answer {
    /// Applies a step of the stream.
    pub(super) fn apply(&mut self, delta: &MessageDelta, page: &mut Page, calls: &mut Calls) {
        match delta {
            MessageDelta::TextDelta { content_index, delta } => {
                if let Some(text) = self.text(*content_index, page) {
                    text.push(delta, page);
                }
            }
            MessageDelta::TextEnd { content_index, content: Some(content) } => {
                if let Some(text) = self.text(*content_index, page) {
                    text.finish(content, page);
                }
            }
            MessageDelta::ThinkingDelta { content_index, delta } => {
                if let Some(thinking) = self.thinking(*content_index, page) {
                    thinking.push(delta, page);
                }
            }
            MessageDelta::ThinkingEnd { content_index, content: Some(content) } => {
                if let Some(thinking) = self.thinking(*content_index, page) {
                    thinking.finish(content, page);
                }
            }
            MessageDelta::ToolCallStart { content_index, id, tool_name } => {
                self.call(*content_index, id.as_deref(), tool_name.as_deref(), page, calls);
            }
            MessageDelta::ToolCallDelta { content_index, delta } => {
                self.call(*content_index, None, None, page, calls);
                if let Some(Part::Call(id, _)) = self.parts.get(content_index) {
                    calls.change(id, page, |card| card.push(delta));
                }
            }
            MessageDelta::ToolCallEnd { content_index, tool_call: Some(block) } => {
                if let AssistantBlock::ToolCall(call) = &**block {
                    self.complete_call(*content_index, call, page, calls);
                }
            }
            _ => {}
        }
    }

    /// Makes the blocks agree with the complete message: a provider or an extension may have
    /// changed what was streamed, and some answers arrive whole.
    pub(super) fn finish(
        &mut self,
        message: &AssistantMessage,
        page: &mut Page,
        calls: &mut Calls,
    ) {
        for (index, block) in message.content.iter().enumerate() {
            match block {
                AssistantBlock::Text(text) => {
                    if let Some(part) = self.text(index, page) {
                        part.finish(&text.text, page);
                    }
                }
                AssistantBlock::Thinking(thinking) => {
                    if let Some(part) = self.thinking(index, page) {
                        part.finish(&thinking.thinking, page);
                    }
                }
                AssistantBlock::ToolCall(call) => self.complete_call(index, call, page, calls),
                AssistantBlock::Unknown(_) => {}
            }
        }
        if message.stop_reason.is_failure() {
            for part in self.parts.values() {
                if let Part::Call(id, _) = part {
                    calls.abandon(id, page);
                }
            }
        }
    }

    /// Adds the answer to a page that was built anew.
    pub(super) fn moved(&self, page: &mut Page, calls: &mut Calls) -> Self {
        let mut moved = Self::default();
        for (index, part) in &self.parts {
            match part {
                Part::Text(text) => {
                    if let Some(moved) = moved.text(*index, page) {
                        moved.push(&text.source(), page);
                    }
                }
                Part::Thinking(thinking) => {
                    if let Some(moved) = moved.thinking(*index, page) {
                        moved.push(&thinking.source(), page);
                    }
                }
                Part::Call(id, _) => moved.call(*index, Some(id), None, page, calls),
            }
        }
        moved
    }

    /// Returns true if nothing of the answer is on the screen.
    pub(super) fn is_blank(&self) -> bool {
        self.parts.values().all(|part| match part {
            Part::Text(text) | Part::Thinking(text) => text.is_blank(),
            Part::Call(..) => false,
        })
    }

    /// Returns all blocks of the answer.
    pub(super) fn blocks(&self) -> Vec<BlockId> {
        let mut blocks = Vec::new();
        for part in self.parts.values() {
            match part {
                Part::Text(text) | Part::Thinking(text) => text.add_blocks(&mut blocks),
                Part::Call(_, block) => blocks.push(*block),
            }
        }
        blocks
    }

    fn text(&mut self, index: usize, page: &mut Page) -> Option<&mut Growing> {
        if !self.parts.contains_key(&index) {
            // The first text of an answer without calls is a target of jumps.
            let is_prompt = !self.has_calls && !self.has_text;
            self.has_text = true;
            let text = Growing::new(Prose::Answer, is_prompt, page);
            self.parts.insert(index, Part::Text(text));
        }
        match self.parts.get_mut(&index) {
            Some(Part::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn thinking(&mut self, index: usize, page: &mut Page) -> Option<&mut Growing> {
        let part = self
            .parts
            .entry(index)
            .or_insert_with(|| Part::Thinking(Growing::new(Prose::Thinking, false, page)));
        match part {
            Part::Thinking(thinking) => Some(thinking),
            _ => None,
        }
    }

    fn call(
        &mut self,
        index: usize,
        id: Option<&str>,
        name: Option<&str>,
        page: &mut Page,
        calls: &mut Calls,
    ) {
        if self.parts.contains_key(&index) {
            return;
        }
        self.has_calls = true;
        for part in self.parts.values_mut() {
            if let Part::Text(text) = part {
                text.unmark(page);
            }
        }
        // A call without an id is known by its place until it is complete.
        let id = id.map_or_else(|| format!("part {index}"), str::to_owned);
        let block = calls.begin(&id, name.unwrap_or_default(), page);
        self.parts.insert(index, Part::Call(id, block));
    }

    fn complete_call(&mut self, index: usize, call: &ToolCall, page: &mut Page, calls: &mut Calls) {
        self.call(index, Some(&call.id), Some(&call.name), page, calls);
        let Some(Part::Call(id, _)) = self.parts.get_mut(&index) else { return };
        if *id != call.id {
            calls.rename(id, &call.id);
            id.clone_from(&call.id);
        }
        calls.complete(id, &call.name, Arc::new(call.arguments.clone()), page);
    }
}
