//! Actions of extensions on a session: asynchronous work that its caller does not wait for, done in
//! the order of the calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use tokio::runtime::Handle;
use tokio::sync::mpsc;

type Action = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The actions of one JavaScript thread.
#[derive(Debug, Clone)]
pub(crate) struct Actions {
    runtime: Handle,
    queue: mpsc::UnboundedSender<Action>,
    /// Number of actions that are queued or running.
    pending: Arc<AtomicUsize>,
}

impl Actions {
    /// Creates a queue whose actions run on a runtime.
    pub(crate) fn new(runtime: &Handle) -> Self {
        // Unbounded: the caller is JavaScript and cannot wait.
        let (queue, mut actions) = mpsc::unbounded_channel::<Action>();
        let pending = Arc::new(AtomicUsize::new(0));
        let done = Arc::clone(&pending);
        runtime.spawn(async move {
            while let Some(action) = actions.recv().await {
                action.await;
                done.fetch_sub(1, Ordering::AcqRel);
            }
        });
        Self { runtime: runtime.clone(), queue, pending }
    }

    /// Starts an action at once if no other is pending, so that its caller sees the effect; the
    /// rest of it follows in order.
    pub(crate) fn start(&self, action: impl Future<Output = ()> + Send + 'static) {
        let mut action: Action = Box::pin(action);
        if self.pending.load(Ordering::Acquire) == 0 {
            let _entered = self.runtime.enter();
            // The queue polls again, with a waker of its own.
            if action.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                return;
            }
        }
        self.push(action);
    }

    /// Starts an action at once; the rest of it follows on its own.
    pub(crate) fn detach(&self, action: impl Future<Output = ()> + Send + 'static) {
        let mut action: Action = Box::pin(action);
        let _entered = self.runtime.enter();
        if action.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.runtime.spawn(action);
        }
    }

    fn push(&self, action: Action) {
        self.pending.fetch_add(1, Ordering::AcqRel);
        // The receiver lives as long as its runtime; afterwards there is no session.
        let _ = self.queue.send(action);
    }
}
