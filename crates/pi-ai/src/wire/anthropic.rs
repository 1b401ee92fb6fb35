//! `anthropic-messages`: Anthropic's Messages API and compatible endpoints.
//!
//! Requests are in `encode` (with `messages`, `tools` and `thinking`), answers in `decode`.
//! Differences of an endpoint are in `compat`, read from the model record.
//!
//! OAuth tokens are sent as bearer tokens under our own name: no other client is impersonated.

mod compat;
mod decode;
mod encode;
mod event;
mod messages;
mod thinking;
mod tools;

use pi_protocol::{Diagnostic, DiagnosticError, Extra, now_ms};

use crate::wire::{Call, Decoder, Fallback, HttpFailure, SseDecoder, WireFormat};

/// Error texts of an endpoint that cannot handle all strict tools of a request together.
const STRICT_LIMITS: &[&str] = &[
    "The compiled grammar is too large",
    "Too many strict tools (",
    "Schemas contains too many parameters with union types (",
];

/// The wire format `anthropic-messages`.
pub(super) static FORMAT: WireFormat = WireFormat {
    thinking_level: |call| thinking::managed_effort(call).map(str::to_owned),
    fallback: without_strict_tools,
    output_support: |model| compat::Compat::of(model).output_support(model),
    ..WireFormat::new("anthropic-messages", encode::request, decoder, |_, failure| failure.plain())
};

fn decoder(call: &Call) -> Box<dyn Decoder> {
    Box::new(SseDecoder::new(call, decode::Events::new(&call.model)))
}

fn without_strict_tools(call: &Call, failure: &HttpFailure) -> Option<Fallback> {
    let too_strict = failure.status == 400
        && !call.no_strict_tools
        && STRICT_LIMITS.iter().any(|text| failure.body.contains(text));
    too_strict.then(|| Fallback {
        call: Call { no_strict_tools: true, ..call.clone() },
        diagnostic: Diagnostic {
            kind: "anthropic_strict_tools_fallback".to_owned(),
            timestamp: now_ms(),
            error: Some(DiagnosticError { message: failure.plain(), extra: Extra::new() }),
            ..Diagnostic::default()
        },
    })
}
