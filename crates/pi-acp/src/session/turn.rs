//! Answering prompts, and cancelling them.

use std::sync::Arc;

use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::InputSource;
use pi_coding_agent::session::{CompactError, EndedTurn, PromptError, PromptOptions};
use pi_jsonrpc::Error;
use pi_protocol::{CancelToken, Outcome, StopCause};
use tokio::sync::oneshot;

use super::Session;
use crate::content::PromptContent;
use crate::errors::{auth_required, run_error};
use crate::store::one_line;
use crate::update::{Block, State, Stop, Title, Update};
use crate::wire::Version;

/// The answer to a prompt.
pub(crate) enum Answered {
    /// The run is over.
    Stopped(Stop),
    /// The prompt is part of the conversation, and its run goes on.
    Inserted(String),
}

impl Session {
    /// Answers a prompt. In version 1 the run is over afterwards, in version 2 it has begun.
    pub(crate) async fn prompt(
        self: &Arc<Self>,
        content: PromptContent,
        cancel: CancelToken,
    ) -> Result<Answered, Error> {
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Answered::Stopped(Stop::CANCELLED)),
            turn = self.hosted.turn() => turn,
        };
        let (inserted, waiting) = oneshot::channel();
        let this = Arc::clone(self);
        // A task of its own: if the client is gone, the run is aborted in order and its log written.
        let running = tokio::spawn(async move {
            *this.prompting() = Some(cancel.clone());
            this.ui.set_in_turn(true);
            this.reporter.expect_message(Some(inserted));
            let stop = this.run(content, &cancel).await;
            this.reporter.expect_message(None);
            this.ui.set_in_turn(false);
            *this.prompting() = None;
            drop(turn);
            stop
        });
        if self.client().version == Version::V2
            && let Ok(id) = waiting.await
        {
            return Ok(Answered::Inserted(id));
        }
        let stop = running.await.map_err(|error| Error::internal(format!("the run: {error}")))?;
        match stop {
            Stop::Error(error) => Err(error),
            stop => Ok(Answered::Stopped(stop)),
        }
    }

    /// Runs a prompt to its end.
    async fn run(&self, content: PromptContent, cancel: &CancelToken) -> Stop {
        let session = match self.agent() {
            Ok(session) => session,
            Err(error) => return Stop::Error(error),
        };
        if let Some(instructions) = compact_command(&content.text) {
            self.begin_local(content.text);
            let stop = self.compact(&session, instructions, cancel).await;
            self.end(stop.clone());
            return stop;
        }
        let PromptContent { text, images } = content;
        let options = PromptOptions::default().images(images).fit_images().source(InputSource::Rpc);
        let turn = session.turn(text.clone(), options).cancel(cancel);
        let is_command = turn.is_command();
        if is_command {
            // First, so that a message that the command sends is not taken for the prompt.
            self.begin_local(text.clone());
        }
        let is_first = session.message_count() == 0;
        let stop = match turn.begin().await {
            Ok(begun) => {
                if !is_command && begun.starts_run() {
                    self.report(Update::State(State::Running));
                    if is_first && session.name().is_none() {
                        self.report(Update::title(Title::Set(one_line(&text))));
                    }
                } else if !is_command {
                    self.begin_local(text);
                }
                stop(&begun.finish().await)
            }
            Err(error) if is_command => refused(error),
            Err(error) => return refused(error),
        };
        self.end(stop.clone());
        stop
    }

    /// Compacts the session, which `/compact` asks for.
    async fn compact(
        &self,
        session: &AgentSession,
        instructions: Option<String>,
        cancel: &CancelToken,
    ) -> Stop {
        let compacting = session.compact(instructions.as_deref());
        tokio::pin!(compacting);
        let result = tokio::select! {
            biased;
            result = &mut compacting => result,
            () = cancel.cancelled() => {
                session.request_abort();
                compacting.await
            }
        };
        match result {
            Ok(_) => {
                let text = "The session was compacted.".to_owned();
                self.report(Update::Text { id: self.local_id("compaction"), text });
                Stop::Cause(StopCause::EndTurn)
            }
            Err(CompactError::Cancelled) => Stop::CANCELLED,
            Err(_) if cancel.is_cancelled() => Stop::CANCELLED,
            Err(error) => Stop::Error(Error::internal(error)),
        }
    }

    /// Reports the begin of a command that needs no model.
    fn begin_local(&self, text: String) {
        self.report(Update::State(State::Running));
        self.reporter.insert_message(self.local_id("command"), vec![Block::Text(text)]);
    }

    fn end(&self, stop: Stop) {
        self.report(Update::State(State::Idle(Some(stop))));
    }
}

/// Returns the instructions of `/compact`; `None` if the text is something else.
fn compact_command(text: &str) -> Option<Option<String>> {
    let rest = text.trim().strip_prefix("/compact")?;
    match rest.trim() {
        "" => Some(None),
        instructions if rest.starts_with(char::is_whitespace) => {
            Some(Some(instructions.to_owned()))
        }
        _ => None,
    }
}

/// Returns the end of a prompt that was not sent to the model.
fn refused(error: PromptError) -> Stop {
    match error.outcome() {
        Outcome::NoModel => Stop::Error(auth_required(error)),
        outcome => match outcome.row().stop {
            Some(cause) => Stop::Cause(cause),
            None => Stop::Error(Error::internal(error)),
        },
    }
}

fn stop(end: &EndedTurn) -> Stop {
    match (&end.run, end.stop()) {
        (_, Some(cause)) => Stop::Cause(cause),
        (Ok(pi_agent::Outcome::Failed { error }), None) => Stop::Error(run_error(error)),
        (_, None) => Stop::Error(Error::internal(end.reason().unwrap_or_default())),
    }
}
