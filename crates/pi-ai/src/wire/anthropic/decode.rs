//! Decodes Anthropic's stream events.
//!
//! Blocks are keyed by the provider's index, since they may overlap and since blocks that the
//! message leaves out (server tools, compaction) have indices too.

use pi_protocol::{
    AssistantBlock, MessageBuilder, Model, ModelCost, StopReason, ThinkingContent, Usage, json,
};
use pi_web::sse::SseEvent;
use serde_json::Value;

use super::compat::Compat;
use super::event::{Block, Delta, Event, OutputDetails, Started, Tokens};
use crate::wire::text::Text;
use crate::wire::{EventDecoder, StreamError};

const REDACTED: &str = "[Reasoning redacted]";

pub(super) struct Events {
    model: String,
    prices: ModelCost,
    /// Prices of models that may answer instead.
    fallback_prices: Vec<(String, ModelCost)>,
    /// Provider index and content index of each block.
    blocks: Vec<(u64, usize)>,
    /// Input of a call in its start event, used if no input is streamed.
    initial_input: Vec<(usize, String)>,
    stop: Option<(StopReason, Option<String>)>,
    message_started: bool,
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
        match serde_json::from_str::<Event<'_>>(event.data) {
            Ok(parsed) => self.on_event(parsed, event.data, out),
            Err(error) => {
                let repaired = json::repair(event.data);
                match serde_json::from_str::<Event<'_>>(&repaired) {
                    Ok(parsed) => self.on_event(parsed, event.data, out),
                    // An error of a proxy, which is not an event of this API.
                    Err(_) if event.name == Some("error") => {
                        Err(StreamError::Provider(event.data.to_owned()))
                    }
                    Err(_) => Err(StreamError::malformed("Anthropic event", &error, event.data)),
                }
            }
        }
    }

    fn end(&mut self, _out: &mut MessageBuilder) -> Result<(), StreamError> {
        Err(StreamError::Truncated(if self.message_started {
            "Anthropic stream ended before message_stop"
        } else {
            "Anthropic stream ended without a stop reason"
        }))
    }
}

impl Events {
    pub(super) fn new(model: &Model) -> Self {
        let fallbacks = Compat::of(model).allowed_fallback_models;
        Self {
            model: model.id.clone(),
            prices: model.cost.clone(),
            fallback_prices: fallbacks.into_iter().map(|m| (m.model, m.cost)).collect(),
            blocks: Vec::new(),
            initial_input: Vec::new(),
            stop: None,
            message_started: false,
        }
    }

    fn on_event(
        &mut self,
        event: Event<'_>,
        data: &str,
        out: &mut MessageBuilder,
    ) -> Result<(), StreamError> {
        match &*event.kind {
            "content_block_delta" => {
                if let (Some(index), Some(delta)) = (self.block(event.index), event.delta) {
                    on_delta(index, &delta, out);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.start_block(event.index, block, out)?;
                }
            }
            "content_block_stop" => {
                if let Some(index) = self.block(event.index) {
                    self.end_block(index, out);
                }
            }
            "message_start" => {
                self.message_started = true;
                if let Some(message) = event.message {
                    self.start_message(message, out)?;
                }
            }
            "message_delta" => {
                if let Some(tokens) = event.usage {
                    self.count(&tokens, out);
                }
                if let Some(delta) = event.delta
                    && let Some(reason) = delta.stop_reason
                {
                    let explanation = delta.stop_details.and_then(|details| details.explanation);
                    self.set_stop(&reason, explanation, out);
                }
            }
            "message_stop" => self.stop(out)?,
            "error" => return Err(StreamError::Provider(data.to_owned())),
            // `ping`, and events that this version does not know.
            _ => {}
        }
        Ok(())
    }

    fn block(&self, provider_index: u64) -> Option<usize> {
        // The block is nearly always the last one.
        self.blocks.iter().rev().find(|(index, _)| *index == provider_index).map(|(_, own)| *own)
    }

    fn start_message(
        &mut self,
        message: Started<'_>,
        out: &mut MessageBuilder,
    ) -> Result<(), StreamError> {
        // A proxy retried the request. The first message was abandoned in the middle: half a call
        // must not be run, and it is unknown which of the two answers counts.
        let known = out.message().response_id.as_deref();
        if known.is_some_and(|id| message.id.as_deref().is_some_and(|new| *new != *id))
            && !out.message().content.is_empty()
        {
            return Err(StreamError::Truncated(
                "Anthropic stream ended before message_stop: another message began",
            ));
        }
        if let Some(id) = message.id {
            out.message_mut().response_id = Some(id.to_string());
        }
        if let Some(model) = message.model {
            self.set_model(&model, out);
        }
        if let Some(tokens) = message.usage {
            self.count(&tokens, out);
        }
        for (provider_index, block) in message.content.into_iter().flatten().enumerate() {
            self.start_block(provider_index as u64, block, out)?;
        }
        if let Some(reason) = message.stop_reason {
            self.set_stop(&reason, None, out);
        }
        Ok(())
    }

    /// Records the model that answers, which may differ from the requested one.
    fn set_model(&mut self, model: &str, out: &mut MessageBuilder) {
        if model == self.model {
            return;
        }
        if let Some((_, prices)) = self.fallback_prices.iter().find(|(id, _)| id == model) {
            self.prices = prices.clone();
        }
        out.message_mut().response_model = Some(model.to_owned());
    }

    fn set_stop(&mut self, reason: &str, explanation: Option<String>, out: &mut MessageBuilder) {
        out.message_mut().raw_stop_reason = Some(reason.to_owned());
        self.stop = Some(stop_reason(reason, explanation));
    }

    fn start_block(
        &mut self,
        provider_index: u64,
        block: Block<'_>,
        out: &mut MessageBuilder,
    ) -> Result<(), StreamError> {
        let index = match &*block.kind {
            "text" => {
                let index = out.text_start();
                if let Some(text) = not_empty(block.text) {
                    out.delta(index, &text);
                }
                index
            }
            "thinking" => {
                let index = out.thinking_start();
                if let Some(thinking) = not_empty(block.thinking) {
                    out.delta(index, &thinking);
                }
                if let Some(signature) = not_empty(block.signature) {
                    add_signature(index, &signature, out);
                }
                index
            }
            "redacted_thinking" => out.thinking_start_with(ThinkingContent {
                thinking: REDACTED.to_owned(),
                thinking_signature: Some(block.data.unwrap_or_default().to_string()),
                redacted: true,
                ..ThinkingContent::default()
            }),
            "tool_use" => {
                let id = block.id.unwrap_or_default();
                let index = out.tool_call_start(&*id, &*block.name.unwrap_or_default());
                if let Some(input) = block.input.filter(|input| !is_empty_object(input)) {
                    self.initial_input.push((index, input.to_string()));
                }
                index
            }
            // Another model takes over. Before any content, it is simply the model that answers.
            "fallback" if out.message().content.is_empty() => {
                if let Some(model) = block.to.and_then(|to| to.model) {
                    self.set_model(&model, out);
                }
                return Ok(());
            }
            "fallback" => {
                let text = "Anthropic performed an unsupported mid-output model fallback";
                return Err(StreamError::Provider(text.to_owned()));
            }
            // Server tools, their results and compaction are of no use to a reader of the
            // transcript or to another model.
            _ => return Ok(()),
        };
        self.blocks.push((provider_index, index));
        Ok(())
    }

    fn end_block(&mut self, index: usize, out: &mut MessageBuilder) {
        if let Some(at) = self.initial_input.iter().position(|(block, _)| *block == index) {
            let (_, input) = self.initial_input.swap_remove(at);
            if out.argument_text(index).is_some_and(str::is_empty) {
                out.delta(index, &input);
            }
        }
        out.end(index);
    }

    /// Records the counts that are present: proxies send `null` for unknown ones.
    fn count(&self, tokens: &Tokens, out: &mut MessageBuilder) {
        let usage: &mut Usage = &mut out.message_mut().usage;
        if let Some(input) = tokens.input_tokens {
            usage.input = input;
        }
        if let Some(output) = tokens.output_tokens {
            usage.output = output;
        }
        if let Some(read) = tokens.cache_read_input_tokens {
            usage.cache_read = read;
        }
        if let Some(written) = tokens.cache_creation_input_tokens {
            usage.cache_write = written;
        }
        let hour = tokens.cache_creation.as_ref().and_then(|c| c.ephemeral_1h_input_tokens);
        usage.cache_write_1h = Some(hour.or(usage.cache_write_1h).unwrap_or(0));
        if let Some(OutputDetails { thinking_tokens: Some(thinking) }) =
            tokens.output_tokens_details
        {
            usage.reasoning = Some(thinking);
        }
        usage.sum_total();
        usage.price(&self.prices);
    }

    fn stop(&mut self, out: &mut MessageBuilder) -> Result<(), StreamError> {
        match self.stop.take() {
            None => Err(StreamError::Truncated("Anthropic stream ended without a stop reason")),
            Some((StopReason::Error, text)) => {
                out.fail(StopReason::Error, text.unwrap_or_default());
                Ok(())
            }
            Some((reason, _)) => {
                // Some proxies do not end the last block.
                for (_, index) in std::mem::take(&mut self.blocks) {
                    if out.is_open(index) {
                        self.end_block(index, out);
                    }
                }
                out.finish(reason);
                Ok(())
            }
        }
    }
}

fn on_delta(index: usize, delta: &Delta<'_>, out: &mut MessageBuilder) {
    let more = match delta.kind.as_deref() {
        Some("text_delta") => &delta.text,
        Some("thinking_delta") => &delta.thinking,
        Some("input_json_delta") => &delta.partial_json,
        Some("signature_delta") => {
            if let Some(signature) = &delta.signature {
                add_signature(index, signature, out);
            }
            return;
        }
        _ => return,
    };
    if let Some(more) = more {
        out.delta(index, more);
    }
}

fn add_signature(index: usize, signature: &str, out: &mut MessageBuilder) {
    if let Some(AssistantBlock::Thinking(thinking)) = out.message_mut().content.get_mut(index) {
        thinking.thinking_signature.get_or_insert_default().push_str(signature);
    }
}

fn not_empty(text: Option<Text<'_>>) -> Option<Text<'_>> {
    text.filter(|text| !text.is_empty())
}

fn is_empty_object(value: &Value) -> bool {
    value.as_object().is_none_or(serde_json::Map::is_empty)
}

/// Maps a stop reason of the provider; a failure comes with its text.
fn stop_reason(reason: &str, explanation: Option<String>) -> (StopReason, Option<String>) {
    let failure = |text: String| (StopReason::Error, Some(text));
    match reason {
        "end_turn" | "pause_turn" | "stop_sequence" => (StopReason::Stop, None),
        "max_tokens" => (StopReason::Length, None),
        "tool_use" => (StopReason::ToolUse, None),
        "refusal" => failure(
            explanation.unwrap_or_else(|| "The model refused to complete the request".to_owned()),
        ),
        "sensitive" => failure("Provider stopped with: sensitive".to_owned()),
        other => failure(format!("Unhandled stop reason: {other}")),
    }
}

#[cfg(test)]
mod tests;
