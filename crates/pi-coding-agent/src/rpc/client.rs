//! Asking an agent that runs elsewhere: ours or the TypeScript pi, over any pair of streams.
//!
//! A background task reads what comes: answers go to whoever asked, everything else is an event.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_protocol::{AgentMessage, ImageContent, Model, ThinkingLevel};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use super::Command;
use crate::session::StreamingBehavior;

/// Events that nobody has taken yet; beyond that, the agent is held back.
const EVENTS: usize = 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The agent refused.
    #[error("{command}: {error}")]
    Refused {
        /// What was asked.
        command: String,
        /// What it says.
        error: String,
    },
    /// The agent is gone.
    #[error("the agent has ended or closed its output")]
    Gone,
    /// The question could not be sent.
    #[error("could not write to the agent: {0}")]
    Write(#[from] std::io::Error),
    /// The answer makes no sense.
    #[error("unexpected answer to {command}: {source}")]
    Unexpected {
        /// What was asked.
        command: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// Something that is not an answer: an event, or a question for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Record(pub Value);

impl Record {
    /// Its `type`.
    pub fn kind(&self) -> &str {
        self.0["type"].as_str().unwrap_or_default()
    }

    /// More text of the answer, if that is what it is.
    pub fn text_delta(&self) -> Option<&str> {
        let event = &self.0["assistantMessageEvent"];
        (event["type"] == "text_delta").then(|| event["delta"].as_str()).flatten()
    }
}

/// What `get_state` answers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteState {
    /// The model.
    pub model: Option<Model>,
    /// How much it thinks.
    pub thinking_level: ThinkingLevel,
    /// A run is going on.
    pub is_streaming: bool,
    /// The session is being compacted.
    pub is_compacting: bool,
    /// The file of the conversation.
    pub session_file: Option<String>,
    /// Its id.
    pub session_id: String,
    /// Its name.
    pub session_name: Option<String>,
    /// How many messages there are.
    pub message_count: usize,
    /// How many wait.
    pub pending_message_count: usize,
}

/// What `bash` answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteBash {
    /// What it printed.
    pub output: String,
    /// How it ended.
    pub exit_code: Option<i32>,
    /// It was stopped.
    pub cancelled: bool,
    /// There was more output.
    pub truncated: bool,
}

type Waiting = Mutex<Option<HashMap<String, oneshot::Sender<Value>>>>;

/// A connection to an agent. Clones share it.
#[derive(Clone)]
pub struct Client {
    /// `None` when it was closed.
    writer: Arc<tokio::sync::Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>>,
    waiting: Arc<Waiting>,
    next: Arc<AtomicU64>,
}

impl Client {
    /// Speaks with an agent whose output is `from` and whose input is `to`. What is not an answer
    /// arrives at the receiver; one that is not read holds the agent back, one that is dropped
    /// does not.
    pub fn new(
        from: impl AsyncBufRead + Send + Unpin + 'static,
        to: impl AsyncWrite + Send + Unpin + 'static,
    ) -> (Self, mpsc::Receiver<Record>) {
        let waiting: Arc<Waiting> = Arc::new(Mutex::new(Some(HashMap::new())));
        let (events, receiver) = mpsc::channel(EVENTS);
        tokio::spawn(read(from, Arc::clone(&waiting), events));
        let writer: Box<dyn AsyncWrite + Send + Unpin> = Box::new(to);
        let writer = Arc::new(tokio::sync::Mutex::new(Some(writer)));
        (Self { writer, waiting, next: Arc::default() }, receiver)
    }

    /// Asks, and waits for the answer's `data`; null if it has none.
    pub async fn request(&self, command: &Command) -> Result<Value, ClientError> {
        let id = format!("pi-{}", self.next.fetch_add(1, Ordering::Relaxed));
        let mut record = serde_json::to_value(command)
            .map_err(|source| ClientError::Unexpected { command: String::new(), source })?;
        record["id"] = id.clone().into();
        let name = record["type"].as_str().unwrap_or_default().to_owned();
        let (sender, receiver) = oneshot::channel();
        match lock(&self.waiting).as_mut() {
            Some(waiting) => drop(waiting.insert(id, sender)),
            None => return Err(ClientError::Gone),
        }
        self.send(&record).await?;
        let mut response = receiver.await.map_err(|_| ClientError::Gone)?;
        if response["success"] == true {
            return Ok(response["data"].take());
        }
        let error = response["error"].as_str().unwrap_or("unknown error").to_owned();
        Err(ClientError::Refused { command: name, error })
    }

    async fn ask<T: DeserializeOwned>(&self, command: &Command) -> Result<T, ClientError> {
        let data = self.request(command).await?;
        serde_json::from_value(data)
            .map_err(|source| ClientError::Unexpected { command: format!("{command:?}"), source })
    }

    async fn send(&self, record: &Value) -> Result<(), ClientError> {
        let mut line = record.to_string().into_bytes();
        line.push(b'\n');
        let mut writer = self.writer.lock().await;
        let writer = writer.as_mut().ok_or(ClientError::Gone)?;
        writer.write_all(&line).await?;
        Ok(writer.flush().await?)
    }

    /// Says something. Returns `started`, `queued` or `handled`; wait for `agent_settled`.
    pub async fn prompt(&self, message: &str) -> Result<String, ClientError> {
        self.prompt_with(message, Vec::new(), None).await
    }

    /// Says something with images, or during a run.
    pub async fn prompt_with(
        &self,
        message: &str,
        images: Vec<ImageContent>,
        streaming_behavior: Option<StreamingBehavior>,
    ) -> Result<String, ClientError> {
        let message = message.to_owned();
        self.disposition(&Command::Prompt { message, images, streaming_behavior }).await
    }

    /// Queues something for as soon as possible.
    pub async fn steer(&self, message: &str) -> Result<String, ClientError> {
        self.disposition(&Command::Steer { message: message.to_owned(), images: Vec::new() }).await
    }

    /// Queues something for when the run would end.
    pub async fn follow_up(&self, message: &str) -> Result<String, ClientError> {
        let command = Command::FollowUp { message: message.to_owned(), images: Vec::new() };
        self.disposition(&command).await
    }

    async fn disposition(&self, command: &Command) -> Result<String, ClientError> {
        let data = self.request(command).await?;
        Ok(data["disposition"].as_str().unwrap_or_default().to_owned())
    }

    /// Stops what is going on, and waits until it has stopped.
    pub async fn abort(&self) -> Result<(), ClientError> {
        self.request(&Command::Abort).await.map(drop)
    }

    /// How things are.
    pub async fn state(&self) -> Result<RemoteState, ClientError> {
        self.ask(&Command::GetState).await
    }

    /// The models that can be asked.
    pub async fn models(&self) -> Result<Vec<Model>, ClientError> {
        #[derive(Deserialize)]
        struct Models {
            models: Vec<Model>,
        }
        Ok(self.ask::<Models>(&Command::GetAvailableModels).await?.models)
    }

    /// Chooses a model.
    pub async fn set_model(&self, provider: &str, id: &str) -> Result<Model, ClientError> {
        let (provider, model_id) = (provider.to_owned(), id.to_owned());
        self.ask(&Command::SetModel { provider, model_id }).await
    }

    /// Chooses how much the model thinks.
    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> Result<(), ClientError> {
        let level = level.as_str().to_owned();
        self.request(&Command::SetThinkingLevel { level }).await.map(drop)
    }

    /// Compacts the conversation; the summary.
    pub async fn compact(&self, instructions: Option<&str>) -> Result<String, ClientError> {
        let custom_instructions = instructions.map(str::to_owned);
        let data = self.request(&Command::Compact { custom_instructions }).await?;
        Ok(data["summary"].as_str().unwrap_or_default().to_owned())
    }

    /// Runs a command.
    pub async fn bash(&self, command: &str) -> Result<RemoteBash, ClientError> {
        let command = command.to_owned();
        self.ask(&Command::Bash { command, exclude_from_context: None }).await
    }

    /// The messages that the model reads.
    pub async fn messages(&self) -> Result<Vec<AgentMessage>, ClientError> {
        #[derive(Deserialize)]
        struct Messages {
            messages: Vec<AgentMessage>,
        }
        Ok(self.ask::<Messages>(&Command::GetMessages).await?.messages)
    }

    /// The text of the last answer.
    pub async fn last_text(&self) -> Result<Option<String>, ClientError> {
        let data = self.request(&Command::GetLastAssistantText).await?;
        Ok(data["text"].as_str().map(str::to_owned))
    }

    /// Ends the agent's input, which ends the agent.
    pub async fn close(&self) -> Result<(), ClientError> {
        // A pipe is closed by dropping it and by nothing else.
        match self.writer.lock().await.take() {
            Some(mut writer) => Ok(writer.shutdown().await?),
            None => Ok(()),
        }
    }

    /// Answers a question of an extension: the fields of an `extension_ui_response` beside its id.
    pub async fn answer_ui(&self, id: &str, mut fields: Value) -> Result<(), ClientError> {
        if !fields.is_object() {
            fields = json!({ "cancelled": true });
        }
        fields["type"] = "extension_ui_response".into();
        fields["id"] = id.into();
        self.send(&fields).await
    }
}

/// Reads until the agent closes its output.
async fn read(
    mut from: impl AsyncBufRead + Unpin,
    waiting: Arc<Waiting>,
    events: mpsc::Sender<Record>,
) {
    let mut line = Vec::new();
    // What cannot be read is as good as closed.
    while let Ok(1..) = from.read_until(b'\n', &mut line).await {
        let record = serde_json::from_slice::<Value>(&line);
        line.clear();
        let Ok(record) = record else { continue };
        let asked = (record["type"] == "response").then(|| record["id"].as_str()).flatten();
        let sender =
            asked.and_then(|id| lock(&waiting).as_mut().and_then(|waiting| waiting.remove(id)));
        match sender {
            // Whoever asked may have given up.
            Some(sender) => drop(sender.send(record)),
            None => drop(events.send(Record(record)).await),
        }
    }
    // Dropping the senders tells all who wait.
    lock(&waiting).take();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
