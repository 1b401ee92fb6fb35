//! Cancellation: one token per run, passed down to everything that waits.
//!
//! A token can be awaited ([`CancelToken::cancelled`]) and can call back at the moment of
//! cancellation ([`CancelToken::on_cancel`]). The callback closes a connection at once even if the
//! stream that reads from it is not being polled.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use pi_base::lock;

/// A handle to cancel work, cheap to clone. A cancelled token stays cancelled.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Shared>);

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    waiting: Mutex<Waiting>,
    /// Keeps a child registered with its parent for as long as the child lives.
    _parent: Option<CancelRegistration>,
}

#[derive(Default)]
struct Waiting {
    next_id: u64,
    callbacks: BTreeMap<u64, Callback>,
}

enum Callback {
    Wake(Waker),
    Call(Box<dyn FnOnce() + Send>),
}

/// Cancels a token when it is dropped.
#[derive(Debug)]
pub struct CancelOnDrop(pub CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a token that is cancelled with this one, but can also be cancelled alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Arc::new_cyclic(|weak: &std::sync::Weak<Shared>| {
            let weak = weak.clone();
            let parent = self.on_cancel(move || {
                if let Some(child) = weak.upgrade() {
                    Self(child).cancel();
                }
            });
            Shared { _parent: Some(parent), ..Shared::default() }
        });
        // The parent may have been cancelled while the child could not be upgraded yet.
        if self.is_cancelled() {
            child.cancelled.store(true, Ordering::Release);
        }
        Self(child)
    }

    /// Cancels the token: callbacks run now, on this thread, and waiting tasks are woken.
    pub fn cancel(&self) {
        let waiting = {
            let mut waiting = lock(&self.0.waiting);
            if self.0.cancelled.swap(true, Ordering::AcqRel) {
                return;
            }
            std::mem::take(&mut waiting.callbacks)
        };
        // The lock is released: a callback may use the token.
        for callback in waiting.into_values() {
            match callback {
                Callback::Wake(waker) => waker.wake(),
                Callback::Call(call) => call(),
            }
        }
    }

    /// Returns true if both handles are the same token.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns true if the token was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Returns a future that resolves when the token is cancelled.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { token: self.clone(), id: None }
    }

    /// Registers a callback for the moment of cancellation. If the token is already cancelled, the
    /// callback runs before this method returns. Dropping the registration removes the callback.
    #[must_use = "dropping the registration removes the callback"]
    pub fn on_cancel(&self, callback: impl FnOnce() + Send + 'static) -> CancelRegistration {
        let mut waiting = lock(&self.0.waiting);
        if self.is_cancelled() {
            drop(waiting);
            callback();
            return CancelRegistration { shared: Arc::clone(&self.0), id: None };
        }
        let id = waiting.insert(Callback::Call(Box::new(callback)));
        CancelRegistration { shared: Arc::clone(&self.0), id: Some(id) }
    }
}

impl Waiting {
    fn insert(&mut self, callback: Callback) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.callbacks.insert(id, callback);
        id
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelToken").field(&self.is_cancelled()).finish()
    }
}

/// Keeps a callback registered; see [`CancelToken::on_cancel`].
pub struct CancelRegistration {
    shared: Arc<Shared>,
    id: Option<u64>,
}

impl Drop for CancelRegistration {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // The callback is dropped after the lock: its captures may use the token.
            let callback = lock(&self.shared.waiting).callbacks.remove(&id);
            drop(callback);
        }
    }
}

impl fmt::Debug for CancelRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelRegistration").finish_non_exhaustive()
    }
}

/// A future that resolves when its token is cancelled; see [`CancelToken::cancelled`].
#[derive(Debug)]
pub struct Cancelled {
    token: CancelToken,
    id: Option<u64>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let token = self.token.clone();
        let mut waiting = lock(&token.0.waiting);
        if token.is_cancelled() {
            return Poll::Ready(());
        }
        match self.id.and_then(|id| waiting.callbacks.get_mut(&id)) {
            Some(Callback::Wake(waker)) => waker.clone_from(cx.waker()),
            _ => self.id = Some(waiting.insert(Callback::Wake(cx.waker().clone()))),
        }
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let callback = lock(&self.token.0.waiting).callbacks.remove(&id);
            drop(callback);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn cancel_calls_back_once_and_reaches_children() {
        let calls = Arc::new(AtomicUsize::new(0));
        let parent = CancelToken::new();
        let child = parent.child();
        let counter = Arc::clone(&calls);
        let _registration = child.on_cancel(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        assert!(child.cancelled().now_or_never().is_none());

        parent.cancel();
        parent.cancel();

        assert!(child.is_cancelled());
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert!(child.cancelled().now_or_never().is_some());
        assert!(parent.child().is_cancelled(), "a child of a cancelled token is cancelled");
    }

    #[test]
    fn a_child_can_be_cancelled_alone_and_leaves_no_registration_behind() {
        let parent = CancelToken::new();
        let child = parent.child();
        child.cancel();
        assert!(!parent.is_cancelled());
        drop(child);
        let registration = parent.on_cancel(|| unreachable!("removed"));
        drop(registration);
        drop(parent.cancelled());
        assert!(lock(&parent.0.waiting).callbacks.is_empty());
        parent.cancel();
    }

    #[test]
    fn a_registration_after_cancellation_is_called_at_once() {
        let token = CancelToken::new();
        token.cancel();
        let (sender, receiver) = std::sync::mpsc::channel();
        let _registration = token.on_cancel(move || sender.send(()).unwrap());
        assert!(receiver.try_recv().is_ok());
    }
}
