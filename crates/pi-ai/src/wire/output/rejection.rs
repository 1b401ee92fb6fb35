//! The request without its schema, after a provider rejected the schema.

use pi_protocol::{Diagnostic, DiagnosticError, Extra, now_ms};

use crate::wire::{Call, Fallback, HttpFailure, WireFormat};

/// Words in the error of a provider that rejects a schema.
const COMPLAINTS: &[&str] = &[
    "schema",
    "response_format",
    "responseformat",
    "output_config",
    "outputconfig",
    "output_format",
    "text.format",
    "mime type",
    "mimetype",
    "structured output",
    "grammar",
];

/// Returns the call without its schema, if the failure is a complaint about it. The schema is
/// rejected: later requests do not send it.
pub(crate) fn without_schema(
    call: &Call,
    format: &WireFormat,
    failure: &HttpFailure,
) -> Option<Fallback> {
    let schema = call.options.output_schema.as_ref()?;
    let body = failure.body.to_ascii_lowercase();
    let complains = matches!(failure.status, 400 | 404 | 422)
        && COMPLAINTS.iter().any(|complaint| body.contains(complaint));
    if !complains {
        return None;
    }
    let mut reduced = call.clone();
    reduced.options.output_schema = None;
    // The complaint is about another schema if this one was not sent.
    let was_sent = (format.encode)(call).ok()?.body != (format.encode)(&reduced).ok()?.body;
    if !was_sent {
        return None;
    }
    schema.reject();
    Some(Fallback {
        call: reduced,
        diagnostic: Diagnostic {
            kind: "output_schema_fallback".to_owned(),
            timestamp: now_ms(),
            error: Some(DiagnosticError { message: failure.plain(), extra: Extra::new() }),
            ..Diagnostic::default()
        },
    })
}
