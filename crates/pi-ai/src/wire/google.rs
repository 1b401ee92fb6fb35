//! `google-generative-ai` and `google-vertex`: Gemini's `streamGenerateContent`, at Google's own API
//! and at Google Cloud.
//!
//! Bodies and streams are the same; URLs and credentials of Google Cloud are in `vertex`.
//!
//! The format has no event that ends a block and none that ends the message: a block ends where a
//! part of another kind begins, and an answer is complete when a finish reason has been seen.

mod body;
mod chunk;
mod contents;
mod decode;
mod encode;
mod family;
mod partial_args;
mod thinking;
mod tools;
mod usage;
mod vertex;

use serde_json::Value;

use crate::wire::{Call, Decoder, EncodeError, HttpRequest, WireFormat, error_text};

/// The wire format `google-generative-ai`.
pub(super) static GENERATIVE_AI: WireFormat = format("google-generative-ai", encode::request);

/// The wire format `google-vertex`.
pub(super) static VERTEX: WireFormat = format("google-vertex", vertex::request);

const fn format(
    api: &'static str,
    encode: fn(&Call) -> Result<HttpRequest, EncodeError>,
) -> WireFormat {
    WireFormat {
        output_support: encode::output_support,
        ..WireFormat::new(api, encode, decoder, |_, failure| {
            google_error(&failure.body).unwrap_or_else(|| failure.plain())
        })
    }
}

fn decoder(call: &Call) -> Box<dyn Decoder> {
    Box::new(body::Body::new(call))
}

/// Returns an error in Google's own form, as JSON. That form contains status and code; other bodies
/// need the HTTP status as a prefix. Without SSE, errors are wrapped in a list.
fn google_error(body: &str) -> Option<String> {
    let body = match serde_json::from_str(body).ok()? {
        Value::Array(items) => items.into_iter().next()?,
        other => other,
    };
    let code = body.get("error")?.get("code")?;
    code.is_number().then(|| error_text::shorten(&body.to_string(), error_text::MAX_BODY_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::HttpFailure;

    #[test]
    fn failures_name_status_and_cause() {
        let cases = [
            (
                400,
                r#"{"error": {"code": 400, "message": "Bad key.", "status": "INVALID_ARGUMENT"}}"#,
                r#"{"error":{"code":400,"message":"Bad key.","status":"INVALID_ARGUMENT"}}"#,
            ),
            (
                500,
                r#"[{"error": {"code": 500, "message": "Internal error encountered."}}]"#,
                r#"{"error":{"code":500,"message":"Internal error encountered."}}"#,
            ),
            (401, r#"{"error":{"message":"no"}}"#, r#"401 {"error":{"message":"no"}}"#),
            (400, r#"{"error":"model not found"}"#, r#"400 {"error":"model not found"}"#),
            (404, r#"{"message":"no such route"}"#, "404 no such route"),
            (500, "upstream exploded", "500 upstream exploded"),
            (502, "\"bad gateway\"", "502 \"bad gateway\""),
            (413, "", "413 status code (no body)"),
            (503, "[]", "503 []"),
        ];
        for (status, body, expected) in cases {
            let failure = HttpFailure::new(status, body);
            let text = google_error(body).unwrap_or_else(|| failure.plain());
            assert_eq!(text, expected);
        }
    }
}
