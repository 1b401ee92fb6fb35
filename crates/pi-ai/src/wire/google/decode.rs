//! Decodes the stream of chunks.
//!
//! A chunk contains parts. Consecutive parts of one kind are one block, and a part of another kind
//! ends it. The message is finished when the body ends, not at the finish reason, since usage may
//! follow.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use pi_protocol::{AssistantBlock, MessageBuilder, Model, StopReason, json};
use pi_web::sse::SseEvent;
use serde_json::json;

use super::chunk::{Chunk, FunctionCall, Part};
use super::partial_args::PartialArguments;
use super::usage::Counts;
use crate::wire::{Call, EventDecoder, StreamError, error_text, ids};

#[cfg(test)]
mod tests;

/// Decoder of the events of one answer.
#[derive(Debug)]
pub(super) struct Events {
    model: Arc<Model>,
    open: Open,
    counts: Counts,
    /// The finish reason and its explanation.
    finish: Option<(String, Option<String>)>,
    /// True if the answer has more than blank text.
    answered: bool,
    ids: CallIds,
}

/// The block that the next part may continue.
#[derive(Debug, Default)]
enum Open {
    #[default]
    Nothing,
    Text(usize),
    Thinking(usize),
    /// A call whose arguments arrive in parts.
    Call(usize, Box<PartialArguments>),
}

impl Events {
    /// Creates a decoder for the answer to `call`.
    pub(super) fn new(call: &Call) -> Self {
        Self {
            model: Arc::clone(&call.model),
            open: Open::Nothing,
            counts: Counts::default(),
            finish: None,
            answered: false,
            ids: CallIds { turn: call.messages.len(), seen: HashSet::new() },
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
        self.metadata(&chunk, out);
        if let Some(error) = chunk.error {
            let error = json!({"error": error}).to_string();
            return Err(StreamError::Provider(error_text::shorten(
                &error,
                error_text::MAX_BODY_CHARS,
            )));
        }
        if let Some(reason) = chunk.prompt_feedback.as_ref().and_then(|f| f.block_reason.as_ref()) {
            out.message_mut().raw_stop_reason = Some(reason.0.as_ref().to_owned());
            let why = chunk.prompt_feedback.as_ref().and_then(|f| f.block_reason_message.as_ref());
            let why = why.map(|why| format!(": {}", why.0)).unwrap_or_default();
            return Err(StreamError::Provider(format!("Prompt blocked: {}{why}", reason.0)));
        }
        let Some(candidate) = chunk.candidates.and_then(|list| list.0) else {
            return Ok(());
        };
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, out)?;
        }
        if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.0.is_empty()) {
            out.message_mut().raw_stop_reason = Some(reason.0.as_ref().to_owned());
            let why = candidate.finish_message.map(|why| why.0.into_owned());
            self.finish = Some((reason.0.into_owned(), why));
        }
        Ok(())
    }

    /// Records ids and token counts.
    fn metadata(&mut self, chunk: &Chunk<'_>, out: &mut MessageBuilder) {
        if let Some(usage) = chunk.usage_metadata
            && self.counts.update(usage.get())
        {
            out.message_mut().usage = self.counts.usage(&self.model.cost);
        }
        let message = out.message_mut();
        if let Some(id) = &chunk.response_id
            && message.response_id.is_none()
            && !id.0.is_empty()
        {
            message.response_id = Some(id.0.as_ref().to_owned());
        }
        if let Some(name) = &chunk.model_version
            && message.response_model.is_none()
            && !name.0.is_empty()
            && name.0 != self.model.id
        {
            message.response_model = Some(name.0.as_ref().to_owned());
        }
    }

    fn part(&mut self, part: Part<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
        if part.is_foreign() {
            // The message has no block for this part, but the part separates texts.
            self.close(out);
            self.answered = true;
            return Ok(());
        }
        let signature =
            part.thought_signature.map(|signature| signature.0).filter(|s| !s.is_empty());
        if let Some(call) = part.function_call {
            return self.call(call, signature, out);
        }
        let text = part.text.map(|text| text.0).unwrap_or_default();
        self.text(&text, part.thought == Some(true), signature, out);
        Ok(())
    }

    /// Adds text or thinking. A signature does not turn text into thinking, and may come without
    /// text.
    fn text(
        &mut self,
        text: &str,
        thought: bool,
        signature: Option<Cow<'_, str>>,
        out: &mut MessageBuilder,
    ) {
        let index = match &self.open {
            Open::Text(index) if !thought => *index,
            Open::Thinking(index) if thought => *index,
            // Google often ends with an empty part, which is not a block.
            _ if text.is_empty() && signature.is_none() => return,
            _ => {
                self.close(out);
                if thought {
                    let index = out.thinking_start();
                    self.open = Open::Thinking(index);
                    index
                } else {
                    let index = out.text_start();
                    self.open = Open::Text(index);
                    index
                }
            }
        };
        if !text.is_empty() {
            out.delta(index, text);
        }
        self.answered = self.answered || thought || !text.trim().is_empty();
        sign(index, signature, out);
    }

    fn call(
        &mut self,
        call: FunctionCall<'_>,
        signature: Option<Cow<'_, str>>,
        out: &mut MessageBuilder,
    ) -> Result<(), StreamError> {
        let name = call.name.map(|name| name.0).unwrap_or_default();
        let goes_on = call.will_continue.unwrap_or(false);
        let pieces = call.partial_args.unwrap_or_default();
        let continues = name.is_empty() && matches!(self.open, Open::Call(..));
        if !continues {
            if name.is_empty() && call.args.is_none() && pieces.is_empty() {
                // An end marker without a call.
                return Ok(());
            }
            self.close(out);
            let id = self.ids.pick(call.id.map(|id| id.0), &name, out);
            let index = out.tool_call_start(id, name);
            self.answered = true;
            self.open = Open::Call(index, Box::new(PartialArguments::new()));
        }
        let Open::Call(index, arguments) = &mut self.open else { return Ok(()) };
        sign(*index, signature, out);
        if let Some(args) = call.args {
            let index = *index;
            self.open = Open::Nothing;
            out.complete_arguments(index, &argument_text(args.get()));
            out.end(index);
            return Ok(());
        }
        let mut text = String::new();
        for piece in &pieces {
            arguments.push(piece, &mut text)?;
        }
        if !text.is_empty() {
            out.delta(*index, &text);
        }
        if !goes_on {
            self.close(out);
        }
        Ok(())
    }

    /// Ends the open block, if there is one.
    fn close(&mut self, out: &mut MessageBuilder) {
        match std::mem::take(&mut self.open) {
            Open::Nothing => {}
            Open::Text(index) | Open::Thinking(index) => out.end(index),
            Open::Call(index, arguments) => {
                let mut rest = String::new();
                match arguments.finish(&mut rest) {
                    Some(whole) => out.complete_arguments(index, &whole),
                    None => out.delta(index, &rest),
                }
                out.end(index);
            }
        }
    }
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut MessageBuilder) -> Result<(), StreamError> {
        let data = event.data;
        if data.trim().is_empty() || data == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str(data) {
            Ok(chunk) => self.chunk(chunk, out),
            Err(error) => {
                let repaired = json::repair(data);
                match serde_json::from_str(&repaired) {
                    Ok(chunk) => self.chunk(chunk, out),
                    Err(_) => Err(StreamError::malformed("a chunk", &error, data)),
                }
            }
        }
    }

    fn end(&mut self, out: &mut MessageBuilder) -> Result<(), StreamError> {
        let Some((reason, why)) = self.finish.take() else {
            return Err(StreamError::Truncated("Google stream ended without a finish reason"));
        };
        match reason.as_str() {
            // Some servers send `FUNCTION_CALL` instead of `STOP`.
            "STOP" | "FUNCTION_CALL" => {
                self.close(out);
                if !self.answered {
                    return Err(StreamError::Truncated("Google stream ended without any content"));
                }
                let called = out.message().tool_calls().next().is_some();
                out.finish(if called { StopReason::ToolUse } else { StopReason::Stop });
                Ok(())
            }
            "MAX_TOKENS" => {
                // A call with truncated arguments stays open, so that it is not taken for a
                // complete one.
                if !matches!(self.open, Open::Call(..)) {
                    self.close(out);
                }
                out.finish(StopReason::Length);
                Ok(())
            }
            _ => {
                if !matches!(self.open, Open::Call(..)) {
                    self.close(out);
                }
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                Err(StreamError::Provider(format!("Provider stopped with: {reason}{why}")))
            }
        }
    }
}

/// Returns the text of complete arguments. Some servers send the JSON as a string.
fn argument_text(args: &str) -> Cow<'_, str> {
    let quoted = if args.starts_with('"') { serde_json::from_str(args).ok() } else { None };
    quoted.map_or(Cow::Borrowed(args), Cow::Owned)
}

/// Sets the signature of a block; the last one counts.
fn sign(index: usize, signature: Option<Cow<'_, str>>, out: &mut MessageBuilder) {
    let Some(signature) = signature.map(Cow::into_owned) else { return };
    let slot = match out.message_mut().content.get_mut(index) {
        Some(AssistantBlock::Text(text)) => &mut text.text_signature,
        Some(AssistantBlock::Thinking(thinking)) => &mut thinking.thinking_signature,
        Some(AssistantBlock::ToolCall(call)) => &mut call.thought_signature,
        _ => return,
    };
    *slot = Some(signature);
}

/// Ids of calls: Google's, or generated ones if Google sends none or the same id twice.
#[derive(Debug)]
struct CallIds {
    /// Length of the conversation, which distinguishes turns if the answer has no id.
    turn: usize,
    seen: HashSet<String>,
}

impl CallIds {
    fn pick(&mut self, given: Option<Cow<'_, str>>, name: &str, out: &MessageBuilder) -> String {
        if let Some(given) = given.filter(|id| !id.is_empty())
            && self.seen.insert(given.as_ref().to_owned())
        {
            return given.into_owned();
        }
        // Short enough for every provider, since a history may continue on another one.
        let name = ids::shorten(ids::sanitize(name), 32);
        let answer = match &out.message().response_id {
            Some(id) => ids::short_hash(id),
            None => self.turn.to_string(),
        };
        let mut number = self.seen.len() + 1;
        loop {
            let id = format!("{name}_{answer}_{number}");
            if self.seen.insert(id.clone()) {
                return id;
            }
            number += 1;
        }
    }
}
