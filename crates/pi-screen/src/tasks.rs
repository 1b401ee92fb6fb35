//! Work in the background, and its effects on the state `S` of the application.
//!
//! All work runs on the thread of the screen. Its result comes back as an [`Effect`], which the
//! event loop applies, so that no part of the application needs a lock.

use std::time::Instant;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A change of the application.
pub(super) type Effect<S> = Box<dyn FnOnce(&mut S)>;

/// Starts work. The channel is unbounded because the user paces it: a key or a command starts at
/// most one piece of work.
pub(super) struct Tasks<S> {
    effects: mpsc::UnboundedSender<Effect<S>>,
    /// Shows that work panicked.
    failed: fn(&mut S, String),
}

impl<S> Clone for Tasks<S> {
    fn clone(&self) -> Self {
        Self { effects: self.effects.clone(), failed: self.failed }
    }
}

impl<S: 'static> Tasks<S> {
    pub(super) fn new(failed: fn(&mut S, String)) -> (Self, mpsc::UnboundedReceiver<Effect<S>>) {
        let (effects, receiver) = mpsc::unbounded_channel();
        (Self { effects, failed }, receiver)
    }

    /// Runs `work` and applies `then` to the application and the result.
    pub(super) fn spawn<T: 'static>(
        &self,
        work: impl Future<Output = T> + 'static,
        then: impl FnOnce(&mut S, T) + 'static,
    ) -> JoinHandle<()> {
        let effects = self.effects.clone();
        tokio::task::spawn_local(async move {
            let result = work.await;
            // The application may be gone already.
            let _ = effects.send(Box::new(move |app| then(app, result)));
        })
    }

    /// Applies a change of the application in the next round of the event loop.
    pub(super) fn apply(&self, effect: impl FnOnce(&mut S) + 'static) {
        // The application may be gone already.
        let _ = self.effects.send(Box::new(effect));
    }

    /// Requests a frame.
    pub(super) fn redraw(&self) {
        self.apply(|_| {});
    }

    /// Runs work that blocks (reading many files, starting a program) on a thread of its own.
    pub(super) fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
        then: impl FnOnce(&mut S, T) + 'static,
    ) {
        let failed = self.failed;
        let work = tokio::task::spawn_blocking(work);
        self.spawn(work, move |app, result| match result {
            Ok(result) => then(app, result),
            Err(error) => failed(app, format!("a background task failed: {error}")),
        });
    }
}

/// Waits for a time; forever if there is none.
pub(super) async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
