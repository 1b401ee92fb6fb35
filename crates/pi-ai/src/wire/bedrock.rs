//! `bedrock-converse-stream`: models of all vendors at Amazon Bedrock.
//!
//! Requests are in `encode` (with `messages`, `thinking` and `endpoint`), answers in `decode`, over
//! the frames of `frame`. What a vendor's models accept is in `family`.
//!
//! Requests are signed when they are sent, unless they have a bearer token. This module only says
//! with which keys, and for which region.

mod decode;
mod encode;
mod endpoint;
mod event;
mod failure;
mod family;
mod frame;
mod messages;
mod thinking;

use pi_protocol::{Diagnostic, Model, now_ms};

use crate::wire::{
    Call, Decoder, EncodeError, Headers, HttpFailure, HttpRequest, OutputSupport, WireFormat,
};

use failure::ServiceError;

/// The wire format `bedrock-converse-stream`.
#[derive(Debug)]
pub struct BedrockConverseStream;

impl WireFormat for BedrockConverseStream {
    fn api(&self) -> &'static str {
        "bedrock-converse-stream"
    }

    fn encode(&self, call: &Call) -> Result<HttpRequest, EncodeError> {
        encode::request(call)
    }

    /// Headers that are a part of the signature, or replace it, cannot be set by users.
    fn headers(&self, call: &Call, own: Headers) -> Headers {
        let mut headers = call.headers(own.clone());
        headers.retain(|name| !is_reserved(name));
        for (name, value) in own.iter().filter(|(name, _)| is_reserved(name)) {
            headers.set(name, value);
        }
        headers
    }

    fn decoder(&self, call: &Call) -> Box<dyn Decoder> {
        Box::new(decode::Body::new(call))
    }

    fn error_text(&self, _call: &Call, failure: &HttpFailure) -> String {
        let error = ServiceError::of_response(failure);
        if error.code.is_some() { error.text() } else { failure.plain() }
    }

    fn diagnostic(&self, failure: &HttpFailure) -> Option<Diagnostic> {
        Some(ServiceError::of_response(failure).diagnostic(now_ms()))
    }

    fn output_support(&self, model: &Model) -> OutputSupport {
        encode::output_support(model)
    }
}

fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "authorization" | "host") || name.starts_with("x-amz-")
}
