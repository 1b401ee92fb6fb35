//! Markup of single entries, for an application that shows a session while it grows.
//!
//! The markup is that of the exported page, made by the same functions, so escaping stays in one
//! place. An application receives the entries one by one: a tool call is a card without a result,
//! and its result is the same card again, with the result.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_protocol::{AgentMessage, AssistantBlock, AssistantMessage, Entry, EntryBody, Message};

use super::call::DescribedCall;
use super::escape;
use super::highlight::Highlighter;
use super::tool::{self, Outcome};
use super::unit::{self, Form, Unit};
use crate::EffectsResolver;

/// Style of the markup, with the variables of its colors. The exported page begins with it.
pub const ENTRY_STYLE: &str = include_str!("assets/transcript.css");

/// Answers with tool calls that are kept for their results.
const KEPT: usize = 16;
/// Bytes of code that are highlighted at once, and how many more with every entry.
const HIGHLIGHTED: usize = 32 * 1024;
const REFILL: usize = 2 * 1024;

/// Renders entries one by one, in the order of the log.
pub struct EntryRenderer {
    effects: EffectsResolver,
    highlighter: Highlighter,
    /// The last answers with tool calls.
    calls: VecDeque<Arc<AssistantMessage>>,
}

impl EntryRenderer {
    /// Creates a renderer that describes tool calls by their effects.
    pub fn new(effects: EffectsResolver) -> Self {
        Self { effects, highlighter: Highlighter::new(HIGHLIGHTED), calls: VecDeque::new() }
    }

    /// Returns the markup of an entry; `None` if it is not shown.
    pub fn render(&mut self, entry: &Entry) -> Option<String> {
        self.highlighter.refill(REFILL, HIGHLIGHTED);
        self.note(entry);
        let mut html = String::new();
        if self.result(&mut html, entry).is_some() {
            return Some(html);
        }
        let unit = Unit {
            entry,
            label: None,
            on_branch: true,
            results: &[],
            effects: &self.effects,
            form: Form::Fragment,
        };
        unit::write(&mut html, &unit, &mut self.highlighter)?;
        Some(html)
    }

    /// Reads an entry without rendering it: the results of its tool calls can be rendered then.
    pub fn note(&mut self, entry: &Entry) {
        let EntryBody::Message(AgentMessage::Llm(Message::Assistant(message))) = &entry.body else {
            return;
        };
        if message.tool_calls().next().is_some() {
            if self.calls.len() == KEPT {
                self.calls.pop_front();
            }
            self.calls.push_back(Arc::clone(message));
        }
    }

    /// Appends the card of a result; `None` if it is none, or its call is not known.
    fn result(&mut self, html: &mut String, entry: &Entry) -> Option<()> {
        let EntryBody::Message(AgentMessage::Llm(Message::ToolResult(result))) = &entry.body else {
            return None;
        };
        let call = self.calls.iter().rev().find_map(|message| {
            message.content.iter().find_map(|block| match block {
                AssistantBlock::ToolCall(call) if call.id == result.tool_call_id => Some(call),
                _ => None,
            })
        })?;
        let described = DescribedCall::new(call, &self.effects);
        let outcome = Outcome { id: entry.id.clone(), label: None, result: Arc::clone(result) };
        let (call, form) = (Some(&described), Form::Fragment);
        tool::card(html, call, Some(&outcome), form, &mut self.highlighter);
        Some(())
    }
}

impl std::fmt::Debug for EntryRenderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntryRenderer").field("calls", &self.calls.len()).finish_non_exhaustive()
    }
}

/// Returns text as markup: characters of markup are escaped, invisible ones are made visible.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape::text(&mut out, text);
    out
}
