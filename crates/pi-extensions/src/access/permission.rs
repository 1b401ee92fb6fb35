//! A permission: a value to work with, after an approval that may be pending.

use std::pin::Pin;

use tokio::runtime::Handle;

use crate::error::NativeError;

/// Waits for an approval; the error is the refusal.
type Approval = Pin<Box<dyn Future<Output = Result<(), NativeError>> + Send>>;

/// A permission: a value to work with, after an approval that may be pending.
pub(crate) struct Permission<T> {
    value: T,
    pending: Option<(Handle, Approval)>,
}

impl<T> Permission<T> {
    /// A permission without an approval.
    pub(crate) fn granted(value: T) -> Self {
        Self { value, pending: None }
    }

    /// A permission after an approval, which runs on the runtime of the session.
    pub(super) fn after(
        value: T,
        main: Handle,
        approval: impl Future<Output = Result<(), NativeError>> + Send + 'static,
    ) -> Self {
        Self { value, pending: Some((main, Box::pin(approval))) }
    }

    /// Returns the value if no approval is needed.
    pub(super) fn at_once(self) -> Result<T, NativeError> {
        match self.pending {
            None => Ok(self.value),
            Some(_) => {
                Err(super::refused("this needs an approval, for which this call cannot wait"))
            }
        }
    }

    /// Waits for the approval on this thread.
    pub(crate) fn wait(self) -> Result<T, NativeError> {
        let (value, approval) = self.split();
        match approval {
            Some(approval) => approval.wait().map(|()| value),
            None => Ok(value),
        }
    }

    /// Waits for the approval.
    pub(crate) async fn later(self) -> Result<T, NativeError> {
        let (value, approval) = self.split();
        match approval {
            Some(approval) => approval.later().await.map(|()| value),
            None => Ok(value),
        }
    }

    /// Returns the value and the approval without which it must not be used.
    pub(crate) fn split(self) -> (T, Option<PendingApproval>) {
        (self.value, self.pending.map(|(main, approval)| PendingApproval { main, approval }))
    }
}

/// An approval that is not given yet.
pub(crate) struct PendingApproval {
    main: Handle,
    approval: Approval,
}

impl PendingApproval {
    /// Waits on this thread, which must not be one of the session's runtime.
    pub(crate) fn wait(self) -> Result<(), NativeError> {
        let (reply, answer) = std::sync::mpsc::sync_channel(1);
        let approval = self.approval;
        self.main.spawn(async move {
            let _ = reply.send(approval.await);
        });
        answer.recv().unwrap_or_else(|_| Err(gone()))
    }

    /// Waits for the answer.
    pub(crate) async fn later(self) -> Result<(), NativeError> {
        self.main.spawn(self.approval).await.unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> NativeError {
    NativeError::new("the session ended before this was approved").with("code", "ERR_ACCESS_DENIED")
}
