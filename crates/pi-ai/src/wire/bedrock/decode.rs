//! Decodes the stream: frames, then events.
//!
//! Blocks are keyed by the provider's index. A text or reasoning block begins with its first delta;
//! only calls have a start event. The answer is complete when a stop reason has been seen; token
//! counts follow it.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_protocol::{AssistantBlock, MessageBuilder, ModelCost, ProviderEventHook, StopReason};

use super::event::{Delta, Event, Reasoning, Start, Tokens};
use super::failure::{REQUEST_ID, ServiceError};
use super::frame::Frames;
use crate::hooks;
use crate::wire::document::Document;
use crate::wire::{Call, Decoder, Headers, StreamError};

const REDACTED: &str = "[Reasoning redacted]";

/// The greatest first byte of an event stream: frames begin with their length.
const MAX_FIRST_BYTE: u8 = 1;

/// Decoder of one answer.
pub(super) struct Body {
    frames: Frames,
    events: Events,
    on_event: Option<Arc<ProviderEventHook>>,
    headers: Headers,
    kind: Kind,
}

/// The kind of the body.
enum Kind {
    Unknown,
    Events,
    /// A document, so far: a login page, an error as plain JSON.
    Document(Document),
}

impl Body {
    /// Creates a decoder for the answer to `call`.
    pub(super) fn new(call: &Call) -> Self {
        Self {
            frames: Frames::default(),
            events: Events { prices: call.model.cost.clone(), blocks: Vec::new(), stop: None },
            on_event: call.options.hooks.on_provider_event.clone(),
            headers: Headers::new(),
            kind: Kind::Unknown,
        }
    }

    fn fail(&self, mut error: ServiceError, out: &mut MessageBuilder) {
        // Damage after a complete answer in the same chunk.
        if out.is_finished() {
            return;
        }
        error.request_id = self.headers.get(REQUEST_ID).map(str::to_owned);
        let time = out.message().timestamp;
        out.message_mut().diagnostics.push(error.diagnostic(time));
        out.fail(StopReason::Error, error.text());
    }

    fn events(&mut self, bytes: &[u8], out: &mut MessageBuilder) -> Result<(), ServiceError> {
        let Self { frames, events, on_event, .. } = self;
        frames.push(bytes, |frame| {
            if out.is_finished() {
                return Ok(());
            }
            match frame.header(":message-type")?.as_deref() {
                Some("event") => {}
                _ => return Err(ServiceError::of_frame(frame)),
            }
            let kind = frame.header(":event-type")?.unwrap_or_default();
            let text = String::from_utf8_lossy(frame.payload);
            if let Some(hook) = on_event {
                let event = format!("{{\"{kind}\":{text}}}");
                hooks::call_sync("on_provider_event", || hook(&event))
                    .map_err(StreamError::from)?;
            }
            events.event(&kind, &text, out)
        })
    }
}

impl Decoder for Body {
    fn head(&mut self, headers: &Headers) {
        self.headers = headers.clone();
    }

    fn push(&mut self, bytes: &[u8], out: &mut MessageBuilder) {
        let Some(first) = bytes.first().filter(|_| !out.is_finished()) else { return };
        if matches!(self.kind, Kind::Unknown) {
            let is_stream = *first <= MAX_FIRST_BYTE;
            self.kind = if is_stream { Kind::Events } else { Kind::Document(Document::default()) };
        }
        match &mut self.kind {
            Kind::Document(document) => {
                if let Some(error) = document.push(bytes) {
                    out.fail(StopReason::Error, error);
                }
            }
            Kind::Unknown | Kind::Events => {
                if let Err(error) = self.events(bytes, out) {
                    self.fail(error, out);
                }
            }
        }
    }

    fn finish(&mut self, out: &mut MessageBuilder) {
        if out.is_finished() {
            return;
        }
        if let Kind::Document(document) = &self.kind {
            return out.fail(StopReason::Error, document.error());
        }
        let end = if self.frames.is_inside_frame() {
            Err(StreamError::Truncated("Bedrock stream ended inside an event").into())
        } else {
            self.events.end(out)
        };
        if let Err(error) = end {
            self.fail(error, out);
        }
    }
}

impl From<StreamError> for ServiceError {
    fn from(error: StreamError) -> Self {
        Self { message: error.to_string(), ..Self::default() }
    }
}

/// The state of an answer.
struct Events {
    prices: ModelCost,
    /// Provider index and content index of each block. Blocks that the message leaves out have no
    /// content index.
    blocks: Vec<(u64, Option<usize>)>,
    stop: Option<String>,
}

impl Events {
    fn event(
        &mut self,
        kind: &str,
        text: &str,
        out: &mut MessageBuilder,
    ) -> Result<(), ServiceError> {
        // Unknown events are ignored before their payload is parsed.
        let known = [
            "contentBlockDelta",
            "contentBlockStart",
            "contentBlockStop",
            "messageStop",
            "metadata",
        ];
        if !known.contains(&kind) {
            return Ok(());
        }
        let event: Event<'_> = serde_json::from_str(text)
            .map_err(|error| StreamError::malformed("Bedrock event", &error, text))?;
        let index = event.content_block_index;
        match kind {
            "contentBlockDelta" => {
                if let Some(delta) = &event.delta {
                    self.delta(index, delta, out)?;
                }
            }
            "contentBlockStart" => {
                if let Some(start) = event.start {
                    self.start(index, start, out);
                }
            }
            "contentBlockStop" => {
                if let Some(Some(own)) = self.block(index) {
                    out.end(own);
                }
            }
            "messageStop" => {
                if let Some(reason) = event.stop_reason {
                    out.message_mut().raw_stop_reason = Some(reason.to_string());
                    self.stop = Some(reason.to_string());
                }
            }
            _ => {
                if let Some(tokens) = &event.usage {
                    self.count(tokens, out);
                }
                // The last event. A server that keeps the connection open must not delay the answer.
                if self.stop.is_some() {
                    self.end(out)?;
                }
            }
        }
        Ok(())
    }

    fn block(&self, provider_index: u64) -> Option<Option<usize>> {
        // The block is nearly always the last one.
        self.blocks.iter().rev().find(|(index, _)| *index == provider_index).map(|(_, own)| *own)
    }

    fn start(&mut self, index: u64, start: Start<'_>, out: &mut MessageBuilder) {
        let Some(call) = start.tool_use else { return };
        // A call that the provider itself answers is of no use to a reader or another model.
        let own = if call.kind.as_deref() == Some("server_tool_use") {
            None
        } else {
            let (id, name) = (call.tool_use_id.unwrap_or_default(), call.name.unwrap_or_default());
            Some(out.tool_call_start(&*id, &*name))
        };
        self.blocks.push((index, own));
    }

    fn delta(
        &mut self,
        index: u64,
        delta: &Delta<'_>,
        out: &mut MessageBuilder,
    ) -> Result<(), ServiceError> {
        if let Some(text) = &delta.text {
            let is_text = |block: &AssistantBlock| matches!(block, AssistantBlock::Text(_));
            let own = self.own_block(index, out, is_text, MessageBuilder::text_start);
            out.delta(own, text);
        }
        if let Some(reasoning) = &delta.reasoning_content {
            let is_thinking = |block: &AssistantBlock| matches!(block, AssistantBlock::Thinking(_));
            let own = self.own_block(index, out, is_thinking, MessageBuilder::thinking_start);
            reason(own, reasoning, out)?;
        }
        if let Some(call) = &delta.tool_use
            && let (Some(Some(own)), Some(input)) = (self.block(index), &call.input)
        {
            out.delta(own, input);
        }
        Ok(())
    }

    /// Returns the block at a provider index. A new one begins with its first part, also if the
    /// block with this index has ended or is of another kind.
    fn own_block(
        &mut self,
        index: u64,
        out: &mut MessageBuilder,
        is_kind: impl Fn(&AssistantBlock) -> bool,
        begin: fn(&mut MessageBuilder) -> usize,
    ) -> usize {
        if let Some(Some(own)) = self.block(index)
            && out.is_open(own)
            && out.message().content.get(own).is_some_and(is_kind)
        {
            return own;
        }
        let own = begin(out);
        self.blocks.push((index, Some(own)));
        own
    }

    fn count(&self, tokens: &Tokens, out: &mut MessageBuilder) {
        let usage = &mut out.message_mut().usage;
        usage.input = tokens.input_tokens.unwrap_or(0);
        usage.output = tokens.output_tokens.unwrap_or(0);
        usage.cache_read = tokens.cache_read_input_tokens.unwrap_or(0);
        usage.cache_write = tokens.cache_write_input_tokens.unwrap_or(0);
        if let Some(details) = &tokens.cache_details {
            let hour = details.iter().filter(|detail| detail.ttl.as_deref() == Some("1h"));
            let hour = hour.filter_map(|detail| detail.input_tokens);
            usage.cache_write_1h = Some(hour.fold(0, u64::saturating_add));
        }
        usage.sum_total();
        if let Some(total) = tokens.total_tokens {
            usage.total_tokens = total;
        }
        usage.price(&self.prices);
    }

    /// Ends the answer.
    fn end(&self, out: &mut MessageBuilder) -> Result<(), ServiceError> {
        let Some(reason) = &self.stop else {
            return Err(StreamError::Truncated("Bedrock stream ended without a stop reason").into());
        };
        out.end_all();
        match reason.as_str() {
            "end_turn" | "stop_sequence" => out.finish(StopReason::Stop),
            "max_tokens" | "model_context_window_exceeded" => out.finish(StopReason::Length),
            "tool_use" => out.finish(StopReason::ToolUse),
            other => {
                return Err(StreamError::Provider(format!("Provider stopped with: {other}")).into());
            }
        }
        Ok(())
    }
}

fn reason(
    own: usize,
    reasoning: &Reasoning<'_>,
    out: &mut MessageBuilder,
) -> Result<(), ServiceError> {
    if let Some(text) = &reasoning.text {
        out.delta(own, text);
    }
    let is_redacted = matches!(
        out.message().content.get(own),
        Some(AssistantBlock::Thinking(thinking)) if thinking.redacted
    );
    if reasoning.redacted_content.is_some() && !is_redacted {
        out.delta(own, REDACTED);
    }
    let Some(AssistantBlock::Thinking(thinking)) = out.message_mut().content.get_mut(own) else {
        return Ok(());
    };
    if let Some(part) = &reasoning.redacted_content {
        let so_far = if is_redacted { thinking.thinking_signature.take() } else { None };
        thinking.redacted = true;
        thinking.thinking_signature = Some(joined(so_far, part)?);
    }
    if let Some(signature) = reasoning.signature.as_ref().filter(|_| !thinking.redacted) {
        thinking.thinking_signature.get_or_insert_default().push_str(signature);
    }
    Ok(())
}

/// Joins two parts of encrypted reasoning, each of which is base64 by itself.
fn joined(so_far: Option<String>, part: &str) -> Result<String, ServiceError> {
    let Some(so_far) = so_far else { return Ok(part.to_owned()) };
    let decoded = |text: &str| {
        STANDARD
            .decode(text)
            .map_err(|error| StreamError::malformed("encrypted reasoning", &error, text))
    };
    let mut bytes = decoded(&so_far)?;
    bytes.extend(decoded(part)?);
    Ok(STANDARD.encode(bytes))
}

pi_protocol::debug_fields!(Body);
