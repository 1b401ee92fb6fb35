//! Prompts on their way to the model: commands, extensions, templates, queues.

use std::sync::Arc;

use pi_agent::Outcome;
use pi_config::resources::SystemPromptOptions;
use pi_models::UnusableModel;
use pi_protocol::{AgentMessage, ImageContent, Message, MessageContent, SystemMessage, now_ms};
use pi_session::ExtensionMessage;
use pi_session::compaction::CheckTime;
use serde_json::{Map, Value};

use super::queue::user_message;
use super::{AgentSession, ModelSelectError, PromptChange, Run, lock};
use crate::extension::{
    BeforeAgentStart, BeforePrompt, FirstMessage, Input, InputAction, InputSource, PromptDecision,
    QuestionKind, StreamingBehavior,
};

/// Options of a prompt.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PromptOptions {
    /// Runs commands and expands skills and templates.
    pub expand: bool,
    /// Images that go with the text.
    pub images: Vec<ImageContent>,
    /// Scales and converts the images for the model in use, and adds notes on them to the text.
    pub fit_images: bool,
    /// Queue for a prompt that comes during a run; without one, such a prompt is refused.
    pub streaming_behavior: Option<StreamingBehavior>,
    /// Origin of the prompt.
    pub source: InputSource,
}

impl Default for PromptOptions {
    fn default() -> Self {
        Self {
            expand: true,
            images: Vec::new(),
            fit_images: false,
            streaming_behavior: None,
            source: InputSource::Interactive,
        }
    }
}

impl PromptOptions {
    /// Adds images.
    #[must_use]
    pub fn images(mut self, images: Vec<ImageContent>) -> Self {
        self.images = images;
        self
    }

    /// Scales and converts the images for the model in use.
    #[must_use]
    pub fn fit_images(mut self) -> Self {
        self.fit_images = true;
        self
    }

    /// Sets the queue for a prompt that comes during a run.
    #[must_use]
    pub fn streaming_behavior(mut self, behavior: StreamingBehavior) -> Self {
        self.streaming_behavior = Some(behavior);
        self
    }

    /// Sets the origin of the prompt.
    #[must_use]
    pub fn source(mut self, source: InputSource) -> Self {
        self.source = source;
        self
    }

    /// Takes the text as it is: no commands, skills or templates.
    #[must_use]
    pub fn literal(mut self) -> Self {
        self.expand = false;
        self
    }
}

/// What became of a submitted prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// A command or an extension dealt with the prompt.
    Handled,
    /// The prompt waits in a queue.
    Queued,
    /// The prompt started a run.
    Started,
}

impl Disposition {
    /// Returns the name used in protocols.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handled => "handled",
            Self::Queued => "queued",
            Self::Started => "started",
        }
    }
}

/// A prompt that was accepted, with the run that it started.
#[derive(Debug)]
pub(super) struct Submitted {
    pub(super) disposition: Disposition,
    pub(super) run: Option<Run>,
}

impl From<Disposition> for Submitted {
    fn from(disposition: Disposition) -> Self {
        Self { disposition, run: None }
    }
}

/// Reasons why a prompt was not accepted or not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A run is in progress, and the prompt names no queue.
    #[error(
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    )]
    Busy,
    /// The session is being compacted, or a branch summarized.
    #[error(
        "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
    )]
    Compacting,
    /// Commands of extensions cannot be queued.
    #[error(
        "Extension command \"/{0}\" cannot be queued. Use prompt() or execute the command when not streaming."
    )]
    CommandQueued(String),
    /// No model is selected.
    #[error(
        "No model selected. Set a key, for example ANTHROPIC_API_KEY, or add a provider to models.json."
    )]
    NoModel,
    /// The model cannot be used, for example because its provider has no key.
    #[error(transparent)]
    Unusable(#[from] UnusableModel),
    /// A skill or template cannot be read; the text says why.
    #[error("{0}")]
    Expansion(String),
    /// A guardrail or hook does not let the prompt reach the model.
    #[error("the prompt was blocked by {by}: {reason}")]
    Blocked {
        /// The guardrail or hook.
        by: String,
        /// The reason.
        reason: String,
    },
    /// The log cannot be read or written.
    #[error(transparent)]
    Session(#[from] pi_session::SessionError),
    /// No model could be selected.
    #[error(transparent)]
    Selection(#[from] ModelSelectError),
    /// The caller cancelled the prompt before it was accepted.
    #[error("the prompt was cancelled")]
    Cancelled,
    /// The run ended without an answer; the text says why.
    #[error("{0}")]
    NoAnswer(String),
}

impl AgentSession {
    /// Submits a prompt, waits until everything is settled, and returns the text of the answer. A
    /// run that fails, is aborted or reaches a limit is an error.
    pub async fn prompt_text(&self, text: &str) -> Result<String, PromptError> {
        let end = self.turn(text, PromptOptions::default()).run().await;
        let reason = end.reason();
        match (end.run?, reason) {
            (Outcome::Completed, _) if !end.is_asked => Ok(String::new()),
            (Outcome::Completed, reason) => end
                .session
                .last_assistant_text()
                .ok_or_else(|| PromptError::NoAnswer(reason.unwrap_or_default())),
            (_, reason) => Err(PromptError::NoAnswer(reason.unwrap_or_default())),
        }
    }

    /// Submits a prompt and waits until the run that it starts is settled.
    pub async fn prompt(
        &self,
        text: &str,
        options: PromptOptions,
    ) -> Result<Disposition, PromptError> {
        let begun = self.turn(text, options).begin().await?;
        let disposition = begun.disposition();
        if let Some(run) = begun.into_run() {
            run.finish().await;
        }
        Ok(disposition)
    }

    /// Submits a prompt. Returns as soon as it is decided what becomes of it; the caller finishes a
    /// run that is started.
    pub(super) async fn submit(
        &self,
        text: &str,
        options: PromptOptions,
    ) -> Result<Submitted, PromptError> {
        if options.expand && self.run_extension_command(text).await {
            return Ok(Disposition::Handled.into());
        }
        if self.0.activity.is_summarizing() {
            return Err(PromptError::Compacting);
        }
        let PromptOptions { expand, images, streaming_behavior, source, .. } = options;
        let input = Input::new(text.to_owned(), images, source, streaming_behavior);
        let asked = self.ask(input).await;
        if asked.answer.is_ok_and(|action| action == InputAction::Handled) {
            return Ok(Disposition::Handled.into());
        }
        let Input { text, images, .. } = asked.question;
        let text = if expand { self.expanded(text)? } else { text };
        let (text, context) = self.admit_prompt(text, source).await?;
        let Some(run) = Run::begin(self) else {
            let behavior = streaming_behavior.ok_or(PromptError::Busy)?;
            self.enqueue(text, images, context, behavior).await?;
            return Ok(Disposition::Queued.into());
        };
        let first = FirstMessage::User { text, images };
        let run = self.prepare(run, first, context).await?;
        Ok(Submitted { disposition: Disposition::Started, run: Some(run) })
    }

    /// Asks extensions about a prompt in its final form. Returns its text and messages that
    /// accompany it.
    pub(super) async fn admit_prompt(
        &self,
        text: String,
        source: InputSource,
    ) -> Result<(String, Vec<ExtensionMessage>), PromptError> {
        if !self.is_answered(QuestionKind::BeforePrompt) {
            return Ok((text, Vec::new()));
        }
        let asked = self.ask(BeforePrompt::new(text, source)).await;
        match asked.answer {
            Ok(PromptDecision { block: Some(block), .. }) => {
                Err(PromptError::Blocked { by: block.by, reason: block.reason })
            }
            Ok(PromptDecision { context, .. }) => Ok((asked.question.text, context)),
            Err(failure) => {
                Err(PromptError::Blocked { by: failure.extension, reason: failure.error })
            }
        }
    }

    /// Starts a run with a message of an extension.
    pub async fn start_with(&self, message: &ExtensionMessage) -> Result<Run, PromptError> {
        let run = Run::begin(self).ok_or(PromptError::Busy)?;
        let message = custom_message(message.clone())?;
        self.prepare(run, FirstMessage::Custom(message), Vec::new()).await
    }

    /// Prepares the first request of a run.
    async fn prepare(
        &self,
        mut run: Run,
        first: FirstMessage,
        context: Vec<ExtensionMessage>,
    ) -> Result<Run, PromptError> {
        self.read_registry();
        let model = self.model().ok_or(PromptError::NoModel)?;
        if let Some(models) = &self.0.models {
            models.check_usable(&model)?;
        }
        self.read_log()?;
        self.flush_bash()?;
        self.compact_if_needed(CheckTime::BeforePrompt).await;
        let own = self.prompt_options();
        let asked = self.ask(BeforeAgentStart::new(first, own.clone())).await;
        let BeforeAgentStart { message: first, options, .. } = asked.question;
        let start = asked.answer.unwrap_or_default();
        let sections = options.build();
        let changed_sections = section_changes(&own.build(), &sections);
        self.0.activity.run(|run| {
            run.forced_prompt = start.system_prompt;
            run.changed_sections = Arc::new(changed_sections);
        });
        run.messages.extend(self.section_update(&sections));
        run.messages.push(match first {
            FirstMessage::User { text, images } => user_message(text, images),
            FirstMessage::Custom(message) => message,
        });
        run.messages.append(&mut self.pending().next_turn);
        for message in context.into_iter().chain(start.messages) {
            run.messages.push(custom_message(message)?);
        }
        self.configure_run();
        self.sync().synchronized();
        Ok(run)
    }

    /// Sets what the loop needs for the coming run.
    pub(super) fn configure_run(&self) {
        let Some(model) = self.model() else { return };
        let level = self.thinking_level();
        let tools = self.run_tools();
        let mut options = self.resources().options.clone();
        options.session_id = Some(self.id());
        options.hooks = self.request_hooks(&model);
        options.output_schema = self.output_schema();
        let transform_context = self.request_hook();
        self.0.agent.configure(|settings| {
            settings.hooks.transform_context = transform_context;
            settings.model = model;
            settings.thinking_level = level;
            settings.tools = tools;
            settings.options = options;
        });
    }

    /// Returns the parts of the system prompt for the active tools.
    pub fn prompt_options(&self) -> SystemPromptOptions {
        let mut options = (self.resources().prompt)(&self.declared_tools());
        let change = lock(&self.0.prompt_change).clone();
        if let Some(change) = change {
            change(&mut options);
        }
        options
    }

    /// Changes the system prompt from the next turn on, until another change replaces this one.
    /// The change must not call back into the session.
    pub fn set_prompt_change(&self, change: Option<PromptChange>) {
        *lock(&self.0.prompt_change) = change;
    }

    /// Returns the system prompt for the active tools.
    pub fn system_prompt(&self) -> String {
        self.prompt_options().text()
    }

    /// Returns a system message with the changes of the prompt since it was last declared.
    pub(super) fn prompt_update(&self) -> Option<AgentMessage> {
        let mut wanted = self.prompt_options().build();
        let changed = self.0.activity.run(|run| Arc::clone(&run.changed_sections));
        for (name, text) in &*changed {
            match text {
                Value::Null => drop(wanted.shift_remove(name)),
                text => drop(wanted.insert(name.clone(), text.clone())),
            }
        }
        self.section_update(&wanted)
    }

    /// Returns a system message that turns the declared sections into these.
    fn section_update(&self, wanted: &Map<String, Value>) -> Option<AgentMessage> {
        let changes = section_changes(&self.declared().sections, wanted);
        if changes.is_empty() {
            return None;
        }
        let system = SystemMessage {
            content: MessageContent::Text(String::new()),
            sections: Some(changes),
            timestamp: now_ms(),
            ..SystemMessage::default()
        };
        Some(Message::System(Arc::new(system)).into())
    }

    /// Expands a skill or template.
    pub(super) fn expanded(&self, text: String) -> Result<String, PromptError> {
        match (self.resources().expand)(&text) {
            Ok(expanded) => Ok(expanded.unwrap_or(text)),
            Err(error) => Err(PromptError::Expansion(error)),
        }
    }

    /// Returns the name of the extension command that a text calls.
    pub(super) fn extension_command<'t>(&self, text: &'t str) -> Option<&'t str> {
        let name = text.strip_prefix('/')?.split(' ').next()?;
        self.0.extensions.registry().find_command(name).map(|_| name)
    }

    async fn run_extension_command(&self, text: &str) -> bool {
        let Some(name) = self.extension_command(text) else { return false };
        let arguments = text.split_once(' ').map_or("", |(_, arguments)| arguments);
        let ran = self.0.extensions.run_command(name, arguments, &self.0.context).await;
        if let Some(Err(failure)) = ran {
            self.report(vec![failure]).await;
        }
        true
    }
}

/// Returns the sections that turn the first ones into the second ones; null removes one.
fn section_changes(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let changed = to.iter().filter(|(name, text)| from.get(*name) != Some(*text));
    let changed = changed.map(|(name, text)| (name.clone(), text.clone()));
    let removed = from.keys().filter(|name| !to.contains_key(*name));
    changed.chain(removed.map(|name| (name.clone(), Value::Null))).collect()
}

/// Makes a message of an extension that is sent now.
pub(super) fn custom_message(
    message: ExtensionMessage,
) -> Result<AgentMessage, pi_session::SessionError> {
    let message = ExtensionMessage { timestamp: now_ms(), ..message };
    Ok(AgentMessage::custom(&message)?)
}
