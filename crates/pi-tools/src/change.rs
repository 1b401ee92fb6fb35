//! One change of a file: waited for, compared with what the model saw, made, remembered.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;

use pi_agent::{ToolError, ToolOutput};
use pi_protocol::CancelToken;
use tokio::sync::OwnedMutexGuard;

use crate::os_error;
use crate::seen::Fingerprint;
use crate::workspace::{Workspace, aborted, check_abort};

/// The right to change a file.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    workspace: &'a Workspace,
    path: &'a Path,
    /// The path as the model wrote it.
    shown: &'a str,
    real: PathBuf,
    _turn: OwnedMutexGuard<()>,
}

impl<'a> Change<'a> {
    /// Waits until nobody else changes the file.
    pub(crate) async fn begin(
        workspace: &'a Workspace,
        path: &'a Path,
        shown: &'a str,
        cancel: &CancelToken,
    ) -> Result<Self, ToolError> {
        let real = match workspace.real_path(path).await {
            Ok(real) => real,
            // What is to be done next will fail, and says it better.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                path.to_owned()
            }
            Err(error) => return Err(os_error::on_path(&error, "realpath", path)),
        };
        let turn = unless_aborted(cancel, workspace.locks.lock(&real)).await?;
        Ok(Self { workspace, path, shown, real, _turn: turn })
    }

    /// The model knows, or believes to know, what is in it.
    pub(crate) fn is_of_seen_file(&self) -> bool {
        self.workspace.seen.get(&self.real).is_some()
    }

    /// Compares what is in the file with what the model saw. The result is a note for the model,
    /// or a refusal.
    pub(crate) fn compare(&self, current: Option<&[u8]>) -> Result<Option<String>, ToolError> {
        self.workspace.check_seen(&self.real, self.shown, current.map(Fingerprint::of))
    }

    /// Makes the change. After an abort there is none; once begun, it is made.
    pub(crate) async fn replace(
        &self,
        content: &[u8],
        cancel: &CancelToken,
    ) -> Result<(), ToolError> {
        check_abort(cancel)?;
        let replaced = self.workspace.executor().replace(self.path, content).await;
        replaced.map_err(|error| os_error::on_path(&error, "open", self.path))?;
        self.workspace.seen.record(self.real.clone(), Fingerprint::of(content));
        Ok(())
    }
}

/// Lets work end even if nobody waits for it any more: whoever is next in line must not find a
/// file that is still being written.
pub(crate) async fn settled<T: Send + 'static>(
    work: impl Future<Output = Result<T, ToolError>> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(aborted()),
        },
    }
}

/// Waits for something, but not longer than the run goes on.
pub(crate) async fn unless_aborted<T>(
    cancel: &CancelToken,
    work: impl Future<Output = T>,
) -> Result<T, ToolError> {
    let (mut work, mut cancelled) = (pin!(work), pin!(cancel.cancelled()));
    std::future::poll_fn(|context| {
        if cancelled.as_mut().poll(context).is_ready() {
            return std::task::Poll::Ready(Err(aborted()));
        }
        work.as_mut().poll(context).map(Ok)
    })
    .await
}

/// A result, and what else the model should know.
pub(crate) fn with_note(mut text: String, note: Option<String>) -> ToolOutput {
    if let Some(note) = note {
        text.push_str("\n\n");
        text.push_str(&note);
    }
    ToolOutput::text(text)
}
