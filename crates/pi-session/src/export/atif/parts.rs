//! The objects of ATIF, with the fields that a session can fill.

use pi_protocol::{
    AssistantBlock, AssistantMessage, MessageContent, Usage, UserBlock, UserContent,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The originator of a step.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Source {
    System,
    User,
    Agent,
}

/// A message, with the calls that it makes and their results. Only steps of the agent have a model,
/// reasoning, calls and metrics.
#[derive(Serialize)]
pub(super) struct Step {
    pub(super) step_id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<String>,
    pub(super) source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<&'static str>,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) observation: Option<Observation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metrics: Option<Metrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) llm_call_count: Option<u64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) extra: Map<String, Value>,
}

/// The results of the calls of a step.
#[derive(Default, Serialize)]
pub(super) struct Observation {
    results: Vec<Observed>,
}

/// The result of a call.
#[derive(Serialize)]
pub(super) struct Observed {
    /// The id of a call of the same step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_call_id: Option<String>,
    pub(super) content: String,
    pub(super) extra: Map<String, Value>,
}

/// A call of a tool.
#[derive(Serialize)]
pub(super) struct ToolCall {
    tool_call_id: String,
    function_name: String,
    arguments: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    extra: Map<String, Value>,
}

/// The tokens and the cost of a request.
#[derive(Serialize)]
pub(super) struct Metrics {
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: u64,
    /// The cost; absent if the model has no known price.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    extra: Map<String, Value>,
}

impl Step {
    pub(super) fn new(source: Source, message: String) -> Self {
        Self {
            step_id: 0,
            timestamp: None,
            source,
            model_name: None,
            reasoning_effort: None,
            message,
            reasoning_content: None,
            tool_calls: Vec::new(),
            observation: None,
            metrics: None,
            llm_call_count: None,
            extra: Map::new(),
        }
    }

    /// Returns true if the step makes a call with this id.
    pub(super) fn calls(&self, id: &str) -> bool {
        self.tool_calls.iter().any(|call| call.tool_call_id == id)
    }

    pub(super) fn observe(&mut self, result: Observed) {
        self.observation.get_or_insert_default().results.push(result);
    }
}

impl ToolCall {
    pub(super) fn of(call: &pi_protocol::ToolCall) -> Self {
        Self {
            tool_call_id: call.id.clone(),
            function_name: call.name.clone(),
            arguments: call.arguments.clone(),
            extra: extra([("arguments_error", json!(call.arguments_error))]),
        }
    }
}

impl Metrics {
    pub(super) fn of(usage: &Usage) -> Self {
        let written = Some(usage.cache_write).filter(|tokens| *tokens > 0);
        Self {
            prompt_tokens: usage.total_input(),
            completion_tokens: usage.output,
            cached_tokens: usage.cache_read,
            cost_usd: Some(usage.cost.total).filter(|cost| *cost > 0.0),
            extra: extra([
                ("cache_write_tokens", json!(written)),
                ("reasoning_tokens", json!(usage.reasoning)),
            ]),
        }
    }
}

/// Creates an object without the fields that are null.
pub(super) fn extra<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    let present = fields.into_iter().filter(|(_, value)| !value.is_null());
    present.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the name of a model with its provider.
pub(super) fn model_name(provider: &str, model: &str) -> String {
    if provider.is_empty() { model.to_owned() } else { format!("{provider}/{model}") }
}

/// Returns the thinking of an answer that the provider did not redact.
pub(super) fn thinking(message: &AssistantMessage) -> Option<String> {
    let texts = message.content.iter().filter_map(|block| match block {
        AssistantBlock::Thinking(thinking) if !thinking.thinking.trim().is_empty() => {
            Some(thinking.thinking.as_str())
        }
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n\n");
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the text of a message, with a mark for each image.
pub(super) fn text_of(content: &UserContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(content) => blocks(content),
    }
}

/// Returns the text of blocks, with a mark for each image: ATIF refers to the files of images, and
/// an export is one file.
pub(super) fn blocks(blocks: &[UserBlock]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        UserBlock::Text(text) => Some(text.text.clone()),
        UserBlock::Image(image) => Some(format!("[image: {}]", image.mime_type)),
        UserBlock::Unknown(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
