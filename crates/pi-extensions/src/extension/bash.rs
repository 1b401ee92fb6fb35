//! Operations of a `user_bash` handler: another way to run commands.

use std::path::PathBuf;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{BashOperations, ExtensionError};
use pi_protocol::CancelToken;
use rquickjs::IntoJs as _;
use tokio::sync::mpsc;

use super::{failure, with_signal};
use crate::host::{Arguments, ExtensionId, JsThread, function};

/// Operations that JavaScript keeps under a number.
#[derive(Debug)]
pub(super) struct JsOperations {
    pub(super) thread: JsThread,
    pub(super) extension: ExtensionId,
    pub(super) number: u32,
}

impl BashOperations for JsOperations {
    fn exec(
        &self,
        command: String,
        cwd: PathBuf,
        output: mpsc::Sender<String>,
        cancel: CancelToken,
    ) -> BoxFuture<'_, Result<Option<i32>, ExtensionError>> {
        Box::pin(async move {
            // JavaScript does not wait for the session to take the output.
            let (pieces, mut received) = mpsc::unbounded_channel::<String>();
            let number = self.number;
            let called = with_signal(&self.thread, &cancel, |signal| {
                let arguments = Arguments::built(move |ctx, host| {
                    let send = function(ctx, host, move |call| {
                        // Without a receiver the command is over.
                        let _ = pieces.send(call.text(0)?);
                        call.done()
                    })?;
                    let cwd = cwd.to_string_lossy().into_owned();
                    Ok(vec![
                        number.into_js(ctx)?,
                        command.into_js(ctx)?,
                        cwd.into_js(ctx)?,
                        send.into_value(),
                        signal.into_js(ctx)?,
                    ])
                });
                self.thread.call(self.extension, "execOperations", arguments)
            });
            let forwarded = async {
                while let Some(piece) = received.recv().await {
                    if output.send(piece).await.is_err() {
                        break;
                    }
                }
            };
            let (ended, ()) = tokio::join!(called, forwarded);
            let ended = ended.map_err(failure)?;
            Ok(ended["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()))
        })
    }
}
