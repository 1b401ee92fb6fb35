//! Decodes the stream: output items that grow, then one terminal event with the whole response.
//!
//! The deltas of an item are provisional, the item at its end is authoritative, and the response at
//! the end of the stream completes the items (Azure sends the encrypted reasoning only there). The
//! first terminal event ends the answer; later events are ignored.

use std::collections::HashMap;
use std::sync::Arc;

use pi_protocol::{AssistantBlock, MessageBuilder, Model, StopReason, json};
use pi_web::sse::SseEvent;
use serde_json::Value;

use super::compat::is_chatgpt_sign_in;
use super::custom::{self, CustomInput};
use super::event::Event;
use super::ids::{TextSignature, join_call_id};
use super::item::{Item, ItemKind};
use super::slots::{Address, Slot, Slots};
use super::{terminal, tools, usage};
use crate::wire::{Call, EventDecoder, StreamError};

const PART_BREAK: &str = "\n\n";

/// Decoder of the answer to one call.
#[derive(Debug)]
pub(in crate::wire) struct ResponsesDecoder {
    model: Arc<Model>,
    /// The requested service tier, for servers that do not report the tier that they used.
    requested_tier: Option<String>,
    /// Name of the only argument of every grammar tool.
    grammar_arguments: HashMap<String, String>,
    slots: Slots,
}

impl EventDecoder for ResponsesDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
        let data = event.data.trim();
        if matches!(data, "" | "[DONE]" | "null") {
            return Ok(());
        }
        match Event::read(data) {
            Ok(parsed) => self.read(&parsed, event.name, data, out),
            Err(error) => {
                let repaired = json::repair(data);
                let parsed = Event::read(&repaired)
                    .map_err(|_| StreamError::malformed("event", &error, data))?;
                self.read(&parsed, event.name, &repaired, out)
            }
        }
    }

    fn end(&mut self, _out: &mut MessageBuilder) -> Result<(), StreamError> {
        Err(StreamError::Truncated(
            "OpenAI Responses stream ended before a terminal response event",
        ))
    }
}

impl ResponsesDecoder {
    /// Creates a decoder for the answer to `call`.
    pub(in crate::wire) fn new(call: &Call) -> Self {
        let tier = call.options.sampling_params.get("service_tier").and_then(Value::as_str);
        // A ChatGPT subscription has no tiers, so none was requested.
        let has_tiers = !is_chatgpt_sign_in(call) && call.model.api != "openai-codex-responses";
        let tier = tier.filter(|_| has_tiers);
        Self {
            model: Arc::clone(&call.model),
            requested_tier: tier.map(str::to_owned),
            grammar_arguments: tools::grammar_arguments(&call.messages),
            slots: Slots::default(),
        }
    }

    fn read(
        &mut self,
        event: &Event<'_>,
        name: Option<&str>,
        data: &str,
        out: &mut MessageBuilder,
    ) -> Result<(), StreamError> {
        let address = Address::of(event);
        let kind = if event.kind.is_empty() { name.unwrap_or_default() } else { &event.kind };
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                let slot = self.slot(ItemKind::Message, address, out);
                out.delta(slot.content_index, &event.delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let slot = self.slot(ItemKind::Reasoning, address, out);
                if std::mem::take(&mut slot.part_ended) {
                    out.delta(slot.content_index, PART_BREAK);
                }
                out.delta(slot.content_index, &event.delta);
            }
            "response.reasoning_summary_part.done" => {
                let slot = self.slot(ItemKind::Reasoning, address, out);
                slot.part_ended = !thinking_of(out, slot).is_empty();
            }
            "response.function_call_arguments.delta" => {
                if let Some(slot) = self.slots.find(ItemKind::Function, address) {
                    out.delta(slot.content_index, &event.delta);
                }
            }
            "response.function_call_arguments.done" => {
                if let Some(slot) = self.slots.find(ItemKind::Function, address)
                    && !event.arguments.is_empty()
                {
                    out.complete_arguments(slot.content_index, &event.arguments);
                }
            }
            "response.custom_tool_call_input.delta" => {
                if let Some(slot) = self.slots.find(ItemKind::Custom, address) {
                    custom::delta(slot, &event.delta, out);
                }
            }
            "response.custom_tool_call_input.done" => {
                if let Some(slot) = self.slots.find(ItemKind::Custom, address) {
                    custom::whole(slot, &event.input, out);
                }
            }
            "response.output_item.added" => {
                let whole = parse(data)?;
                let item = Item(whole.get("item").unwrap_or(&Value::Null));
                self.item_added(item, event.output_index, out);
            }
            "response.output_item.done" => {
                let whole = parse(data)?;
                let item = Item(whole.get("item").unwrap_or(&Value::Null));
                self.item_done(item, event.output_index, out);
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                let whole = parse(data)?;
                record_metadata(whole.get("response").unwrap_or(&Value::Null), out);
            }
            "response.completed"
            | "response.incomplete"
            | "response.done"
            | "response.failed"
            | "response.cancelled" => {
                let whole = parse(data)?;
                self.finish(kind, whole.get("response").unwrap_or(&Value::Null), out)?;
            }
            "error" => return Err(terminal::stream_error(&parse(data)?)),
            // Gateways send a bare error object in place of an event.
            "" => {
                let whole = parse(data)?;
                if whole.get("error").is_some_and(|error| !error.is_null()) {
                    return Err(terminal::stream_error(&whole));
                }
            }
            // Progress of the server's own tools, annotations, unknown events.
            _ => {}
        }
        Ok(())
    }

    /// Returns the slot of a text or reasoning item; opens one if the server did not announce it.
    fn slot(
        &mut self,
        kind: ItemKind,
        address: Address<'_>,
        out: &mut MessageBuilder,
    ) -> &mut Slot {
        self.slots.find_or_open(kind, address, || match kind {
            ItemKind::Reasoning => out.thinking_start(),
            _ => out.text_start(),
        })
    }

    fn item_added(&mut self, item: Item<'_>, output_index: Option<u64>, out: &mut MessageBuilder) {
        let Some(kind) = item.kind() else { return };
        let address = Address { output_index, item_id: item.text("id") };
        let slot = match kind {
            ItemKind::Message => Slot::new(kind, out.text_start(), address),
            ItemKind::Reasoning => Slot::new(kind, out.thinking_start(), address),
            ItemKind::Function | ItemKind::Custom => {
                let id = join_call_id(item.text("call_id"), item.text("id"));
                let content_index = out.tool_call_start(id, item.text("name"));
                Slot::new(kind, content_index, address)
            }
        };
        let slot = self.slots.push(slot);
        match kind {
            ItemKind::Function => {
                set_namespace(item, slot, out);
                if let Some(arguments) = item.some_text("arguments") {
                    out.delta(slot.content_index, arguments);
                }
            }
            ItemKind::Custom => {
                set_namespace(item, slot, out);
                let argument = self.grammar_arguments.get(item.text("name"));
                slot.custom = Some(CustomInput::new(argument.map(String::as_str)));
                if let Some(input) = item.some_text("input") {
                    custom::delta(slot, input, out);
                }
            }
            ItemKind::Message | ItemKind::Reasoning => {}
        }
    }

    /// Handles the end of an item.
    fn item_done(&mut self, item: Item<'_>, output_index: Option<u64>, out: &mut MessageBuilder) {
        let Some(kind) = item.kind() else { return };
        let address = Address { output_index, item_id: item.text("id") };
        if self.slots.find(kind, address).is_none_or(|slot| slot.done) {
            self.item_added(item, output_index, out);
        }
        let Some(slot) = self.slots.find(kind, address) else { return };
        slot.done = true;
        match kind {
            ItemKind::Message => {
                complete_text(out, slot.content_index, &item.message_text());
                let signature = TextSignature::write(item.text("id"), item.some_text("phase"));
                if let Some(AssistantBlock::Text(text)) = block(out, slot) {
                    text.text_signature = signature;
                }
            }
            ItemKind::Reasoning => {
                complete_text(out, slot.content_index, &item.thinking());
                if let Some(AssistantBlock::Thinking(thinking)) = block(out, slot) {
                    thinking.thinking_signature = Some(item.0.to_string());
                }
            }
            ItemKind::Function => {
                set_namespace(item, slot, out);
                if let Some(arguments) = item.some_text("arguments") {
                    out.complete_arguments(slot.content_index, arguments);
                }
            }
            ItemKind::Custom => {
                set_namespace(item, slot, out);
                custom::whole(slot, item.text("input"), out);
                custom::end(slot, out);
            }
        }
        out.end(slot.content_index);
    }

    /// Handles the whole response at the end of the stream.
    fn finish(
        &mut self,
        kind: &str,
        response: &Value,
        out: &mut MessageBuilder,
    ) -> Result<(), StreamError> {
        record_metadata(response, out);
        let output =
            response.get("output").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        self.complete_items(output, out);
        self.fill_in_encrypted_reasoning(output, out);
        let tier = response.get("service_tier").and_then(Value::as_str);
        let tier = tier.or(self.requested_tier.as_deref());
        out.message_mut().usage = usage::read(response.get("usage"), tier, &self.model);
        out.message_mut().end_turn = response.get("end_turn").and_then(Value::as_bool);
        let ending = terminal::ending(kind, response);
        out.message_mut().raw_stop_reason = ending.raw;
        let reason = match ending.reason? {
            StopReason::Stop if out.message().tool_calls().next().is_some() => StopReason::ToolUse,
            reason => reason,
        };
        if reason == StopReason::ToolUse {
            self.reject_unfinished_calls(out)?;
        }
        out.finish(reason);
        Ok(())
    }

    /// Completes items from the response if their end did not arrive. Servers that do not stream
    /// send all items there.
    fn complete_items(&mut self, output: &[Value], out: &mut MessageBuilder) {
        let nothing_streamed = self.slots.is_empty();
        for (index, item) in output.iter().enumerate() {
            let item = Item(item);
            let Some(kind) = item.kind() else { continue };
            let output_index = u64::try_from(index).ok();
            let by_index = Address { output_index, item_id: item.text("id") };
            let by_id = Address { output_index: None, item_id: item.text("id") };
            let is_open = |slot: &mut Slot| !slot.done;
            if nothing_streamed || self.slots.find(kind, by_index).is_some_and(is_open) {
                self.item_done(item, output_index, out);
            } else if self.slots.find(kind, by_id).is_some_and(is_open) {
                self.item_done(item, None, out);
            }
        }
    }

    fn fill_in_encrypted_reasoning(&self, output: &[Value], out: &mut MessageBuilder) {
        for slot in self.slots.iter().filter(|slot| slot.kind == ItemKind::Reasoning) {
            let Some(AssistantBlock::Thinking(thinking)) = block(out, slot) else { continue };
            let stored = thinking.thinking_signature.as_deref().unwrap_or_default();
            let Ok(mut stored) = serde_json::from_str::<Value>(stored) else { continue };
            if Item(&stored).some_text("encrypted_content").is_some() {
                continue;
            }
            let same = |item: &&Value| {
                let (item, stored) = (Item(item), Item(&stored));
                item.kind() == Some(ItemKind::Reasoning)
                    && item.some_text("id").is_some_and(|id| id == stored.text("id"))
            };
            let whole = output.iter().find(same).map(Item);
            if let Some(encrypted) = whole.and_then(|item| item.some_text("encrypted_content")) {
                stored["encrypted_content"] = Value::from(encrypted);
                thinking.thinking_signature = Some(stored.to_string());
            }
        }
    }

    /// Rejects a call without an end: it must not be run, even if its arguments look complete.
    fn reject_unfinished_calls(&self, out: &mut MessageBuilder) -> Result<(), StreamError> {
        let is_call = |slot: &&Slot| matches!(slot.kind, ItemKind::Function | ItemKind::Custom);
        let unfinished = self.slots.iter().filter(is_call).find(|slot| !slot.done);
        match unfinished.and_then(|slot| block(out, slot)) {
            Some(AssistantBlock::ToolCall(call)) => Err(StreamError::Provider(format!(
                "OpenAI Responses stream completed with an unfinished tool call: {} ({})",
                call.name, call.id
            ))),
            _ => Ok(()),
        }
    }
}

fn parse(data: &str) -> Result<Value, StreamError> {
    json::from_str_repairing(data).map_err(|error| StreamError::malformed("event", &error, data))
}

/// Records the metadata of a response.
fn record_metadata(response: &Value, out: &mut MessageBuilder) {
    let response = Item(response);
    let message = out.message_mut();
    if let Some(id) = response.some_text("id") {
        message.response_id = Some(id.to_owned());
    }
    if let Some(model) = response.some_text("model") {
        message.response_model = Some(model.to_owned()).filter(|model| *model != message.model);
    }
}

fn block<'a>(out: &'a mut MessageBuilder, slot: &Slot) -> Option<&'a mut AssistantBlock> {
    out.message_mut().content.get_mut(slot.content_index)
}

fn thinking_of<'a>(out: &'a mut MessageBuilder, slot: &Slot) -> &'a str {
    match block(out, slot) {
        Some(AssistantBlock::Thinking(thinking)) => &thinking.thinking,
        _ => "",
    }
}

fn set_namespace(item: Item<'_>, slot: &Slot, out: &mut MessageBuilder) {
    if let Some(AssistantBlock::ToolCall(call)) = block(out, slot)
        && let Some(namespace) = item.some_text("namespace")
    {
        call.namespace = Some(namespace.to_owned());
    }
}

/// Takes the complete text of a block: text that extends the block becomes a delta, text that
/// contradicts it replaces it, and empty text is ignored.
pub(in crate::wire) fn complete_text(out: &mut MessageBuilder, content_index: usize, whole: &str) {
    let so_far = match out.message_mut().content.get_mut(content_index) {
        Some(AssistantBlock::Text(text)) => &mut text.text,
        Some(AssistantBlock::Thinking(thinking)) => &mut thinking.thinking,
        _ => return,
    };
    match whole.strip_prefix(so_far.as_str()) {
        Some("") => {}
        Some(rest) => out.delta(content_index, rest),
        None if whole.is_empty() => {}
        None => whole.clone_into(so_far),
    }
}
