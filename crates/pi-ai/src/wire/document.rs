//! A body that is a document instead of a stream, such as a login page, which becomes the error.

use super::error_text::{MAX_BODY_CHARS, shorten};

/// The part of a body that is kept: at least as long as the text that is shown.
const LIMIT: usize = 4 * MAX_BODY_CHARS;

/// The beginning of a document. The error depends on its bytes, and not on how they are cut.
#[derive(Debug, Default)]
pub(super) struct Document {
    bytes: Vec<u8>,
}

impl Document {
    /// Adds bytes. Returns the error as soon as further bytes cannot change it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<String> {
        let room = LIMIT.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or_default());
        (self.bytes.len() >= LIMIT).then(|| self.error())
    }

    /// Returns the error text.
    pub(super) fn error(&self) -> String {
        let body = String::from_utf8_lossy(&self.bytes);
        let body = if self.bytes.len() < LIMIT {
            shorten(body.trim(), MAX_BODY_CHARS)
        } else {
            // The length is unknown.
            let shown: String = body.trim().chars().take(MAX_BODY_CHARS).collect();
            format!("{shown}... [truncated]")
        };
        format!("Expected an event stream, but the server answered: {body}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_beginning_of_the_document() {
        let shown = |body: &str| {
            let mut document = Document::default();
            let early = document.push(body.as_bytes());
            let error = document.error();
            assert_eq!(early, (body.len() >= LIMIT).then(|| error.clone()));
            let text = error.strip_prefix("Expected an event stream, but the server answered: ");
            text.map(str::to_owned).unwrap_or_default()
        };
        assert_eq!(shown(" <p>a</p>\n"), "<p>a</p>");
        let (x, most) = ("x".repeat(MAX_BODY_CHARS), "x".repeat(LIMIT));
        assert_eq!(shown(&x), x);
        assert_eq!(shown(&format!("{x}yz")), format!("{x}... [truncated 2 chars]"));
        assert_eq!(shown(&most), format!("{x}... [truncated]"));
        assert_eq!(shown(&format!("{most}yz")), format!("{x}... [truncated]"));
    }
}
