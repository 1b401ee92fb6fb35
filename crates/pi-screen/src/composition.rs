//! What fills the context window, by kind, and what the session has cost, by model. Pure.
//!
//! All sizes are estimates: four characters per token. Providers count only whole requests.

use std::collections::BTreeMap;

use pi_protocol::{
    AgentMessage, AssistantBlock, Declarations, Message, MessageContent, Usage, UserBlock,
};
use pi_session::compaction::message_tokens;
use pi_session::{BranchSummaryMessage, CompactionSummaryMessage};
use serde_json::Value;

/// Tokens that an image counts for, as in the estimate of compaction.
const IMAGE: u64 = 1200;

/// The estimated tokens of a context, by kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Composition {
    /// Sections of the system prompt, by name.
    pub(super) sections: Vec<(String, u64)>,
    pub(super) tools: u64,
    pub(super) user: u64,
    pub(super) text: u64,
    pub(super) thinking: u64,
    pub(super) calls: u64,
    /// Results of tools, by tool.
    pub(super) results: BTreeMap<String, u64>,
    pub(super) images: u64,
    pub(super) summaries: u64,
    /// Messages of extensions and commands of the user.
    pub(super) other: u64,
}

impl Composition {
    /// Measures a context.
    pub(super) fn new<'a>(
        declared: &Declarations,
        messages: impl IntoIterator<Item = &'a AgentMessage>,
    ) -> Self {
        let mut parts = Self::default();
        for text in &declared.content {
            parts.sections.push(("system prompt".to_owned(), tokens(text)));
        }
        for (name, text) in &declared.sections {
            let size = text.as_str().map_or_else(|| json_tokens(text), tokens);
            parts.sections.push((name.clone(), size));
        }
        let definitions = serde_json::to_value(&declared.tools).unwrap_or_default();
        if !declared.tools.is_empty() {
            parts.tools = json_tokens(&definitions);
        }
        for message in messages {
            parts.add(message);
        }
        parts
    }

    fn add(&mut self, message: &AgentMessage) {
        match message {
            // The sum of the declarations counts.
            AgentMessage::Llm(Message::System(_)) => {}
            AgentMessage::Llm(Message::User(user)) => match &user.content {
                MessageContent::Text(text) => self.user += tokens(text),
                MessageContent::Blocks(blocks) => {
                    let (text, images) = blocks_tokens(blocks);
                    self.user += text;
                    self.images += images;
                }
            },
            AgentMessage::Llm(Message::Assistant(answer)) => {
                for block in &answer.content {
                    match block {
                        AssistantBlock::Text(text) => self.text += tokens(&text.text),
                        AssistantBlock::Thinking(thinking) => {
                            self.thinking += tokens(&thinking.thinking);
                        }
                        AssistantBlock::ToolCall(call) => {
                            let arguments = Value::Object(call.arguments.clone());
                            self.calls += tokens(&call.name) + json_tokens(&arguments);
                        }
                        AssistantBlock::Unknown(_) => {}
                    }
                }
            }
            AgentMessage::Llm(Message::ToolResult(result)) => {
                let (text, images) = blocks_tokens(&result.content);
                *self.results.entry(result.tool_name.clone()).or_default() += text;
                self.images += images;
            }
            AgentMessage::Custom(_) => {
                let is_summary = message.as_custom::<BranchSummaryMessage>().is_some()
                    || message.as_custom::<CompactionSummaryMessage>().is_some();
                let size = message_tokens(message);
                *(if is_summary { &mut self.summaries } else { &mut self.other }) += size;
            }
        }
    }

    /// Returns all parts with their names, without empty ones.
    pub(super) fn parts(&self) -> Vec<(String, u64)> {
        let mut parts: Vec<(String, u64)> = Vec::new();
        let sections = self.sections.iter().map(|(name, size)| (format!("prompt: {name}"), *size));
        parts.extend(sections);
        let named = |name: &str, size: u64| (name.to_owned(), size);
        parts.push(named("tool definitions", self.tools));
        parts.push(named("user", self.user));
        parts.push(named("assistant text", self.text));
        parts.push(named("thinking", self.thinking));
        parts.push(named("tool calls", self.calls));
        let results = self.results.iter().map(|(tool, size)| (format!("results: {tool}"), *size));
        parts.extend(results);
        parts.push(named("images", self.images));
        parts.push(named("summaries", self.summaries));
        parts.push(named("other messages", self.other));
        parts.retain(|(_, size)| *size > 0);
        parts
    }

    pub(super) fn total(&self) -> u64 {
        self.parts().iter().map(|(_, size)| size).sum()
    }
}

/// Adds up the cost of answers by model.
pub(super) fn costs<'a>(
    answers: impl Iterator<Item = (&'a str, &'a Usage)>,
) -> BTreeMap<String, (u64, f64)> {
    let mut costs: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for (model, usage) in answers {
        let (tokens, cost) = costs.entry(model.to_owned()).or_default();
        *tokens += usage.input + usage.output + usage.cache_read + usage.cache_write;
        *cost += usage.cost.total;
    }
    costs
}

/// Returns the tokens of the texts and of the images of blocks.
fn blocks_tokens(blocks: &[UserBlock]) -> (u64, u64) {
    let mut sizes = (0, 0);
    for block in blocks {
        match block {
            UserBlock::Text(text) => sizes.0 += tokens(&text.text),
            UserBlock::Image(_) => sizes.1 += IMAGE,
            UserBlock::Unknown(_) => {}
        }
    }
    sizes
}

fn tokens(text: &str) -> u64 {
    (text.encode_utf16().count() as u64).div_ceil(4)
}

fn json_tokens(value: &Value) -> u64 {
    tokens(&value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(value: Value) -> AgentMessage {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_kind_is_counted_once() {
        let declared = Declarations {
            sections: json!({"preamble": "12345678"}).as_object().unwrap().clone(),
            ..Declarations::default()
        };
        let messages = [
            message(json!({"role": "user", "content": [
                {"type": "text", "text": "1234"},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            ]})),
            message(json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": "123456789"},
                {"type": "text", "text": "1"},
                {"type": "toolCall", "id": "a", "name": "bash", "arguments": {"command": "ls"}},
            ]})),
            message(json!({"role": "toolResult", "toolCallId": "a", "toolName": "bash",
                "content": [{"type": "text", "text": "12345678"}]})),
        ];
        let parts = Composition::new(&declared, &messages);
        let expected = [
            ("prompt: preamble", 2),
            ("user", 1),
            ("assistant text", 1),
            ("thinking", 3),
            ("tool calls", 5),
            ("results: bash", 2),
            ("images", IMAGE),
        ];
        let expected: Vec<(String, u64)> =
            expected.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        assert_eq!(parts.parts(), expected);
        assert_eq!(parts.total(), 14 + IMAGE);
    }
}
