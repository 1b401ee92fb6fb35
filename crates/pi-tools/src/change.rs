//! One change of a file: waits for its turn, compares the file with what the model saw, writes it,
//! and records the new content.

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

/// Exclusive access of a call to a file that it will change.
#[derive(Debug)]
pub(crate) struct FileChange<'a> {
    workspace: &'a Workspace,
    path: &'a Path,
    /// Path as the model wrote it.
    shown: &'a str,
    real: PathBuf,
    _turn: OwnedMutexGuard<()>,
}

impl<'a> FileChange<'a> {
    /// Waits until no other call changes the file.
    pub(crate) async fn begin(
        workspace: &'a Workspace,
        path: &'a Path,
        shown: &'a str,
        cancel: &CancelToken,
    ) -> Result<Self, ToolError> {
        let real = match workspace.real_path(path).await {
            Ok(real) => real,
            // The next operation will fail with a better message.
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

    /// Returns the content that the model has read or written in this session.
    pub(crate) fn seen(&self) -> Option<Fingerprint> {
        self.workspace.seen.get(&self.real)
    }

    /// Compares the content of the file with what the model saw. Returns a note for the model, or
    /// an error that refuses the change.
    pub(crate) fn compare(
        &self,
        current: Option<Fingerprint>,
    ) -> Result<Option<String>, ToolError> {
        self.workspace.check_seen(&self.real, self.shown, current)
    }

    /// Replaces the content of the file. Nothing is written after an abort; a write that has begun
    /// is completed.
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

/// Runs work to its end even if the caller is dropped: the next call in line must not find a file
/// that is still being written.
pub(crate) async fn run_to_end<T: Send + 'static>(
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

/// Waits for work until the run is aborted.
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

/// Returns a result with an additional note for the model.
pub(crate) fn with_note(mut text: String, note: Option<String>) -> ToolOutput {
    if let Some(note) = note {
        text.push_str("\n\n");
        text.push_str(&note);
    }
    ToolOutput::text(text)
}
