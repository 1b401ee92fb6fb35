//! Answering prompts, and cancelling them.

use std::sync::Arc;

use pi_agent::{Limit, Outcome};
use pi_coding_agent::AgentSession;
use pi_coding_agent::extension::InputSource;
use pi_coding_agent::session::{
    CommandSource, CompactError, Disposition, PromptError, PromptOptions, Run,
};
use pi_jsonrpc::Error;
use pi_protocol::{AssistantMessage, CancelToken, StopReason};
use pi_tools::fit_images;
use tokio::sync::oneshot;

use super::Session;
use crate::content::PromptContent;
use crate::errors::{auth_required, run_error};
use crate::events::Reporter;
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
            () = cancel.cancelled() => return Ok(Answered::Stopped(Stop::Cancelled)),
            turn = Arc::clone(&self.turn).lock_owned() => turn,
        };
        let (inserted, waiting) = oneshot::channel();
        let this = Arc::clone(self);
        // A task of its own: if the client is gone, the run is aborted in order and its log written.
        let running = tokio::spawn(async move {
            *this.prompting() = Some(cancel.clone());
            this.ui.set_in_turn(true);
            let stop = match this.reporter() {
                Ok(reporter) => {
                    reporter.expect_message(Some(inserted));
                    let stop = this.run(&reporter, content, &cancel).await;
                    reporter.expect_message(None);
                    stop
                }
                Err(error) => Stop::Error(error),
            };
            this.ui.set_in_turn(false);
            *this.prompting() = None;
            drop(turn);
            stop
        });
        if self.client.version == Version::V2
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
    async fn run(&self, reporter: &Reporter, content: PromptContent, cancel: &CancelToken) -> Stop {
        let session = match self.agent() {
            Ok(session) => session,
            Err(error) => return Stop::Error(error),
        };
        if let Some(instructions) = compact_command(&content.text) {
            self.begin_local(reporter, content.text).await;
            let stop = self.compact(&session, instructions, cancel).await;
            self.end(stop.clone()).await;
            return stop;
        }
        if is_extension_command(&session, &content.text) {
            return self.run_command(reporter, &session, content, cancel).await;
        }
        if let Err(error) = select_model(&session).await {
            return Stop::Error(error);
        }
        let text = content.text.clone();
        let before = session.message_count();
        let submitted = tokio::select! {
            biased;
            () = cancel.cancelled() => return Stop::Cancelled,
            submitted = submit(&session, content) => submitted,
        };
        let run = match submitted {
            Ok(Disposition::Started(run)) => run,
            Ok(Disposition::Handled | Disposition::Queued) => {
                self.begin_local(reporter, text).await;
                let stop = self.settle(&session, before, cancel).await;
                self.end(stop.clone()).await;
                return stop;
            }
            Err(error) => return refused(error),
        };
        self.report(Update::State(State::Running)).await;
        if before == 0 && session.name().is_none() {
            self.report(Update::title(Title::Set(one_line(&text)))).await;
        }
        let outcome = finish(&session, run, cancel).await;
        let stop = stop(&session, outcome);
        self.end(stop.clone()).await;
        stop
    }

    /// Runs a command of an extension, and what it asks the model.
    async fn run_command(
        &self,
        reporter: &Reporter,
        session: &AgentSession,
        content: PromptContent,
        cancel: &CancelToken,
    ) -> Stop {
        // First, so that a message that the command sends is not taken for the prompt.
        self.begin_local(reporter, content.text.clone()).await;
        let before = session.message_count();
        let submitted = tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(Disposition::Handled),
            submitted = submit(session, content) => submitted,
        };
        let stop = match submitted {
            // A run only if the command disappeared just now.
            Ok(Disposition::Started(run)) => {
                let outcome = finish(session, run, cancel).await;
                stop(session, outcome)
            }
            Ok(Disposition::Handled | Disposition::Queued) => {
                self.settle(session, before, cancel).await
            }
            Err(error) => refused(error),
        };
        self.end(stop.clone()).await;
        stop
    }

    /// Waits for the run that a command or an extension has started instead of a prompt, if there
    /// is one. `earlier` and `before` are the session and the number of its messages before that.
    async fn settle(&self, earlier: &AgentSession, before: usize, cancel: &CancelToken) -> Stop {
        // A command may have replaced the session.
        let Ok(session) = self.agent() else { return Stop::Cancelled };
        {
            let idle = session.wait_for_idle();
            tokio::pin!(idle);
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    session.request_abort();
                    idle.await;
                }
                () = &mut idle => {}
            }
        }
        if cancel.is_cancelled() {
            return Stop::Cancelled;
        }
        let before = if session.is(earlier) { before } else { 0 };
        if session.message_count() <= before {
            return Stop::EndTurn;
        }
        match last_answer(&session) {
            Some(answer) => answer_stop(&answer),
            None => Stop::EndTurn,
        }
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
                self.report(Update::Text { id: self.local_id("compaction"), text }).await;
                Stop::EndTurn
            }
            Err(CompactError::Cancelled) => Stop::Cancelled,
            Err(_) if cancel.is_cancelled() => Stop::Cancelled,
            Err(error) => Stop::Error(Error::internal(error)),
        }
    }

    /// Reports the begin of a command that needs no model.
    async fn begin_local(&self, reporter: &Reporter, text: String) {
        self.report(Update::State(State::Running)).await;
        reporter.insert_message(self.local_id("command"), vec![Block::Text(text)]).await;
    }

    async fn end(&self, stop: Stop) {
        self.report(Update::State(State::Idle(Some(stop)))).await;
    }
}

/// Returns true if a text calls a command of an extension.
fn is_extension_command(session: &AgentSession, text: &str) -> bool {
    let Some(name) = text.strip_prefix('/').and_then(|text| text.split(' ').next()) else {
        return false;
    };
    let mut commands = session.commands().into_iter();
    commands.any(|command| command.source == CommandSource::Extension && command.name == name)
}

/// Selects a model for a session that was opened before the user had credentials.
async fn select_model(session: &AgentSession) -> Result<(), Error> {
    if session.model().is_some() {
        return Ok(());
    }
    let mut providers: Vec<String> =
        session.available_models().iter().map(|model| model.provider.clone()).collect();
    providers.dedup();
    for provider in providers {
        let selected = session.select_initial_model(&provider).await;
        if selected.map_err(Error::internal)?.is_some() {
            break;
        }
    }
    Ok(())
}

/// Submits a prompt, with its images scaled for the model.
async fn submit(
    session: &AgentSession,
    content: PromptContent,
) -> Result<Disposition<Run>, PromptError> {
    let PromptContent { mut text, mut images } = content;
    if !images.is_empty() {
        let fitted = fit_images(images, session.workspace().image_settings()).await;
        if !fitted.notes.is_empty() {
            text = format!("{text}\n\n{}", fitted.notes.join("\n"));
        }
        images = fitted.images;
    }
    let options = PromptOptions::default().images(images).source(InputSource::Rpc);
    session.submit(&text, options).await
}

/// Finishes a run, which a cancellation aborts.
async fn finish(session: &AgentSession, run: Run, cancel: &CancelToken) -> Outcome {
    let finishing = run.finish();
    tokio::pin!(finishing);
    tokio::select! {
        biased;
        outcome = &mut finishing => return outcome,
        () = cancel.cancelled() => session.request_abort(),
    }
    finishing.await
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
    match error {
        PromptError::Blocked { .. } => Stop::Refusal,
        PromptError::NoModel | PromptError::Unusable(_) => Stop::Error(auth_required(error)),
        error => Stop::Error(Error::internal(error)),
    }
}

fn last_answer(session: &AgentSession) -> Option<Arc<AssistantMessage>> {
    let messages = session.messages();
    messages.iter().rev().find_map(|message| message.as_assistant()).cloned()
}

/// Returns the end of a run whose outcome only its last answer tells.
fn answer_stop(answer: &AssistantMessage) -> Stop {
    match &answer.stop_reason {
        StopReason::Aborted => Stop::Cancelled,
        StopReason::Length => Stop::MaxTokens,
        StopReason::Error => {
            let problem = answer.error_message.as_deref().unwrap_or("the run failed");
            Stop::Error(run_error(problem))
        }
        _ => Stop::EndTurn,
    }
}

fn stop(session: &AgentSession, outcome: Outcome) -> Stop {
    match outcome {
        Outcome::Completed => match last_answer(session).map(|answer| answer.stop_reason.clone()) {
            Some(StopReason::Length) => Stop::MaxTokens,
            _ => Stop::EndTurn,
        },
        Outcome::Aborted => Stop::Cancelled,
        Outcome::Failed { error } => Stop::Error(run_error(&error)),
        Outcome::Limit { limit: Limit::Turns } => Stop::MaxTurnRequests,
        Outcome::Limit { limit: Limit::Tokens } => Stop::MaxTokens,
        Outcome::Limit { limit } => {
            Stop::Error(Error::internal(format!("the run ended at a limit: {limit}")))
        }
        Outcome::Stopped { by, reason } => {
            Stop::Error(Error::internal(format!("the run was stopped by {by}: {reason}")))
        }
        Outcome::Suspended => Stop::Error(Error::internal("the run waits for an approval")),
        Outcome::Repetition { repetition } => {
            let text = format!("the run ended because the model repeated itself: {repetition}");
            Stop::Error(Error::internal(text))
        }
        _ => Stop::Error(Error::internal("the run ended without an answer")),
    }
}
