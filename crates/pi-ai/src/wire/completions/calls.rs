//! Tool calls in pieces: which piece belongs to which call.
//!
//! The format says `index`. In practice it can be missing, or zero for every call; ids can be
//! missing, late, or new in every piece. The rules here put together what belongs together for
//! all servers seen so far, and never look at more than the piece and the call's state.

use pi_protocol::{AssistantBlock, MessageBuilder, ToolCall};

use super::chunk::{CallDelta, said};
use super::signature;
use super::tools::GrammarTools;
use crate::wire::ids;

/// The argument of a custom tool that nobody declared.
const DEFAULT_ARGUMENT: &str = "input";

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    grammar_tools: GrammarTools,
}

/// A call that is being received.
#[derive(Debug)]
struct Slot {
    /// Its content index in the message.
    content: usize,
    /// Its index on the wire.
    index: Option<u64>,
    input: Input,
}

/// How the arguments come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// As JSON text.
    Json,
    /// As bare text, nothing of which has come yet.
    CustomUnopened,
    /// As bare text; the JSON string around it is open.
    CustomOpen,
}

impl Calls {
    /// No calls yet; `grammar_tools` says what the input of custom tools stands for.
    pub(super) fn new(grammar_tools: GrammarTools) -> Self {
        Self { slots: Vec::new(), grammar_tools }
    }

    /// There are none.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes in the pieces that came together.
    pub(super) fn add(&mut self, deltas: &[CallDelta<'_>], out: &mut MessageBuilder) {
        for (place, delta) in deltas.iter().enumerate() {
            self.add_one(delta, (deltas.len() > 1).then_some(place), out);
        }
    }

    /// Takes in a piece; `place` is its place among several.
    fn add_one(&mut self, delta: &CallDelta<'_>, place: Option<usize>, out: &mut MessageBuilder) {
        let (id, name) = (said(&delta.id), name_in(delta));
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
            && let Some(arguments) = said(&function.arguments)
        {
            out.delta(slot.content, arguments);
        }
        if let Some(custom) = &delta.custom {
            if slot.input == Input::Json {
                slot.input = Input::CustomUnopened;
            }
            if let Some(input) = said(&custom.input) {
                slot.open(&self.grammar_tools, out);
                out.delta(slot.content, &escaped(input));
            }
        }
    }

    /// The call that a piece belongs to; `None` if it begins a new one.
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
                // A server that counts only once it goes on counts the calls it began.
                return is_bare.then(|| self.uncounted(number)).flatten();
            };
            return (!self.is_next_call(at, id, name, out)).then_some(at);
        }
        match id {
            Some(id) => self
                .slots
                .iter()
                .rposition(|slot| call_at(slot.content, out).is_some_and(|call| call.id == id)),
            // Without id and index, a name begins a call and anything else continues the last.
            None if name.is_some() => None,
            // Several such pieces at once are each for the call at the same place.
            None => place
                .filter(|place| *place < self.slots.len())
                .or_else(|| self.slots.len().checked_sub(1)),
        }
    }

    /// The call with this number, if it began without one.
    fn uncounted(&self, number: u64) -> Option<usize> {
        let at = usize::try_from(number).ok()?;
        self.slots.get(at).is_some_and(|slot| slot.index.is_none()).then_some(at)
    }

    /// A piece with the index of a call, but another id and a name of its own, begins the next
    /// call, if the arguments of the one before can be complete.
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

    /// The answer is complete: closes what is open and gives every call an id.
    pub(super) fn finish(&mut self, out: &mut MessageBuilder) {
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if slot.input != Input::Json {
                slot.open(&self.grammar_tools, out);
                out.delta(slot.content, "\"}");
                slot.input = Input::Json;
            }
            if call_at(slot.content, out).is_some_and(|call| call.id.is_empty()) {
                let response = out.message().response_id.as_deref().unwrap_or_default();
                let id = format!("call_{}_{number}", ids::short_hash(response));
                if let Some(call) = call_at_mut(slot.content, out) {
                    call.id = id;
                }
            }
        }
    }
}

impl Slot {
    /// Opens the JSON string that bare text goes into.
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
    let function = delta.function.as_ref().and_then(|function| said(&function.name));
    function.or_else(|| delta.custom.as_ref().and_then(|custom| said(&custom.name)))
}

/// Fills in id and name where they come late, or the name in pieces.
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

/// `text` as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}
