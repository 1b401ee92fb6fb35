//! The text of an HTTP failure, for users and classifiers.

use serde_json::Value;

use super::Headers;

/// Longest part of a body in an error text: the rest of an HTML error page is of no use.
pub(crate) const MAX_BODY_CHARS: usize = 4000;

/// A response that is not 2xx.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpFailure {
    /// The HTTP status code.
    pub status: u16,
    /// The body, as text.
    pub body: String,
    /// The headers of the response.
    pub headers: Headers,
}

impl HttpFailure {
    /// Creates a failure without headers.
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, body: body.into(), headers: Headers::new() }
    }

    /// Formats the whole body after the status, as Anthropic's API errors: `429 {"error": …}`.
    pub fn plain(&self) -> String {
        let Self { status, body, .. } = self;
        let body = body.trim();
        if body.is_empty() {
            return format!("{status} status code (no body)");
        }
        let message = parsed(body).and_then(|json| match json.get("error") {
            None => json.get("message")?.as_str().map(str::to_owned),
            Some(_) => None,
        });
        format!("{status} {}", shorten(message.as_deref().unwrap_or(body), MAX_BODY_CHARS))
    }

    /// Formats the `error` object if there is one, as OpenAI-compatible endpoints:
    /// `429: {"message": …}`. With a prefix: `OpenAI API error (429): …`.
    pub fn openai_style(&self, prefix: Option<&str>) -> String {
        let status = self.status;
        match (self.error_object(), prefix) {
            (Some(error), Some(prefix)) => format!("{prefix} ({status}): {error}"),
            (Some(error), None) => format!("{status}: {error}"),
            (None, Some(prefix)) => format!("{prefix} ({status}): {}", self.plain()),
            (None, None) => self.plain(),
        }
    }

    /// Formats the whole body after a prefix and the status: `Mistral API error (429): …`.
    pub fn with_body(&self, prefix: &str) -> String {
        let Self { status, body, .. } = self;
        match body.trim() {
            "" => format!("{prefix} ({status}): the response has no body"),
            body => format!("{prefix} ({status}): {}", shorten(body, MAX_BODY_CHARS)),
        }
    }

    /// Returns the non-empty `error` object of a JSON body, or a body that is itself one, as JSON.
    fn error_object(&self) -> Option<String> {
        let json = parsed(self.body.trim())?;
        let error = match json.get("error") {
            Some(error) => error,
            None if json.get("message").is_some() => &json,
            None => return None,
        };
        let text = error.as_object().filter(|object| !object.is_empty()).map(|_| error.to_string());
        text.map(|text| shorten(&text, MAX_BODY_CHARS))
    }

    /// Returns a field of the `error` object, if it is a string.
    pub fn error_field(&self, field: &str) -> Option<String> {
        Some(parsed(self.body.trim())?.get("error")?.get(field)?.as_str()?.to_owned())
    }
}

fn parsed(body: &str) -> Option<Value> {
    serde_json::from_str(body).ok()
}

/// Returns the first `max` characters and the number of missing ones.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => {
            let missing = text[end..].chars().count();
            format!("{}... [truncated {missing} chars]", &text[..end])
        }
    }
}
