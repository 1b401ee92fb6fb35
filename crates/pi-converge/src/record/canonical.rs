//! The canonical form of a request: what the model reads, without what differs from run to run.

use pi_base::text::hex;
use pi_protocol::{Message, Request};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A request without times, ids of sessions, keys and hooks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CanonicalRequest {
    pub(crate) shape: Shape,
    pub(crate) messages: Vec<Value>,
}

/// Everything of a request but its messages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) model: Value,
    pub(crate) options: Value,
}

impl CanonicalRequest {
    pub(crate) fn new(request: &Request) -> Self {
        let (model, options) = (&request.model, &request.options);
        let schema = options.output_schema.as_ref();
        let shape = Shape {
            model: json!({
                "provider": model.provider,
                "id": model.id,
                "api": model.api,
                "contextWindow": model.context_window,
                "maxTokens": model.max_tokens,
            }),
            options: json!({
                "temperature": options.temperature,
                "maxTokens": options.max_tokens,
                "samplingParams": options.sampling_params,
                "toolChoice": options.tool_choice,
                "reasoning": options.reasoning,
                "outputSchema": schema.map(|schema| schema.schema().clone()),
            }),
        };
        let messages = request.context.clone().normalize();
        Self { shape, messages: messages.iter().map(canonical_message).collect() }
    }
}

/// Returns a message without its times.
fn canonical_message(message: &Message) -> Value {
    let mut value = serde_json::to_value(message).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.remove("timestamp");
        fields.remove("durationMs");
    }
    value
}

/// Returns the SHA-256 of a value in hexadecimal digits.
pub(crate) fn hash(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string().as_bytes()))
}
