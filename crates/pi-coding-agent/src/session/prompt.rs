//! What the user says, on its way to the model: commands, extensions, templates, queues.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, ImageContent, Message, MessageContent, Model, SystemMessage, now_ms,
};
use pi_session::ExtensionMessage;
use pi_session::compaction::CheckTime;
use serde_json::{Map, Value};

use super::queue::user_message;
use super::{AgentSession, Run};
use crate::extension::BeforeAgentStart;

/// What is to happen to a prompt during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamingBehavior {
    /// It reaches the model as soon as possible.
    Steer,
    /// It waits until the run would end.
    FollowUp,
}

/// How a prompt is meant.
#[derive(Debug, Clone)]
pub struct PromptOptions {
    /// Commands are run, skills and templates expanded.
    pub expand: bool,
    /// Images that go with it.
    pub images: Vec<ImageContent>,
    /// What is to happen to it during a run.
    pub streaming_behavior: Option<StreamingBehavior>,
    /// Where it comes from: `interactive`, `rpc` or `extension`.
    pub source: &'static str,
}

impl Default for PromptOptions {
    fn default() -> Self {
        Self { expand: true, images: Vec::new(), streaming_behavior: None, source: "interactive" }
    }
}

/// What became of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// A command or an extension took care of it.
    Handled,
    /// It waits in a queue.
    Queued,
    /// A run began.
    Started,
}

impl Disposition {
    /// The name used in protocols.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handled => "handled",
            Self::Queued => "queued",
            Self::Started => "started",
        }
    }
}

/// What became of a prompt, with the run it began.
#[derive(Debug)]
#[must_use = "a run that was started must be finished"]
pub enum Submitted {
    /// A command or an extension took care of it.
    Handled,
    /// It waits in a queue.
    Queued,
    /// A run is ready to go.
    Started(Run),
}

/// Why a prompt was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A run is going on.
    #[error(
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    )]
    Busy,
    /// The user is compacting.
    #[error(
        "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
    )]
    Compacting,
    /// A command cannot wait.
    #[error(
        "Extension command \"/{0}\" cannot be queued. Use prompt() or execute the command when not streaming."
    )]
    CommandQueued(String),
    /// There is no model.
    #[error(
        "No model selected. Set a key, for example ANTHROPIC_API_KEY, or add a provider to models.json, then choose with --model."
    )]
    NoModel,
    /// There is no key for the model.
    #[error(
        "No API key found for {0}. Set its environment variable or store a key with `pi auth`."
    )]
    NoKey(String),
    /// A skill or template cannot be read.
    #[error("{0}")]
    Expansion(String),
    /// The conversation cannot be read or written.
    #[error(transparent)]
    Session(#[from] pi_session::SessionError),
}

impl AgentSession {
    /// Says something and waits until everything is settled.
    pub async fn prompt(
        &self,
        text: &str,
        options: PromptOptions,
    ) -> Result<Disposition, PromptError> {
        match self.submit(text, options).await? {
            Submitted::Handled => Ok(Disposition::Handled),
            Submitted::Queued => Ok(Disposition::Queued),
            Submitted::Started(run) => {
                run.finish().await;
                Ok(Disposition::Started)
            }
        }
    }

    /// Says something. Returns when it is clear what becomes of it; a run that begins is for the
    /// caller to [finish](Run::finish).
    pub async fn submit(
        &self,
        text: &str,
        options: PromptOptions,
    ) -> Result<Submitted, PromptError> {
        if options.expand && self.run_extension_command(text).await {
            return Ok(Submitted::Handled);
        }
        if self.state().compacting_manually {
            return Err(PromptError::Compacting);
        }
        let PromptOptions { expand, images, streaming_behavior, source } = options;
        let context = self.extension_context();
        let input =
            self.0.extensions.input(text.to_owned(), images, source, streaming_behavior, &context);
        let Some((text, images)) = input.await else { return Ok(Submitted::Handled) };
        let text = if expand { self.expanded(text)? } else { text };
        let Some(run) = Run::begin(self) else {
            let behavior = streaming_behavior.ok_or(PromptError::Busy)?;
            self.enqueue(text, images, behavior).await;
            return Ok(Submitted::Queued);
        };
        let first = FirstMessage::User { text, images };
        Ok(Submitted::Started(self.prepare(run, first).await?))
    }

    /// Begins a run with a message of an extension.
    pub async fn start_with(&self, message: &ExtensionMessage) -> Result<Run, PromptError> {
        let run = Run::begin(self).ok_or(PromptError::Busy)?;
        let message = ExtensionMessage { timestamp: now_ms(), ..message.clone() };
        let message = AgentMessage::custom(&message).map_err(pi_session::SessionError::from)?;
        self.prepare(run, FirstMessage::Custom(message)).await
    }

    /// Everything between the decision to begin a run and its first request.
    async fn prepare(&self, mut run: Run, first: FirstMessage) -> Result<Run, PromptError> {
        let model = self.model().ok_or(PromptError::NoModel)?;
        if !self.is_available(&model.provider) {
            return Err(PromptError::NoKey(model.provider.clone()));
        }
        self.read()?;
        self.flush_bash()?;
        self.compact_if_needed(CheckTime::BeforePrompt).await;
        let (prompt, images) = match &first {
            FirstMessage::User { text, images } => (Some(text.as_str()), images.as_slice()),
            FirstMessage::Custom(_) => (None, &[][..]),
        };
        let sections = self.wanted_sections();
        let system_prompt = join_sections(&sections);
        let event = BeforeAgentStart { prompt, images, system_prompt: &system_prompt };
        let context = self.extension_context();
        let answers = self.0.extensions.before_agent_start(&event, &context).await;
        let mut wanted = sections;
        let mut added = Vec::new();
        self.state().forced_prompt = None;
        for answer in answers {
            for (name, value) in answer.sections {
                if value.is_null() {
                    wanted.shift_remove(&name)
                } else {
                    wanted.insert(name, value)
                };
            }
            if let Some(prompt) = answer.system_prompt {
                self.state().forced_prompt = Some(prompt);
            }
            if let Some(message) = answer.message {
                let message = ExtensionMessage { timestamp: now_ms(), ..message };
                added.push(AgentMessage::custom(&message).map_err(pi_session::SessionError::from)?);
            }
        }
        run.messages.extend(self.section_update(&wanted));
        run.messages.push(match first {
            FirstMessage::User { text, images } => user_message(text, images),
            FirstMessage::Custom(message) => message,
        });
        run.messages.append(&mut self.state().next_turn);
        run.messages.extend(added);
        self.configure_run(&model);
        self.state().diverged = false;
        Ok(run)
    }

    /// What the loop needs to know for the coming run.
    pub(super) fn configure_run(&self, model: &Arc<Model>) {
        let level = self.state().thinking_level;
        let tools = self.active_tools();
        let mut options = self.0.options.clone();
        options.session_id = Some(self.id());
        if self.0.extensions.interests().requests {
            let this = self.downgrade();
            options.hooks.on_payload = Some(Arc::new(move |payload, _| {
                let changed = this
                    .upgrade()
                    .and_then(|this| this.0.extensions.before_provider_request(&payload));
                Box::pin(std::future::ready(changed.unwrap_or(payload)))
            }));
        }
        let transform_context = self.request_hook();
        self.0.agent.configure(|settings| {
            settings.hooks.transform_context = transform_context;
            settings.model = Arc::clone(model);
            settings.thinking_level = level;
            settings.tools = tools;
            settings.options = options;
        });
    }

    /// The sections of the system prompt as they should be now.
    pub(super) fn wanted_sections(&self) -> Map<String, Value> {
        (self.0.sections)(&self.active_tools())
    }

    /// The system prompt as it should be now.
    pub fn system_prompt(&self) -> String {
        join_sections(&self.wanted_sections())
    }

    /// A system message for what changed about the prompt, if anything did.
    pub(super) fn prompt_update(&self) -> Option<AgentMessage> {
        self.section_update(&self.wanted_sections())
    }

    /// A system message that turns the sections that the model knows into these.
    fn section_update(&self, wanted: &Map<String, Value>) -> Option<AgentMessage> {
        let known = self.declared();
        let mut changes = Map::new();
        for (name, text) in wanted {
            if known.sections.get(name) != Some(text) {
                changes.insert(name.clone(), text.clone());
            }
        }
        for name in known.sections.keys().filter(|name| !wanted.contains_key(*name)) {
            changes.insert(name.clone(), Value::Null);
        }
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

    /// A text with skill or template expanded.
    pub(super) fn expanded(&self, text: String) -> Result<String, PromptError> {
        match (self.0.expand)(&text) {
            Ok(expanded) => Ok(expanded.unwrap_or(text)),
            Err(error) => Err(PromptError::Expansion(error)),
        }
    }

    /// The extension command that a text names.
    pub(super) fn extension_command<'t>(&self, text: &'t str) -> Option<&'t str> {
        let name = text.strip_prefix('/')?.split(' ').next()?;
        self.0.extensions.has_command(name).then_some(name)
    }

    async fn run_extension_command(&self, text: &str) -> bool {
        let Some(name) = self.extension_command(text) else { return false };
        let arguments = text.split_once(' ').map_or("", |(_, arguments)| arguments);
        self.0.extensions.run_command(name, arguments, &self.extension_context()).await
    }
}

/// What a run begins with.
enum FirstMessage {
    User { text: String, images: Vec<ImageContent> },
    Custom(AgentMessage),
}

fn join_sections(sections: &Map<String, Value>) -> String {
    let texts: Vec<&str> = sections.values().filter_map(Value::as_str).collect();
    texts.join("\n\n")
}
