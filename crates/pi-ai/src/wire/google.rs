//! `google-generative-ai`: Gemini's `streamGenerateContent`.
//!
//! Also read here: what Vertex AI adds to that stream (tool arguments in pieces). Not here: Vertex's
//! own addresses and credentials.
//!
//! The format has no event that ends a block and none that ends the message: a block ends where a
//! part of another kind begins, and an answer is complete when a finish reason has been seen.

mod chunk;
mod contents;
mod decode;
mod encode;
mod family;
mod partial_args;
mod thinking;
mod tools;
mod usage;

use serde_json::Value;

use crate::wire::{
    Call, Decoder, EncodeError, HttpFailure, HttpRequest, SseDecoder, WireFormat, error_text,
};

/// Error bodies are cut here.
const MAX_ERROR_CHARS: usize = 4000;

/// The wire format `google-generative-ai`.
#[derive(Debug)]
pub struct GoogleGenerativeAi;

impl WireFormat for GoogleGenerativeAi {
    fn api(&self) -> &'static str {
        "google-generative-ai"
    }

    fn encode(&self, call: &Call) -> Result<HttpRequest, EncodeError> {
        encode::request(call)
    }

    fn decoder(&self, call: &Call) -> Box<dyn Decoder> {
        Box::new(SseDecoder::new(call, decode::Events::new(call)))
    }

    fn error_text(&self, _call: &Call, failure: &HttpFailure) -> String {
        let body: Option<Value> = serde_json::from_str(&failure.body).ok();
        body.as_ref().and_then(google_error).unwrap_or_else(|| failure.plain())
    }
}

/// An error in Google's own form, as JSON. It names the status and the code itself; anything else
/// needs the HTTP status put before it. Without SSE, errors come wrapped in a list.
fn google_error(body: &Value) -> Option<String> {
    let body = match body {
        Value::Array(items) => items.first()?,
        other => other,
    };
    let code = body.get("error")?.get("code")?;
    code.is_number().then(|| error_text::shorten(&body.to_string(), MAX_ERROR_CHARS))
}
