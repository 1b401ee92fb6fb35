//! Commands that the user runs, beside the model.

use std::borrow::Cow;

use pi_protocol::{AgentMessage, CancelToken, now_ms};
use pi_session::{BashExecution, SessionError};
use serde::Serialize;

use super::{AgentSession, SessionNews};
use crate::extension::UserBash;

/// What came of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BashResult {
    /// What it printed; of a lot, the end.
    pub output: String,
    /// How it ended; absent if it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// It was stopped.
    pub cancelled: bool,
    /// There was more output.
    pub truncated: bool,
    /// Where all of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

/// How a command is meant.
#[derive(Debug, Clone, Default)]
pub struct BashOptions {
    /// The model is not told.
    pub exclude_from_context: bool,
    /// A name for it in events.
    pub id: Option<String>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum BashError {
    /// It could not be run.
    #[error("{0}")]
    Failed(String),
    /// The conversation cannot be written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl AgentSession {
    /// Runs a command of the user. Several may run at once.
    pub async fn execute_bash(
        &self,
        command: &str,
        options: BashOptions,
    ) -> Result<BashResult, BashError> {
        let (key, cancel) = {
            let mut state = self.state();
            state.next_bash += 1;
            let (key, cancel) = (state.next_bash, CancelToken::new());
            state.bash.push((key, cancel.clone()));
            (key, cancel)
        };
        let result = self.run_bash(command, &options, &cancel).await;
        self.state().bash.retain(|(other, _)| *other != key);
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
        let exclude_from_context = options.exclude_from_context;
        let cwd = self.0.workspace.cwd();
        let event = UserBash { command, exclude_from_context, cwd };
        let context = self.extension_context();
        let asked = self.0.extensions.user_bash(&event, &context).await;
        if let Some(result) = asked.map_err(|error| BashError::Failed(error.0))? {
            return Ok(result);
        }
        if let Some(guard) = &self.0.guard {
            guard.check_user_command(command).map_err(BashError::Failed)?;
        }
        let (chunks, mut received) = tokio::sync::mpsc::channel::<String>(64);
        let told = async {
            while let Some(delta) = received.recv().await {
                let id = options.id.as_deref();
                let delta = self.masked(&delta);
                self.news(SessionNews::BashExecutionUpdate { id, delta: &delta }).await;
            }
        };
        let running = pi_tools::run_command(&self.0.workspace, command, cancel, chunks);
        let (ended, ()) = tokio::join!(running, told);
        let ended = ended.map_err(|error| BashError::Failed(error.to_string()))?;
        Ok(BashResult {
            output: self.masked(&ended.output).into_owned(),
            exit_code: ended.exit_code,
            cancelled: ended.cancelled,
            truncated: ended.truncated,
            full_output_path: ended
                .full_output_path
                .map(|path| path.to_string_lossy().into_owned()),
        })
    }

    /// A text as it may be told and kept.
    fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.guard.as_ref().map_or(Cow::Borrowed(text), |guard| guard.mask(text))
    }

    /// Adds the result to the conversation; during a run, when that is over.
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
        self.state().pending_bash.push(message);
        if !self.is_streaming() {
            self.flush_bash()?;
        }
        Ok(())
    }

    /// Adds results that waited for the end of a run.
    pub(super) fn flush_bash(&self) -> Result<(), SessionError> {
        let pending = std::mem::take(&mut self.state().pending_bash);
        for message in pending {
            self.entries().append_message(message.clone())?;
            self.added(message);
        }
        Ok(())
    }

    /// Stops all commands of the user.
    pub fn abort_bash(&self) {
        let running: Vec<CancelToken> =
            self.state().bash.iter().map(|(_, cancel)| cancel.clone()).collect();
        for cancel in running {
            cancel.cancel();
        }
    }

    /// A command of the user is running.
    pub fn is_bash_running(&self) -> bool {
        !self.state().bash.is_empty()
    }
}
