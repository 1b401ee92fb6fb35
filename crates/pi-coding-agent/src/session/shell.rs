//! Shell commands of the user.

use std::borrow::Cow;

use pi_protocol::{AgentMessage, CancelToken, now_ms};
use pi_session::{BashExecution, SessionError};
use pi_tools::Workspace;
use tokio::sync::mpsc;

use super::{AgentSession, SessionEvent, lock};
use crate::extension::{BashOperations, BashResult, UserBash, UserBashHandling};
use crate::guard::{RedactedStream, describe_refused};

/// Options of a shell command.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BashOptions {
    /// The model does not see the command.
    pub exclude_from_context: bool,
    /// Identity of the command in events.
    pub id: Option<String>,
}

/// Reasons why a shell command has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BashError {
    /// The command could not be run.
    #[error("{0}")]
    Failed(String),
    /// The log cannot be written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl BashOptions {
    /// Hides the command from the model.
    #[must_use]
    pub fn exclude_from_context(mut self, exclude: bool) -> Self {
        self.exclude_from_context = exclude;
        self
    }

    /// Sets the identity of the command in events.
    #[must_use]
    pub fn id(mut self, id: Option<String>) -> Self {
        self.id = id;
        self
    }
}

/// The shell commands that are running.
#[derive(Debug, Default)]
pub(super) struct RunningCommands {
    next: u64,
    running: Vec<(u64, CancelToken)>,
}

impl AgentSession {
    /// Runs a shell command of the user. Several may run at once.
    pub async fn execute_bash(
        &self,
        command: &str,
        options: BashOptions,
    ) -> Result<BashResult, BashError> {
        let (key, cancel) = {
            let mut commands = lock(&self.0.commands);
            commands.next += 1;
            let (key, cancel) = (commands.next, CancelToken::new());
            commands.running.push((key, cancel.clone()));
            (key, cancel)
        };
        let result = self.run_bash(command, &options, &cancel).await;
        lock(&self.0.commands).running.retain(|(other, _)| *other != key);
        let result = result?;
        self.record_bash(command, &result, options.exclude_from_context)?;
        Ok(result)
    }

    async fn run_bash(
        &self,
        command: &str,
        options: &BashOptions,
        cancel: &CancelToken,
    ) -> Result<BashResult, BashError> {
        let cwd = self.0.workspace.cwd().to_owned();
        let question = UserBash::new(command, options.exclude_from_context, cwd);
        let handling = match self.ask(question).await.answer {
            Ok(handling) => handling,
            Err(failure) => {
                let error = failure.error.clone();
                self.report(vec![failure]).await;
                return Err(BashError::Failed(error));
            }
        };
        if let UserBashHandling::Result(result) = handling {
            return Ok(result);
        }
        if let Some(guard) = &self.0.guard {
            guard.check_user_command(command).map_err(BashError::Failed)?;
        }
        let (chunks, mut received) = mpsc::channel::<String>(64);
        let emitting = async {
            let mut output = String::new();
            let mut stream = RedactedStream::new(self.0.guard.clone());
            loop {
                let piece = received.recv().await;
                let delta = match &piece {
                    Some(piece) => stream.push(piece),
                    None => stream.finish(),
                };
                if !delta.is_empty() {
                    if matches!(handling, UserBashHandling::Operations(_)) {
                        output.push_str(&delta);
                    }
                    let id = options.id.clone();
                    self.emit(SessionEvent::BashExecutionUpdate { id, delta }).await;
                }
                if piece.is_none() {
                    break;
                }
            }
            output
        };
        if let UserBashHandling::Operations(operations) = &handling {
            let running = run_through(&**operations, command, &self.0.workspace, chunks, cancel);
            let (ended, output) = tokio::join!(running, emitting);
            return ended.map(|result| BashResult { output, ..result });
        }
        let guard = self.0.guard.as_ref();
        let workspace = guard.map(|guard| guard.user_workspace(&self.0.workspace, command));
        let workspace = workspace.as_ref().unwrap_or(&self.0.workspace);
        let running = pi_tools::run_command(workspace, command, cancel, chunks);
        let (ended, _) = tokio::join!(running, emitting);
        let ended = ended.map_err(|error| BashError::Failed(error.message().to_owned()))?;
        let mut output = self.redacted(&ended.output).into_owned();
        let refused = guard.map(|guard| guard.take_refused_programs()).unwrap_or_default();
        if let Some(refused) = describe_refused(&refused) {
            output.push_str(&format!("\n[{}]", self.redacted(&refused)));
        }
        Ok(BashResult {
            output,
            exit_code: ended.exit_code,
            cancelled: ended.cancelled,
            truncated: ended.truncated,
            full_output_path: ended
                .full_output_path
                .map(|path| path.to_string_lossy().into_owned()),
        })
    }

    /// Redacts a text that enters the session, such as the content of a file.
    pub fn redacted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.guard.as_ref().map_or(Cow::Borrowed(text), |guard| guard.redact(text))
    }

    /// Appends the result to the log; during a run, after the run.
    fn record_bash(
        &self,
        command: &str,
        result: &BashResult,
        exclude_from_context: bool,
    ) -> Result<(), SessionError> {
        let message = AgentMessage::custom(&BashExecution {
            command: command.to_owned(),
            output: result.output.clone(),
            exit_code: result.exit_code.map(i64::from),
            cancelled: result.cancelled,
            truncated: result.truncated,
            full_output_path: result.full_output_path.clone(),
            timestamp: now_ms(),
            exclude_from_context: exclude_from_context.then_some(true),
            ..BashExecution::default()
        })?;
        self.pending().bash.push(message);
        if !self.is_streaming() {
            self.flush_bash()?;
        }
        Ok(())
    }

    /// Appends results that waited for the end of a run.
    pub(super) fn flush_bash(&self) -> Result<(), SessionError> {
        let pending = std::mem::take(&mut self.pending().bash);
        for message in pending {
            self.log().append_message(message.clone())?;
            self.message_appended(message);
        }
        Ok(())
    }

    /// Aborts all shell commands of the user.
    pub fn abort_bash(&self) {
        let running: Vec<CancelToken> =
            lock(&self.0.commands).running.iter().map(|(_, cancel)| cancel.clone()).collect();
        for cancel in running {
            cancel.cancel();
        }
    }

    /// Returns true while a shell command of the user is running.
    pub fn is_bash_running(&self) -> bool {
        !lock(&self.0.commands).running.is_empty()
    }
}

/// Runs a command through the operations of an extension. The output goes to `chunks`.
async fn run_through(
    operations: &dyn BashOperations,
    command: &str,
    workspace: &Workspace,
    chunks: mpsc::Sender<String>,
    cancel: &CancelToken,
) -> Result<BashResult, BashError> {
    let cwd = workspace.cwd().to_owned();
    let ended = operations.exec(command.to_owned(), cwd, chunks, cancel.clone()).await;
    let exit_code = ended.map_err(|error| BashError::Failed(error.message().to_owned()))?;
    Ok(BashResult { exit_code, cancelled: cancel.is_cancelled(), ..BashResult::default() })
}
