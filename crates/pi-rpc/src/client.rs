//! A client of the protocol: it drives this agent or the TypeScript pi over any pair of streams.
//!
//! A background task reads the output of the agent: responses go to the callers that wait for them,
//! all other records are events.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_protocol::{AgentMessage, ImageContent, Model, ThinkingLevel};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use crate::Command;
use pi_coding_agent::session::StreamingBehavior;

/// Events that may wait to be received; with more, the client stops reading.
const EVENTS: usize = 1024;

/// Reasons why a request has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The agent answered with an error.
    #[error("{command}: {error}")]
    Refused {
        /// Name of the command.
        command: String,
        /// Message of the agent.
        error: String,
    },
    /// The agent ended or closed its output.
    #[error("the agent has ended or closed its output")]
    Gone,
    /// The request could not be sent.
    #[error("could not write to the agent: {0}")]
    Write(#[from] std::io::Error),
    /// The response does not have the expected form.
    #[error("unexpected answer to {command}: {source}")]
    Unexpected {
        /// Name of the command.
        command: String,
        /// Error of the conversion.
        source: serde_json::Error,
    },
}

/// A record that is not a response: an event, or a request to the user interface.
#[derive(Debug, Clone, PartialEq)]
pub struct Record(pub Value);

impl Record {
    /// Returns the `type` of the record.
    pub fn kind(&self) -> &str {
        self.0["type"].as_str().unwrap_or_default()
    }

    /// Returns the new text of the answer, if the record is a text delta.
    pub fn text_delta(&self) -> Option<&str> {
        let event = &self.0["assistantMessageEvent"];
        (event["type"] == "text_delta").then(|| event["delta"].as_str()).flatten()
    }
}

/// The state of an agent, as `get_state` reports it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are those of docs/rpc.md.
pub struct RemoteState {
    pub model: Option<Model>,
    pub thinking_level: ThinkingLevel,
    pub is_streaming: bool,
    pub is_compacting: bool,
    pub session_file: Option<String>,
    pub session_id: String,
    pub session_name: Option<String>,
    pub message_count: usize,
    pub pending_message_count: usize,
}

/// The result of a shell command, as `bash` reports it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are those of docs/rpc.md.
pub struct RemoteBash {
    pub output: String,
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
}

type Waiting = Mutex<Option<HashMap<String, oneshot::Sender<Value>>>>;

/// A connection to an agent. Clones share it.
#[derive(Clone)]
pub struct Client {
    /// `None` after the connection was closed.
    writer: Arc<tokio::sync::Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>>,
    waiting: Arc<Waiting>,
    next: Arc<AtomicU64>,
}

impl Client {
    /// Connects to an agent whose output is `from` and whose input is `to`. The receiver gets all
    /// records that are not responses; a receiver that is not read stops the agent, one that is
    /// dropped does not.
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

    /// Sends a command and waits for the `data` of the response; null if it has none.
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

    /// Submits a prompt. Returns `started`, `queued` or `handled`; wait for `agent_settled`.
    pub async fn prompt(&self, message: &str) -> Result<String, ClientError> {
        self.prompt_with(message, Vec::new(), None).await
    }

    /// Submits a prompt with images, or during a run.
    pub async fn prompt_with(
        &self,
        message: &str,
        images: Vec<ImageContent>,
        streaming_behavior: Option<StreamingBehavior>,
    ) -> Result<String, ClientError> {
        let message = message.to_owned();
        self.disposition(&Command::Prompt { message, images, streaming_behavior }).await
    }

    /// Queues a prompt that reaches the model as soon as possible.
    pub async fn steer(&self, message: &str) -> Result<String, ClientError> {
        self.disposition(&Command::Steer { message: message.to_owned(), images: Vec::new() }).await
    }

    /// Queues a prompt that waits for the end of the run.
    pub async fn follow_up(&self, message: &str) -> Result<String, ClientError> {
        let command = Command::FollowUp { message: message.to_owned(), images: Vec::new() };
        self.disposition(&command).await
    }

    async fn disposition(&self, command: &Command) -> Result<String, ClientError> {
        let data = self.request(command).await?;
        Ok(data["disposition"].as_str().unwrap_or_default().to_owned())
    }

    /// Aborts the run and waits until the session is idle.
    pub async fn abort(&self) -> Result<(), ClientError> {
        self.request(&Command::Abort).await.map(drop)
    }

    /// Returns the state of the session.
    pub async fn state(&self) -> Result<RemoteState, ClientError> {
        self.ask(&Command::GetState).await
    }

    /// Returns the models whose providers have credentials.
    pub async fn models(&self) -> Result<Vec<Model>, ClientError> {
        #[derive(Deserialize)]
        struct Models {
            models: Vec<Model>,
        }
        Ok(self.ask::<Models>(&Command::GetAvailableModels).await?.models)
    }

    /// Selects the model of the session.
    pub async fn set_model(&self, provider: &str, id: &str) -> Result<Model, ClientError> {
        let (provider, model_id) = (provider.to_owned(), id.to_owned());
        self.ask(&Command::SetModel { provider, model_id }).await
    }

    /// Selects the thinking level.
    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> Result<(), ClientError> {
        let level = level.as_str().to_owned();
        self.request(&Command::SetThinkingLevel { level }).await.map(drop)
    }

    /// Compacts the session and returns the summary.
    pub async fn compact(&self, instructions: Option<&str>) -> Result<String, ClientError> {
        let custom_instructions = instructions.map(str::to_owned);
        let data = self.request(&Command::Compact { custom_instructions }).await?;
        Ok(data["summary"].as_str().unwrap_or_default().to_owned())
    }

    /// Runs a shell command of the user.
    pub async fn bash(&self, command: &str) -> Result<RemoteBash, ClientError> {
        let command = command.to_owned();
        self.ask(&Command::Bash { command, exclude_from_context: None }).await
    }

    /// Returns the messages that the model reads.
    pub async fn messages(&self) -> Result<Vec<AgentMessage>, ClientError> {
        #[derive(Deserialize)]
        struct Messages {
            messages: Vec<AgentMessage>,
        }
        Ok(self.ask::<Messages>(&Command::GetMessages).await?.messages)
    }

    /// Returns the text of the last answer.
    pub async fn last_text(&self) -> Result<Option<String>, ClientError> {
        let data = self.request(&Command::GetLastAssistantText).await?;
        Ok(data["text"].as_str().map(str::to_owned))
    }

    /// Closes the input of the agent, which ends the agent.
    pub async fn close(&self) -> Result<(), ClientError> {
        // A pipe is closed by dropping it and by nothing else.
        match self.writer.lock().await.take() {
            Some(mut writer) => Ok(writer.shutdown().await?),
            None => Ok(()),
        }
    }
}

/// Reads until the agent closes its output.
async fn read(
    mut from: impl AsyncBufRead + Unpin,
    waiting: Arc<Waiting>,
    events: mpsc::Sender<Record>,
) {
    let mut line = Vec::new();
    // An output that cannot be read counts as closed.
    while let Ok(1..) = from.read_until(b'\n', &mut line).await {
        let record = serde_json::from_slice::<Value>(&line);
        line.clear();
        let Ok(record) = record else { continue };
        let asked = (record["type"] == "response").then(|| record["id"].as_str()).flatten();
        let sender =
            asked.and_then(|id| lock(&waiting).as_mut().and_then(|waiting| waiting.remove(id)));
        match sender {
            // The caller may not wait any more.
            Some(sender) => drop(sender.send(record)),
            None => drop(events.send(Record(record)).await),
        }
    }
    // Dropping the senders ends all requests that wait.
    lock(&waiting).take();
}

pi_protocol::debug_fields!(Client);
