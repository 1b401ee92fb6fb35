//! Keeps what was sent out of what is said about it: servers quote keys in their complaints.

use std::sync::Arc;
use std::task::{Context, Poll};

use pi_protocol::{MessageBuilder, Source};

/// Replaces secrets in a text.
pub(crate) type MaskFn = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The text without secrets.
pub(crate) fn masked(mask: Option<&MaskFn>, text: String) -> String {
    match mask {
        Some(mask) => mask(&text),
        None => text,
    }
}

/// A source whose failures are masked, wherever in it they come from.
pub(crate) struct Masked<S> {
    source: S,
    mask: MaskFn,
}

impl<S> Masked<S> {
    pub(crate) fn new(source: S, mask: &MaskFn) -> Self {
        Self { source, mask: Arc::clone(mask) }
    }
}

impl<S: Source> Source for Masked<S> {
    fn poll(&mut self, cx: &mut Context<'_>, out: &mut MessageBuilder) -> Poll<()> {
        let polled = self.source.poll(cx, out);
        if out.is_finished() {
            let message = out.message_mut();
            if let Some(error) = &mut message.error_message {
                *error = (self.mask)(error);
            }
            for error in message.diagnostics.iter_mut().filter_map(|said| said.error.as_mut()) {
                error.message = (self.mask)(&error.message);
            }
        }
        polled
    }
}
