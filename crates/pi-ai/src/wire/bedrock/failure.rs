//! Errors of Bedrock: their texts, and the diagnostic for the message.

use pi_protocol::Diagnostic;
use serde_json::{Map, Value};

use super::frame::{Frame, FrameError};
use crate::wire::HttpFailure;
use crate::wire::error_text::{MAX_BODY_CHARS, shorten};

/// The header with the id that Amazon's support asks for.
pub(super) const REQUEST_ID: &str = "x-amzn-requestid";

/// Words for the errors that users meet; all others are reported under their own names.
const PREFIXES: &[(&str, &str)] = &[
    ("InternalServerException", "Internal server error"),
    ("ModelStreamErrorException", "Model stream error"),
    ("ValidationException", "Validation error"),
    ("ThrottlingException", "Throttling error"),
    ("ServiceUnavailableException", "Service unavailable"),
];

/// An error of the service.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ServiceError {
    /// The name, such as `ThrottlingException`.
    pub(super) code: Option<String>,
    pub(super) message: String,
    pub(super) status: Option<u16>,
    pub(super) request_id: Option<String>,
}

impl ServiceError {
    /// Reads the body and the headers of a response that is not 2xx.
    pub(super) fn of_response(failure: &HttpFailure) -> Self {
        let body: Option<Value> = serde_json::from_str(&failure.body).ok();
        let text = |name: &str| body.as_ref()?.get(name)?.as_str().map(str::to_owned);
        let code = failure.headers.get("x-amzn-errortype").map(str::to_owned);
        let code = code.or_else(|| text("__type")).or_else(|| text("code"));
        // `com.amazon#Name:http://…` is a Name.
        let code = code.map(|code| {
            let code = code.rsplit('#').next().unwrap_or_default();
            code.split(':').next().unwrap_or_default().to_owned()
        });
        Self {
            code: code.filter(|code| !code.is_empty()),
            message: text("message").or_else(|| text("Message")).unwrap_or_default(),
            status: Some(failure.status),
            request_id: failure.headers.get(REQUEST_ID).map(str::to_owned),
        }
    }

    /// Reads a frame that is an exception or an error.
    pub(super) fn of_frame(frame: &Frame<'_>) -> Self {
        let header = |name: &str| frame.header(name).ok().flatten().map(|value| value.into_owned());
        let payload = String::from_utf8_lossy(frame.payload);
        let body: Option<Value> = serde_json::from_str(&payload).ok();
        let text = |name: &str| body.as_ref()?.get(name)?.as_str().map(str::to_owned);
        let message = text("message").or_else(|| text("Message"));
        let message = message.or_else(|| header(":error-message"));
        let code = header(":exception-type").map(|code| capitalized(&code));
        Self {
            code: code.or_else(|| header(":error-code")),
            message: message.unwrap_or_else(|| payload.into_owned()),
            ..Self::default()
        }
    }

    /// Returns the text for users and classifiers.
    pub(super) fn text(&self) -> String {
        let message = shorten(self.message.trim(), MAX_BODY_CHARS);
        let Some(code) = &self.code else { return message };
        let known = PREFIXES.iter().find(|(name, _)| name == code);
        let prefix = known.map_or(code.as_str(), |(_, prefix)| prefix);
        if message.is_empty() { prefix.to_owned() } else { format!("{prefix}: {message}") }
    }

    /// Returns the diagnostic for the message.
    pub(super) fn diagnostic(&self, timestamp: f64) -> Diagnostic {
        let mut details = Map::new();
        if let Some(status) = self.status {
            details.insert("status".into(), status.into());
        }
        if let Some(code) = &self.code {
            details.insert("errorCode".into(), code.clone().into());
        }
        if let Some(id) = &self.request_id {
            details.insert("requestId".into(), id.clone().into());
        }
        Diagnostic {
            kind: "bedrock_response_failure".to_owned(),
            timestamp,
            details: Some(details.into()),
            ..Diagnostic::default()
        }
    }
}

/// Exceptions in the stream begin with a small letter.
fn capitalized(code: &str) -> String {
    let mut letters = code.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

impl From<FrameError> for ServiceError {
    fn from(error: FrameError) -> Self {
        Self { message: error.to_string(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_name_the_error() {
        // Status, header, body; text and code.
        let cases = [
            (
                400,
                Some("ValidationException:http://x.example/y/"),
                r#"{"message":"m"}"#,
                "Validation error: m",
                Some("ValidationException"),
            ),
            (
                403,
                Some("AccessDeniedException"),
                r#"{"Message":"m"}"#,
                "AccessDeniedException: m",
                Some("AccessDeniedException"),
            ),
            (
                403,
                Some("ExpiredTokenException"),
                r#"{"message":"m"}"#,
                "ExpiredTokenException: m",
                Some("ExpiredTokenException"),
            ),
            (
                429,
                Some("ThrottlingException"),
                r#"{"message":"m"}"#,
                "Throttling error: m",
                Some("ThrottlingException"),
            ),
            (
                400,
                None,
                r#"{"__type":"com.amazon#ValidationException","message":"m"}"#,
                "Validation error: m",
                Some("ValidationException"),
            ),
            (400, None, r#"{"message":"m"}"#, "m", None),
            (
                503,
                Some("ServiceUnavailableException"),
                "",
                "Service unavailable",
                Some("ServiceUnavailableException"),
            ),
        ];
        for (status, header, body, text, code) in cases {
            let mut failure = HttpFailure::new(status, body);
            if let Some(header) = header {
                failure.headers.set("X-Amzn-ErrorType", header);
            }
            failure.headers.set("x-amzn-RequestId", "req-1");
            let error = ServiceError::of_response(&failure);
            assert_eq!((error.text().as_str(), error.code.as_deref()), (text, code));
            let details = error.diagnostic(0.0).details.unwrap_or_default();
            assert_eq!(details["status"], status);
            assert_eq!(details["requestId"], "req-1");
        }
    }
}
