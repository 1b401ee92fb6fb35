//! Assembles tool calls from deltas.
//!
//! The format identifies a call by `index`. In practice the index can be missing, or zero for every
//! call; ids can be missing, late, or new in every delta. The rules here are correct for all servers
//! seen so far, and depend only on the delta and the state of the calls.

use pi_protocol::{AssistantBlock, MessageBuilder, ToolCall};

use super::chunk::{CallDelta, non_empty};
use super::signature;
use super::tools::GrammarTools;

/// Name of the argument of a custom tool that was not declared.
const DEFAULT_ARGUMENT: &str = "input";

/// The tool calls of one answer.
#[derive(Debug, Default)]
pub(in crate::wire) struct Calls {
    slots: Vec<Slot>,
    grammar_tools: GrammarTools,
}

/// A tool call that is being received.
#[derive(Debug)]
struct Slot {
    /// Content index in the message.
    content: usize,
    /// Index on the wire, if the server sends one.
    index: Option<u64>,
    input: Input,
}

/// The form in which the arguments arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// JSON text of an object.
    Json,
    /// Plain text, none of which has arrived yet.
    CustomUnopened,
    /// Plain text, with an open JSON string around it.
    CustomOpen,
}

impl Calls {
    /// Starts without calls; `grammar_tools` maps the input of custom tools to their argument.
    pub(super) fn new(grammar_tools: GrammarTools) -> Self {
        Self { slots: Vec::new(), grammar_tools }
    }

    /// Returns true if the answer has no calls so far.
    pub(in crate::wire) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Adds the deltas of one chunk.
    pub(in crate::wire) fn add(&mut self, deltas: &[CallDelta<'_>], out: &mut MessageBuilder) {
        for (place, delta) in deltas.iter().enumerate() {
            self.add_one(delta, (deltas.len() > 1).then_some(place), out);
        }
    }

    /// Adds a delta; `place` is its position if the chunk has several.
    fn add_one(&mut self, delta: &CallDelta<'_>, place: Option<usize>, out: &mut MessageBuilder) {
        let (id, name) = (non_empty(&delta.id), name_in(delta));
        let at = match self.find(delta.index, id, name, place, out) {
            Some(at) => at,
            None => {
                let content = out.tool_call_start(id.unwrap_or(""), name.unwrap_or(""));
                self.slots.push(Slot { content, index: delta.index, input: Input::Json });
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[at];
        complete_head(slot.content, id, name, out);
        if let Some(extra) = delta.extra_content
            && let Some(signature) = signature::read(extra.get())
            && let Some(call) = call_at_mut(slot.content, out)
        {
            call.thought_signature = Some(signature);
        }
        if let Some(function) = &delta.function
            && let Some(arguments) = non_empty(&function.arguments)
        {
            out.delta(slot.content, arguments);
        }
        if let Some(custom) = &delta.custom {
            if slot.input == Input::Json {
                slot.input = Input::CustomUnopened;
            }
            if let Some(input) = non_empty(&custom.input) {
                slot.open(&self.grammar_tools, out);
                out.delta(slot.content, &escaped(input));
            }
        }
    }

    /// Finds the call to which a delta belongs; `None` if the delta begins a new call.
    fn find(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        place: Option<usize>,
        out: &MessageBuilder,
    ) -> Option<usize> {
        let is_bare = id.is_none() && name.is_none();
        if let Some(number) = index {
            let Some(at) = self.slots.iter().rposition(|slot| slot.index == index) else {
                // Some servers send the index only in later deltas; it then counts the calls so far.
                return is_bare.then(|| self.without_index(number)).flatten();
            };
            return (!self.is_next_call(at, id, name, out)).then_some(at);
        }
        match id {
            Some(id) => self
                .slots
                .iter()
                .rposition(|slot| call_at(slot.content, out).is_some_and(|call| call.id == id)),
            // Without id and index, a name begins a call; other deltas continue the last call.
            None if name.is_some() => None,
            // Several such deltas in one chunk belong to the calls at the same positions.
            None => place
                .filter(|place| *place < self.slots.len())
                .or_else(|| self.slots.len().checked_sub(1)),
        }
    }

    /// Finds the call with this number, if it began without an index.
    fn without_index(&self, number: u64) -> Option<usize> {
        let at = usize::try_from(number).ok()?;
        self.slots.get(at).is_some_and(|slot| slot.index.is_none()).then_some(at)
    }

    /// Returns true if a delta with the index of a call begins the next call: it has another id and
    /// a name, and the arguments of the previous call can be complete.
    fn is_next_call(
        &self,
        at: usize,
        id: Option<&str>,
        name: Option<&str>,
        out: &MessageBuilder,
    ) -> bool {
        let content = self.slots[at].content;
        let (Some(id), Some(_), Some(call)) = (id, name, call_at(content, out)) else {
            return false;
        };
        let arguments = out.argument_text(content).unwrap_or_default().trim_end();
        !call.id.is_empty() && call.id != id && (arguments.is_empty() || arguments.ends_with('}'))
    }

    /// Completes the answer: closes open arguments, and gives every call without an id the one that
    /// `missing_id` returns for its number.
    pub(in crate::wire) fn finish(
        &mut self,
        out: &mut MessageBuilder,
        missing_id: &dyn Fn(usize) -> String,
    ) {
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if slot.input != Input::Json {
                slot.open(&self.grammar_tools, out);
                out.delta(slot.content, "\"}");
                slot.input = Input::Json;
            }
            if let Some(call) = call_at_mut(slot.content, out)
                && call.id.is_empty()
            {
                call.id = missing_id(number);
            }
        }
    }
}

impl Slot {
    /// Opens the JSON string around plain text.
    fn open(&mut self, grammar_tools: &GrammarTools, out: &mut MessageBuilder) {
        if self.input == Input::CustomUnopened {
            self.input = Input::CustomOpen;
            let name = call_at(self.content, out).map(|call| call.name.as_str());
            let argument = name.and_then(|name| grammar_tools.argument(name));
            let opening = format!("{{\"{}\":\"", escaped(argument.unwrap_or(DEFAULT_ARGUMENT)));
            out.delta(self.content, &opening);
        }
    }
}

fn name_in<'d>(delta: &'d CallDelta<'_>) -> Option<&'d str> {
    let function = delta.function.as_ref().and_then(|function| non_empty(&function.name));
    function.or_else(|| delta.custom.as_ref().and_then(|custom| non_empty(&custom.name)))
}

/// Sets id and name if they arrive late, or appends to the name.
fn complete_head(content: usize, id: Option<&str>, name: Option<&str>, out: &mut MessageBuilder) {
    let before_arguments = out.argument_text(content).is_some_and(str::is_empty);
    let Some(call) = call_at_mut(content, out) else { return };
    if let Some(id) = id
        && call.id.is_empty()
    {
        id.clone_into(&mut call.id);
    }
    if let Some(name) = name
        && (call.name.is_empty() || (before_arguments && !call.name.ends_with(name)))
    {
        call.name.push_str(name);
    }
}

fn call_at(content: usize, out: &MessageBuilder) -> Option<&ToolCall> {
    match out.message().content.get(content)? {
        AssistantBlock::ToolCall(call) => Some(call),
        _ => None,
    }
}

fn call_at_mut(content: usize, out: &mut MessageBuilder) -> Option<&mut ToolCall> {
    match out.message_mut().content.get_mut(content)? {
        AssistantBlock::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// Escapes `text` for the inside of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}
