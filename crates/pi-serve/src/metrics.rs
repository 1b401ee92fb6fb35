//! Counters of a server, for `/metrics`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pi_web::http::StatusCode;

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Answers, by the first digit of their status.
    answers: [AtomicU64; 5],
    streams: AtomicU64,
}

impl Metrics {
    pub(crate) fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = self.answers.get(class) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of answers of each class of status codes, beginning with 1xx.
    pub(crate) fn answers(&self) -> [u64; 5] {
        self.answers.each_ref().map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Returns the number of open streams and sockets.
    pub(crate) fn streams(&self) -> u64 {
        self.streams.load(Ordering::Relaxed)
    }
}

/// A stream that is counted until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<Metrics>);

impl OpenStream {
    pub(crate) fn new(metrics: &Arc<Metrics>) -> Self {
        metrics.streams.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(metrics))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
