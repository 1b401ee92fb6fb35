//! Calls the hooks of a request and contains their panics.
//!
//! Hooks are code of the application. One that panics must not leave a stream without its terminal
//! event, so a panic becomes an error that names the hook.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A hook of a request panicked.
#[derive(Debug, thiserror::Error)]
#[error("The {hook} hook panicked: {message}")]
#[non_exhaustive]
pub struct HookPanicked {
    /// Name of the field of [`RequestHooks`](pi_protocol::RequestHooks).
    pub hook: &'static str,
    /// The message of the panic.
    pub message: String,
}

impl From<HookPanicked> for String {
    fn from(error: HookPanicked) -> Self {
        error.to_string()
    }
}

/// Calls a synchronous hook.
pub(crate) fn call_sync<T>(
    hook: &'static str,
    call: impl FnOnce() -> T,
) -> Result<T, HookPanicked> {
    // A hook that panicked is not called again in this request.
    catch_unwind(AssertUnwindSafe(call))
        .map_err(|panic| HookPanicked { hook, message: panic_message(&*panic) })
}

/// Calls an asynchronous hook and waits for its result. Dropping the returned future drops the
/// future of the hook.
#[cfg(feature = "http")]
pub(crate) async fn call<T>(
    hook: &'static str,
    call: impl FnOnce() -> pi_protocol::HookFuture<T>,
) -> Result<T, HookPanicked> {
    use std::task::Poll;

    let mut pending = call_sync(hook, call)?;
    std::future::poll_fn(|cx| match call_sync(hook, || pending.as_mut().poll(cx)) {
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panicked) => Poll::Ready(Err(panicked)),
    })
    .await
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    if let Some(message) = panic.downcast_ref::<&str>() {
        (*message).to_owned()
    } else if let Some(message) = panic.downcast_ref::<String>() {
        message.clone()
    } else {
        "no message".to_owned()
    }
}
