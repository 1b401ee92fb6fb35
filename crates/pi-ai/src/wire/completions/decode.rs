//! Decodes the chunks of an answer.
//!
//! There is one text block and one thinking block per answer, even if text, thinking and calls
//! alternate, since the format accepts them back in this form. Blocks end together with the answer.
//! The answer is complete when the server has sent a finish reason; `[DONE]` or the end of the body
//! only marks the end of the stream (usage comes after the reason).

use std::sync::Arc;

use pi_protocol::{
    AssistantBlock, Declarations, MessageBuilder, Model, StopReason, ThinkingContent, json,
};
use pi_web::sse::SseEvent;
use serde_json::Value;

use super::calls::Calls;
use super::chunk::{Choice, Chunk, Delta, non_empty, repaired};
use super::compat::Compat;
use super::reasoning::{Details, Field};
use super::tools::GrammarTools;
use super::usage;
use crate::wire::{Call, EventDecoder, StreamError, ids};

/// The decoder of one answer.
#[derive(Debug)]
pub(super) struct ChunkDecoder {
    model: Arc<Model>,
    compat: Compat,
    text: Option<usize>,
    thinking: Option<usize>,
    /// True if reasoning arrived as plain text, which the details only repeat.
    has_plain_reasoning: bool,
    details: Details,
    calls: Calls,
    finish: Option<Finish>,
}

/// The finish reason of the server.
#[derive(Debug)]
enum Finish {
    Complete(StopReason),
    /// A failure, with the reason of the server.
    Failed(String),
}

impl ChunkDecoder {
    /// Creates a decoder for the answer to `call`.
    pub(super) fn new(call: &Call) -> Self {
        let compat = Compat::of(&call.model);
        let grammar_tools = if compat.grammar_tools {
            GrammarTools::among(&Declarations::replay(&call.messages).tools, &compat)
        } else {
            GrammarTools::default()
        };
        Self {
            model: Arc::clone(&call.model),
            compat,
            text: None,
            thinking: None,
            has_plain_reasoning: false,
            details: Details::default(),
            calls: Calls::new(grammar_tools),
            finish: None,
        }
    }

    fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        data: &str,
        out: &mut MessageBuilder,
    ) -> Result<(), StreamError> {
        identify(non_empty(&chunk.id), non_empty(&chunk.model), &self.model, out);
        let choice = chunk.choices.as_ref().and_then(|choices| choices.0.as_ref());
        let report = chunk.usage.or_else(|| choice.and_then(|choice| choice.usage));
        if let Some(report) = report
            && let Some(usage) = usage::read(report.get(), &self.model.cost, self.compat.bills)
        {
            out.message_mut().usage = usage;
        }
        if let Some(error) = chunk.error.and_then(|error| error_text(error.get())) {
            return Err(StreamError::Provider(error));
        }
        if chunk.choices.is_none() && non_empty(&chunk.object) == Some("error") {
            // vLLM puts the error object itself into the stream.
            return Err(StreamError::Provider(error_text(data).unwrap_or_default()));
        }
        if let Some(choice) = choice {
            self.choice(choice, out);
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Choice<'_>, out: &mut MessageBuilder) {
        if let Some(delta) = &choice.delta {
            self.delta(delta, out);
        }
        // A later chunk that reports success does not undo a failure.
        if let Some(reason) = non_empty(&choice.finish_reason)
            && !matches!(self.finish, Some(Finish::Failed(_)))
        {
            out.message_mut().raw_stop_reason = Some(reason.to_owned());
            self.finish = Some(Finish::of(reason));
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut MessageBuilder) {
        let fields = [
            (Field::ReasoningContent, &delta.reasoning_content),
            (Field::Reasoning, &delta.reasoning),
            (Field::ReasoningText, &delta.reasoning_text),
        ];
        let plain = fields.into_iter().find_map(|(field, text)| Some((field, non_empty(text)?)));
        if let Some((field, text)) = plain {
            self.has_plain_reasoning = true;
            let index = self.thinking_block(Some(field), out);
            out.delta(index, text);
        }
        if let Some(details) = delta.reasoning_details {
            let shown = self.details.add(details.get());
            if !self.details.is_empty() {
                let index = self.thinking_block(None, out);
                if !self.has_plain_reasoning && !shown.is_empty() {
                    out.delta(index, &shown);
                }
            }
        }
        // A refusal is text of the model in place of an answer.
        for text in [non_empty(&delta.content), non_empty(&delta.refusal)].into_iter().flatten() {
            let index = *self.text.get_or_insert_with(|| out.text_start());
            out.delta(index, text);
        }
        if let Some(calls) = &delta.tool_calls {
            self.calls.add(calls, out);
        }
    }

    /// Returns the thinking block, signed with the name of the field that carries its text.
    fn thinking_block(&mut self, field: Option<Field>, out: &mut MessageBuilder) -> usize {
        let signature = field.map(|field| field.as_sent_to(&self.model.provider).name().to_owned());
        match self.thinking {
            Some(index) => {
                if signature.is_some()
                    && let Some(thinking) = thinking_at(index, out)
                    && thinking.thinking_signature.is_none()
                {
                    thinking.thinking_signature = signature;
                }
                index
            }
            None => {
                let thinking =
                    ThinkingContent { thinking_signature: signature, ..ThinkingContent::default() };
                *self.thinking.insert(out.thinking_start_with(thinking))
            }
        }
    }

    /// Completes the answer after `[DONE]` (`done`) or the end of the body.
    fn complete(&mut self, done: bool, out: &mut MessageBuilder) -> Result<(), StreamError> {
        // Some servers never send a finish reason. A stream with token counts and `[DONE]` is
        // complete; a stream that was only closed may be truncated.
        let counted = done && out.message().usage.output > 0;
        let silent = !self.compat.finish_reason && (done || !out.message().content.is_empty());
        let reason = match self.finish.take() {
            Some(Finish::Complete(reason)) => reason,
            Some(Finish::Failed(reason)) => {
                self.close(out);
                out.end_all();
                return Err(StreamError::Provider(format!("Provider finish_reason: {reason}")));
            }
            None if counted || silent => StopReason::Stop,
            None => {
                // The blocks are complete; only the finish reason is missing.
                self.close(out);
                out.end_all();
                return Err(StreamError::Truncated("Stream ended without finish_reason"));
            }
        };
        self.close(out);
        // Some servers send the same reason for calls and for answers.
        let calls = reason == StopReason::Stop && !self.calls.is_empty();
        out.finish(if calls { StopReason::ToolUse } else { reason });
        Ok(())
    }

    fn close(&mut self, out: &mut MessageBuilder) {
        let response = out.message().response_id.as_deref().unwrap_or_default();
        let response = ids::short_hash(response);
        self.calls.finish(out, &|number| format!("call_{response}_{number}"));
        if let Some(index) = self.thinking
            && !self.details.is_empty()
            && let Some(thinking) = thinking_at(index, out)
        {
            thinking.thinking_signature = Some(self.details.to_signature());
        }
    }
}

/// Takes the id of the answer, and the model if it is not the requested one, from the first chunk
/// that has them.
pub(in crate::wire) fn identify(
    id: Option<&str>,
    model: Option<&str>,
    requested: &Model,
    out: &mut MessageBuilder,
) {
    let message = out.message_mut();
    if message.response_id.is_none() {
        message.response_id = id.map(str::to_owned);
    }
    if message.response_model.is_none() {
        let other = model.filter(|model| *model != requested.id);
        message.response_model = other.map(str::to_owned);
    }
}

impl EventDecoder for ChunkDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.complete(true, out);
        }
        if event.name == Some("error") {
            let error = error_text(data).unwrap_or_else(|| data.to_owned());
            return Err(StreamError::Provider(error));
        }
        match serde_json::from_str::<Chunk<'_>>(data) {
            Ok(chunk) => self.chunk(&chunk, data, out),
            Err(_) => {
                let malformed =
                    |error: serde_json::Error| StreamError::malformed("a chunk", &error, data);
                let value = json::from_str_repairing::<Value>(data).map_err(malformed)?;
                let Some(repaired) = repaired(value) else { return Ok(()) };
                let chunk = serde_json::from_str::<Chunk<'_>>(&repaired).map_err(malformed)?;
                self.chunk(&chunk, &repaired, out)
            }
        }
    }

    fn end(&mut self, out: &mut MessageBuilder) -> Result<(), StreamError> {
        self.complete(false, out)
    }
}

impl Finish {
    fn of(reason: &str) -> Self {
        match reason {
            "stop" | "end" => Self::Complete(StopReason::Stop),
            "length" => Self::Complete(StopReason::Length),
            "tool_calls" | "function_call" => Self::Complete(StopReason::ToolUse),
            other => Self::Failed(other.to_owned()),
        }
    }
}

fn thinking_at(index: usize, out: &mut MessageBuilder) -> Option<&mut ThinkingContent> {
    match out.message_mut().content.get_mut(index)? {
        AssistantBlock::Thinking(thinking) => Some(thinking),
        _ => None,
    }
}

/// Returns the text of an error object, with the text of the provider behind a gateway. `None` if
/// the value states that there is no error.
pub(in crate::wire) fn error_text(json: &str) -> Option<String> {
    let Ok(value) = json::from_str_repairing::<Value>(json) else { return Some(json.to_owned()) };
    let error = value.get("error").unwrap_or(&value);
    let message = match error {
        Value::Null | Value::Bool(false) => return None,
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) => text.clone(),
        _ => match error.get("message").and_then(Value::as_str) {
            Some(message) if !message.is_empty() => message.to_owned(),
            _ => error.to_string(),
        },
    };
    let raw = match error.pointer("/metadata/raw") {
        Some(Value::String(raw)) => raw.clone(),
        Some(raw @ (Value::Object(_) | Value::Array(_))) => raw.to_string(),
        _ => String::new(),
    };
    if raw.is_empty() || message.contains(&raw) {
        Some(message)
    } else {
        Some(format!("{message}\n{raw}"))
    }
}

#[cfg(test)]
mod tests;
