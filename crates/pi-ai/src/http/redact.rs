//! Keeps secrets out of error texts: servers quote keys in their error messages.

use std::sync::Arc;
use std::task::{Context, Poll};

use pi_protocol::{MessageBuilder, Source};

/// Replaces secrets in a text.
pub(crate) type RedactFn = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Returns the text without secrets.
pub(crate) fn redacted(redact: Option<&RedactFn>, text: String) -> String {
    match redact {
        Some(redact) => redact(&text),
        None => text,
    }
}

/// A source whose failures are redacted, from every part of the source.
pub(crate) struct Redacted<S> {
    source: S,
    redact: RedactFn,
}

impl<S> Redacted<S> {
    pub(crate) fn new(source: S, redact: &RedactFn) -> Self {
        Self { source, redact: Arc::clone(redact) }
    }
}

impl<S: Source> Source for Redacted<S> {
    fn poll(&mut self, cx: &mut Context<'_>, out: &mut MessageBuilder) -> Poll<()> {
        let polled = self.source.poll(cx, out);
        if out.is_finished() {
            let message = out.message_mut();
            if let Some(error) = &mut message.error_message {
                *error = (self.redact)(error);
            }
            for diagnostic in &mut message.diagnostics {
                if let Some(error) = &mut diagnostic.error {
                    error.message = (self.redact)(&error.message);
                }
            }
        }
        polled
    }
}
