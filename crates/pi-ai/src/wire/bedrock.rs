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

use pi_protocol::now_ms;

use crate::wire::{Call, Decoder, Headers, HttpFailure, WireFormat};

use failure::ServiceError;

/// The wire format `bedrock-converse-stream`.
pub(super) static FORMAT: WireFormat = WireFormat {
    headers,
    diagnostic: |failure| Some(ServiceError::of_response(failure).diagnostic(now_ms())),
    output_support: encode::output_support,
    ..WireFormat::new("bedrock-converse-stream", encode::request, decoder, error_text)
};

/// Headers that are a part of the signature, or replace it, cannot be set by users.
fn headers(call: &Call, own: Headers) -> Headers {
    let signed = own.iter().filter(|(name, _)| is_reserved(name));
    let signed: Vec<_> = signed.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut headers = call.headers(own);
    headers.retain(|name| !is_reserved(name));
    for (name, value) in signed {
        headers.set(name, value);
    }
    headers
}

fn decoder(call: &Call) -> Box<dyn Decoder> {
    Box::new(decode::Body::new(call))
}

fn error_text(_call: &Call, failure: &HttpFailure) -> String {
    let error = ServiceError::of_response(failure);
    if error.code.is_some() { error.text() } else { failure.plain() }
}

fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "authorization" | "host") || name.starts_with("x-amz-")
}
