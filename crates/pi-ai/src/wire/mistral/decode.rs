//! Decodes the chunks of an answer.
//!
//! Text and thinking may alternate; each change begins a new block. The answer is complete when the
//! server has sent a finish reason.

use std::sync::Arc;

use pi_protocol::{MessageBuilder, Model, StopReason, json};
use pi_web::sse::SseEvent;
use serde_json::Value;

use super::chunk::{Choice, Chunk, Delta, Piece, pieces};
use super::ids;
use crate::wire::completions::{self, CallDelta, Calls, non_empty};
use crate::wire::{Call, EventDecoder, StreamError};

/// The decoder of one answer.
#[derive(Debug)]
pub(super) struct MistralDecoder {
    model: Arc<Model>,
    /// The block that text or thinking continues.
    open: Option<Open>,
    calls: Calls,
    finish: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Text(usize),
    Thinking(usize),
}

impl MistralDecoder {
    /// Creates a decoder for the answer to `call`.
    pub(super) fn new(call: &Call) -> Self {
        Self { model: Arc::clone(&call.model), open: None, calls: Calls::default(), finish: None }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut MessageBuilder) {
        completions::identify(non_empty(&chunk.id), non_empty(&chunk.model), &self.model, out);
        if let Some(report) = chunk.usage
            && let Some(usage) = completions::read_usage(report.get(), &self.model.cost, false)
        {
            out.message_mut().usage = usage;
        }
        if let Some(choice) = chunk.choices.and_then(|choices| choices.0) {
            self.choice(choice, out);
        }
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut MessageBuilder) {
        if let Some(delta) = choice.delta {
            self.delta(delta, out);
        }
        if let Some(reason) = non_empty(&choice.finish_reason) {
            out.message_mut().raw_stop_reason = Some(reason.to_owned());
            self.finish = Some(reason.to_owned());
        }
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut MessageBuilder) {
        if let Some(thinking) = non_empty(&delta.reasoning_content) {
            self.piece(&Piece::Thinking(thinking.to_owned()), out);
        }
        for piece in delta.content.map(pieces).unwrap_or_default() {
            self.piece(&piece, out);
        }
        let Some(mut calls) = delta.tool_calls.filter(|calls| !calls.is_empty()) else { return };
        self.end_open(out);
        calls.iter_mut().for_each(drop_null_id);
        self.calls.add(&calls, out);
    }

    fn piece(&mut self, piece: &Piece, out: &mut MessageBuilder) {
        let (index, text) = match (piece, self.open) {
            (Piece::Text(text), Some(Open::Text(index)))
            | (Piece::Thinking(text), Some(Open::Thinking(index))) => (index, text),
            (Piece::Text(text), _) => {
                self.end_open(out);
                let index = out.text_start();
                self.open = Some(Open::Text(index));
                (index, text)
            }
            (Piece::Thinking(text), _) => {
                self.end_open(out);
                let index = out.thinking_start();
                self.open = Some(Open::Thinking(index));
                (index, text)
            }
        };
        out.delta(index, text);
    }

    fn end_open(&mut self, out: &mut MessageBuilder) {
        if let Some(Open::Text(index) | Open::Thinking(index)) = self.open.take() {
            out.end(index);
        }
    }

    /// Completes the answer after `[DONE]` or the end of the body.
    fn complete(&mut self, out: &mut MessageBuilder) -> Result<(), StreamError> {
        self.end_open(out);
        let response = out.message().response_id.clone().unwrap_or_default();
        // Calls are sent back under their ids, which must be valid and unique in the conversation.
        self.calls.finish(out, &|number| ids::derive(&format!("{response}{number}"), 1));
        let reason = match self.finish.as_deref() {
            Some("stop") if !self.calls.is_empty() => StopReason::ToolUse,
            Some("stop") => StopReason::Stop,
            Some("length" | "model_length") => StopReason::Length,
            Some("tool_calls") => StopReason::ToolUse,
            other => {
                out.end_all();
                return Err(match other {
                    // The words by which a transient failure is recognized.
                    Some("error") => StreamError::Provider(
                        "Provider stopped with: error (server error)".to_owned(),
                    ),
                    Some(other) => StreamError::Provider(format!("Provider stopped with: {other}")),
                    None => StreamError::Truncated("Mistral stream ended without a finish reason"),
                });
            }
        };
        out.finish(reason);
        Ok(())
    }
}

/// Removes an id that is the word `null`, which the server sends if it has none.
fn drop_null_id(call: &mut CallDelta<'_>) {
    if call.id.as_deref() == Some("null") {
        call.id = None;
    }
}

impl EventDecoder for MistralDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.complete(out);
        }
        match serde_json::from_str::<Chunk<'_>>(data) {
            Ok(chunk) if chunk.choices.is_some() => self.chunk(chunk, out),
            _ => {
                let malformed =
                    |error: serde_json::Error| StreamError::malformed("a chunk", &error, data);
                let value = json::from_str_repairing::<Value>(data).map_err(malformed)?;
                if let Some(error) = error_in(&value) {
                    return Err(StreamError::Provider(error));
                }
                let Some(repaired) = completions::repaired(value) else { return Ok(()) };
                self.chunk(serde_json::from_str(&repaired).map_err(malformed)?, out);
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut MessageBuilder) -> Result<(), StreamError> {
        self.complete(out)
    }
}

/// Returns the text of an error in place of a chunk.
fn error_in(value: &Value) -> Option<String> {
    let is_error = value.get("error").is_some_and(|error| !error.is_null())
        || value.get("object").is_some_and(|object| object == "error");
    is_error.then(|| completions::error_text(&value.to_string())).flatten()
}
