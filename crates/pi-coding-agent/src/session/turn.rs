//! One turn: a prompt, driven from outside until everything that it caused is settled.
//!
//! Every front end is an adapter over a turn: it makes the prompt, passes a token that cancels it,
//! and reports the one value that comes out. A turn knows no protocol and prints nothing.

mod end;
mod usage;

use std::sync::Arc;

use pi_agent::Outcome;
use pi_protocol::{AssistantMessage, CancelToken, ImageContent, StopReason, now_ms};
use pi_tools::fit_images;
use serde_json::Value;

use super::collect::{Collected, InvalidOutput, ResultCollector};
use super::last_answer;
use super::prompt::Submitted;
use super::{AgentSession, Disposition, PromptError, PromptOptions, Run};
use crate::extension::InputSource;
pub use end::{EndedTurn, failure_outcome};
pub use usage::RunUsage;

/// Called before the model is asked to repair its result; false ends the turn.
type RepairFn<'a> = Box<dyn FnMut(&str) -> bool + Send + 'a>;

/// A prompt on its way to its end.
#[must_use = "a turn does nothing until it is run"]
pub struct Turn<'a> {
    session: AgentSession,
    start: Start,
    cancel: CancelToken,
    collector: Option<&'a ResultCollector>,
    on_repair: Option<RepairFn<'a>>,
}

/// The work that a turn begins with.
enum Start {
    Prompt {
        text: String,
        options: PromptOptions,
    },
    /// A run that continues from the end of the log.
    Resume,
    /// None: the result is collected from the answer in the log.
    Collect,
}

impl AgentSession {
    /// Returns the turn of a prompt.
    pub fn turn(&self, text: impl Into<String>, options: PromptOptions) -> Turn<'static> {
        Turn::new(self, Start::Prompt { text: text.into(), options })
    }

    /// Returns a turn that continues the run of an earlier process: calls without results first,
    /// then the next request.
    pub fn resumed_turn(&self) -> Turn<'static> {
        Turn::new(self, Start::Resume)
    }

    /// Returns a turn that collects the result of a run that has ended, and repairs it.
    pub fn collecting_turn(&self) -> Turn<'static> {
        Turn::new(self, Start::Collect)
    }

    /// Returns the session that is current now: a command may have replaced this one.
    fn current(&self) -> Self {
        let runtime = self.0.context.runtime();
        runtime.map_or_else(|| self.clone(), |runtime| runtime.session())
    }

    /// Scales and converts images for the model in use, and adds notes on them to the text.
    pub async fn fitted(
        &self,
        mut text: String,
        images: Vec<ImageContent>,
    ) -> (String, Vec<ImageContent>) {
        if images.is_empty() {
            return (text, images);
        }
        let fitted = fit_images(images, self.workspace().image_settings()).await;
        if !fitted.notes.is_empty() {
            text = format!("{text}\n\n{}", fitted.notes.join("\n"));
        }
        (text, fitted.images)
    }

    /// Selects a model for a session that was opened before the user had credentials.
    async fn select_first_model(&self) -> Result<(), PromptError> {
        if self.model().is_some() {
            return Ok(());
        }
        let models = self.available_models();
        let mut providers: Vec<&str> = models.iter().map(|model| model.provider.as_str()).collect();
        providers.dedup();
        for provider in providers {
            if self.select_initial_model(provider).await?.is_some() {
                break;
            }
        }
        Ok(())
    }
}

impl<'a> Turn<'a> {
    fn new(session: &AgentSession, start: Start) -> Self {
        Self {
            session: session.clone(),
            start,
            cancel: CancelToken::new(),
            collector: None,
            on_repair: None,
        }
    }

    /// Sets the token that cancels the turn. A prompt that was not accepted yet is dropped; a run
    /// is aborted and ends in order.
    pub fn cancel(mut self, cancel: &CancelToken) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Collects a structured result. The extension of the collector has to be part of the session.
    pub fn collect(mut self, collector: Option<&'a ResultCollector>) -> Self {
        self.collector = collector;
        self
    }

    /// Sets a function that is called with each prompt that asks for a repair of the result. If it
    /// returns false, the turn ends without a result.
    pub fn on_repair(mut self, on_repair: impl FnMut(&str) -> bool + Send + 'a) -> Self {
        self.on_repair = Some(Box::new(on_repair));
        self
    }

    /// Returns true if the prompt calls a command of an extension, which needs no model.
    pub fn is_command(&self) -> bool {
        match &self.start {
            Start::Prompt { text, options } if options.expand => {
                self.session.extension_command(text).is_some()
            }
            _ => false,
        }
    }

    /// Runs the turn to its end.
    pub async fn run(self) -> EndedTurn {
        let session = self.session.clone();
        match Box::pin(self.begin()).await {
            Ok(begun) => begun.finish().await,
            Err(error) => EndedTurn::refused(&session, error),
        }
    }

    /// Submits the prompt. Returns as soon as it is decided what becomes of it.
    pub async fn begin(self) -> Result<BegunTurn<'a>, PromptError> {
        let is_command = self.is_command();
        let source = match &self.start {
            Start::Prompt { options, .. } => options.source,
            Start::Resume | Start::Collect => InputSource::Interactive,
        };
        let Self { session, start, cancel, collector, on_repair } = self;
        let mut mark = Mark::of(&session);
        let begun = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            begun = begin(&session, start, is_command, collector) => Some(begun),
        };
        let Some(submitted) = begun else {
            if is_command {
                // The command may have started a run.
                session.current().abort().await;
            }
            return Err(PromptError::Cancelled);
        };
        let Submitted { disposition, run } = submitted?;
        if run.is_some() {
            mark.answer = last_answer(session.messages().iter()).cloned();
        }
        Ok(BegunTurn { session, source, disposition, run, mark, cancel, collector, on_repair })
    }
}

async fn begin(
    session: &AgentSession,
    start: Start,
    is_command: bool,
    collector: Option<&ResultCollector>,
) -> Result<Submitted, PromptError> {
    if matches!(start, Start::Prompt { .. }) && !is_command {
        session.select_first_model().await?;
    }
    if let Some(collector) = collector {
        collector.begin(session);
    }
    match start {
        Start::Collect => Ok(Submitted { disposition: Disposition::Handled, run: None }),
        Start::Resume => {
            let run = session.resume().await?;
            Ok(Submitted { disposition: Disposition::Started, run: Some(run) })
        }
        Start::Prompt { mut text, mut options } => {
            if options.fit_images {
                let images = std::mem::take(&mut options.images);
                (text, options.images) = session.fitted(text, images).await;
            }
            session.submit(&text, options).await
        }
    }
}

/// The state of a session before a turn.
struct Mark {
    messages: usize,
    /// The answer before a run.
    answer: Option<Arc<AssistantMessage>>,
    /// Number of entries in the log.
    entries: usize,
    /// Time of the begin, in milliseconds.
    time: f64,
}

impl Mark {
    fn of(session: &AgentSession) -> Self {
        let entries = session.entry_count();
        Self { messages: session.message_count(), answer: None, entries, time: now_ms() }
    }
}

/// A turn whose prompt was accepted. Dropping it without finishing it makes the session idle again.
#[must_use = "a run that the prompt started begins when the turn is finished"]
pub struct BegunTurn<'a> {
    session: AgentSession,
    source: InputSource,
    disposition: Disposition,
    run: Option<Run>,
    mark: Mark,
    cancel: CancelToken,
    collector: Option<&'a ResultCollector>,
    on_repair: Option<RepairFn<'a>>,
}

impl BegunTurn<'_> {
    /// Returns what became of the prompt.
    pub fn disposition(&self) -> Disposition {
        self.disposition
    }

    /// Returns true if the prompt started a run.
    pub fn starts_run(&self) -> bool {
        self.run.is_some()
    }

    /// Returns the run that the prompt started. For callers that only care that it is finished.
    pub fn into_run(self) -> Option<Run> {
        self.run
    }

    /// Finishes the run, or waits for what a command started instead of one; then collects the
    /// result and lets the model repair it.
    pub async fn finish(mut self) -> EndedTurn {
        let mut run = self.run.take();
        let mut result = None;
        let ended = loop {
            let outcome = match run.take() {
                Some(run) => self.drive(run).await,
                None => self.settle().await,
            };
            let collector = self.collector.filter(|_| outcome == Outcome::Completed);
            let Some(collector) = collector else { break Ok(outcome) };
            match collector.collect(&self.session).await {
                Collected::Valid(value) => {
                    result = Some(Ok(value));
                    break Ok(outcome);
                }
                Collected::Invalid(invalid) => {
                    result = Some(Err(invalid));
                    break Ok(outcome);
                }
                Collected::Repair(text) => match self.repair(text).await {
                    Ok(Some(submitted)) => run = submitted.run,
                    Ok(None) => break Ok(outcome),
                    Err(error) => break Err(error),
                },
            }
        };
        self.end(ended, result)
    }

    /// Finishes a run, which a cancellation aborts.
    async fn drive(&mut self, run: Run) -> Outcome {
        let mut finishing = Box::pin(run.finish());
        tokio::select! {
            biased;
            outcome = &mut finishing => return outcome,
            () = self.cancel.cancelled() => self.session.request_abort(),
        }
        finishing.await
    }

    /// Waits for the run that a command or an extension started instead of one for the prompt.
    async fn settle(&mut self) -> Outcome {
        let session = self.session.current();
        {
            let idle = session.wait_for_idle();
            tokio::pin!(idle);
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => {
                    session.request_abort();
                    idle.await;
                    return Outcome::Aborted;
                }
                () = &mut idle => {}
            }
        }
        let answer = match session.is(&self.session) {
            true => self.answer(),
            // The session that replaced this one has answers of its own.
            false => last_answer(session.messages().iter())
                .filter(|answer| answer.timestamp >= self.mark.time)
                .cloned(),
        };
        match answer {
            Some(answer) if answer.stop_reason == StopReason::Aborted => Outcome::Aborted,
            Some(answer) if answer.stop_reason == StopReason::Error => {
                let error = answer.error_message.as_deref().unwrap_or("the run failed");
                Outcome::Failed { error: error.to_owned() }
            }
            _ => Outcome::Completed,
        }
    }

    /// Asks the model to repair its result. `None` if the caller ends the turn.
    async fn repair(&mut self, text: String) -> Result<Option<Submitted>, PromptError> {
        if let Some(on_repair) = &mut self.on_repair
            && !on_repair(&text)
        {
            return Ok(None);
        }
        self.session.continue_budget();
        let options = PromptOptions::default().literal().source(self.source);
        let submitting = Box::pin(self.session.submit(&text, options));
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(PromptError::Cancelled),
            submitted = submitting => submitted.map(Some),
        }
    }

    /// Returns the last answer of the session if it belongs to this turn.
    fn answer(&self) -> Option<Arc<AssistantMessage>> {
        if self.disposition != Disposition::Started
            && self.session.message_count() <= self.mark.messages
        {
            return None;
        }
        let last = last_answer(self.session.messages().iter()).cloned()?;
        let is_earlier = self.mark.answer.as_ref().is_some_and(|one| Arc::ptr_eq(one, &last));
        (!is_earlier).then_some(last)
    }

    fn end(
        self,
        run: Result<Outcome, PromptError>,
        result: Option<Result<Arc<Value>, InvalidOutput>>,
    ) -> EndedTurn {
        let current = self.session.current();
        let answer = self.answer();
        let is_asked = self.disposition == Disposition::Started || answer.is_some();
        EndedTurn {
            outcome: end::outcome(&run, &self.session, is_asked, result.as_ref()),
            run,
            is_asked,
            answer,
            result,
            replaced: (!current.is(&self.session)).then_some(current),
            session: self.session,
            first_entry: self.mark.entries,
        }
    }
}

pi_protocol::debug_fields!(Turn<'_>, session);

pi_protocol::debug_fields!(BegunTurn<'_>, disposition);
