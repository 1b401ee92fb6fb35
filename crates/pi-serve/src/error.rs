//! Failures as the API writes them: `{"error":{"code","message","hint"}}`.

use std::time::Duration;

use pi_host::OpenError;
use pi_web::http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use pi_web::http::{Response, StatusCode};
use pi_web::server::{Body, Refusal, whole};
use serde_json::json;

/// The reason why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ApiError {
    /// Status code of the answer.
    pub status: StatusCode,
    /// The kind of the problem, for programs.
    pub code: &'static str,
    /// Description of the problem.
    pub message: String,
    /// What the user can do, in the words of the program.
    pub hint: Option<String>,
    /// A header that the status requires, such as `Retry-After`.
    pub header: Option<Box<(HeaderName, HeaderValue)>>,
}

impl ApiError {
    /// Creates an error without a hint and a header.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, header: None }
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// Adds a header that the status requires.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some(Box::new((name, value)));
        self
    }

    /// A request that cannot be understood.
    pub(crate) fn bad_request(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// A request that its sender may not make.
    pub(crate) fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    /// A request that does not fit the state of things.
    pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// A request without a valid token.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "the token is missing or not valid")
    }

    /// A peer that has sent wrong tokens and has to wait.
    pub(crate) fn too_many_guesses(wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let message = format!("too many wrong tokens; wait {seconds} s");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_guesses", message)
            .with_header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// A path that does not exist.
    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "not found")
    }

    /// A session that does not exist.
    pub(crate) fn no_session(id: &str) -> Self {
        let message = format!("there is no session {id:?}");
        Self::new(StatusCode::NOT_FOUND, "no_session", message)
    }

    /// A failure of the server.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// Writes the error as an answer of the API.
    pub(crate) fn into_response(self) -> Response<Body> {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(hint) = self.hint {
            error["hint"] = hint.into();
        }
        let mut response =
            whole(self.status, "application/json", json!({"error": error}).to_string());
        if let Some(header) = self.header {
            let (name, value) = *header;
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.status {
            StatusCode::NOT_FOUND => "not_found",
            StatusCode::METHOD_NOT_ALLOWED => "method_not_allowed",
            StatusCode::PAYLOAD_TOO_LARGE => "too_large",
            StatusCode::MISDIRECTED_REQUEST => "unknown_host",
            StatusCode::FORBIDDEN => "foreign_origin",
            StatusCode::UNAUTHORIZED => "unauthorized",
            _ => "refused",
        };
        let mut error = Self::new(refusal.status, code, refusal.message);
        error.header = refusal.header.map(Box::new);
        error
    }
}

impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> Self {
        let (status, code) = match &error {
            OpenError::NotFound(_) => (StatusCode::NOT_FOUND, "no_session"),
            OpenError::Credentials(_) => (StatusCode::CONFLICT, "no_credentials"),
            OpenError::TooMany(_) => (StatusCode::SERVICE_UNAVAILABLE, "too_many_sessions"),
            OpenError::Reopening => (StatusCode::CONFLICT, "reopening"),
            OpenError::Refused { .. } => (StatusCode::CONFLICT, "refused"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
        };
        Self::new(status, code, error.to_string())
    }
}
