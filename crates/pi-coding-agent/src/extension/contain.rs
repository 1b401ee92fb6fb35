//! Containment: a panic, a failure and an endless wait of an extension stay inside the call.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::ExtensionError;
use super::ui::DialogCounter;

/// Awaits a call into an extension. A panic and an exceeded limit are failures. Time in which a
/// dialog is open does not count.
pub(super) async fn contain<T>(
    call: impl Future<Output = Result<T, ExtensionError>>,
    limit: Option<Duration>,
    dialogs: &DialogCounter,
) -> Result<T, ExtensionError> {
    let call = AssertUnwindSafe(call).catch_unwind();
    tokio::pin!(call);
    let Some(limit) = limit else { return flatten(call.await) };
    loop {
        let opened = dialogs.opened();
        match tokio::time::timeout(limit, &mut call).await {
            Ok(result) => return flatten(result),
            Err(_) if dialogs.is_open() || dialogs.opened() != opened => {}
            Err(_) => {
                let seconds = limit.as_secs_f64();
                return Err(ExtensionError::new(format!("no answer within {seconds} s")));
            }
        }
    }
}

fn flatten<T>(
    result: Result<Result<T, ExtensionError>, Box<dyn std::any::Any + Send>>,
) -> Result<T, ExtensionError> {
    result.unwrap_or_else(|panic| Err(ExtensionError::new(panic_message(&*panic))))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}
