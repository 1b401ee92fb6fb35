//! The way from a running call to its client: progress, log messages, questions, tasks.
//!
//! The same code serves both eras. A question of an old client is a request to it; for a modern
//! client the call is parked, and goes on when the client repeats its request with the answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_jsonrpc::{Error, Notification};
use pi_protocol::{CancelOnDrop, CancelToken};
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc, oneshot};

use super::client::Client;
use super::service::Change;
use crate::protocol::meta::TASKS_EXTENSION;
use crate::protocol::{LoggingLevel, methods};

/// A question to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Name of the answer.
    pub key: String,
    /// Kind of the requested input.
    pub kind: QuestionKind,
    /// Parameters, as the protocol defines them.
    pub params: Value,
}

/// Kinds of input that a question requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    /// An answer of the user.
    Elicitation,
    /// An answer of a model.
    Sampling,
    /// The directories of the client.
    Roots,
}

impl QuestionKind {
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Elicitation => methods::ELICIT,
            Self::Sampling => methods::CREATE_MESSAGE,
            Self::Roots => methods::ROOTS_LIST,
        }
    }

    fn capability(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    /// Returns true if a value has the shape of an answer.
    fn accepts(self, answer: &Value) -> bool {
        match self {
            Self::Elicitation => answer["action"].is_string(),
            Self::Sampling => answer["content"].is_object() || answer["content"].is_array(),
            Self::Roots => answer["roots"].is_array(),
        }
    }
}

/// Answers by the keys of their questions.
pub type Answers = BTreeMap<String, Value>;

/// Questions that wait for their answers.
#[derive(Debug)]
pub(super) struct Ask {
    /// The questions without an answer.
    pub(super) open: Vec<Question>,
    answers: Answers,
    reply: oneshot::Sender<Result<Answers, Error>>,
    withdrawn: CancelToken,
}

impl Ask {
    /// Returns the token that is cancelled when the call does not wait any more.
    pub(super) fn withdrawn(&self) -> &CancelToken {
        &self.withdrawn
    }

    /// Takes the answers that fit an open question. Each answers one question: a later one with
    /// the same key is asked again.
    pub(super) fn take(&mut self, given: &mut Map<String, Value>) {
        self.open.retain(|question| match given.remove(&question.key) {
            Some(answer) if question.kind.accepts(&answer) => {
                self.answers.insert(question.key.clone(), answer);
                false
            }
            _ => true,
        });
    }

    /// Gives the answers, or the error, to the call.
    pub(super) fn settle(self, result: Result<(), Error>) {
        // A call that was cancelled does not wait any more.
        let _ = self.reply.send(result.map(|()| self.answers));
    }

    /// Returns the open questions as the protocol's map of requests.
    pub(super) fn requests(&self) -> Value {
        let requests = self.open.iter().map(|question| {
            let request = json!({ "method": question.kind.method(), "params": question.params });
            (question.key.clone(), request)
        });
        Value::Object(requests.collect())
    }
}

/// The token that a client wants progress with. Clones are the same: a client that continues a
/// parked call has a new one.
#[derive(Debug, Clone, Default)]
pub(super) struct ProgressToken(Arc<Mutex<Option<Value>>>);

impl ProgressToken {
    /// Takes the token of a request, or none.
    pub(super) fn set(&self, meta: Option<&Value>) {
        let token = meta
            .and_then(|meta| meta.get("progressToken"))
            .filter(|token| token.is_string() || token.is_number());
        *lock(&self.0) = token.cloned();
    }

    fn get(&self) -> Option<Value> {
        lock(&self.0).clone()
    }
}

/// Events that a running call sends to its driver.
#[derive(Debug)]
pub(super) enum Event {
    Notify(Notification),
    Ask(Ask),
    /// The call goes on as a task.
    StartTask(oneshot::Sender<Result<(), Error>>),
    /// The stream of the response is closed for now; the client comes back for the rest.
    CloseStream,
    Done(Result<Value, Error>),
}

/// The context of a call. Clones are the same.
#[derive(Debug, Clone)]
pub struct Context(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    client: Client,
    cancel: CancelToken,
    progress_token: ProgressToken,
    can_start_task: bool,
    events: mpsc::Sender<Event>,
    changes: broadcast::Sender<Change>,
}

impl Context {
    pub(super) fn new(
        client: Client,
        progress_token: ProgressToken,
        can_start_task: bool,
        events: mpsc::Sender<Event>,
        changes: broadcast::Sender<Change>,
    ) -> Self {
        let cancel = CancelToken::new();
        Self(Arc::new(Inner { client, cancel, progress_token, can_start_task, events, changes }))
    }

    /// Returns what is known about the client.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// Returns the token that is cancelled when the client gives up.
    pub fn cancel(&self) -> &CancelToken {
        &self.0.cancel
    }

    /// Reports progress, if the client wants it. It is left out if the client reads too slowly.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = self.0.progress_token.get() else { return };
        let mut params = json!({ "progressToken": token, "progress": number(progress) });
        if let Some(total) = total {
            params["total"] = number(total);
        }
        if let Some(message) = message {
            params["message"] = json!(message);
        }
        let _ = self.0.events.try_send(notification(methods::PROGRESS, params));
    }

    /// Sends a log message, if the client wants messages of this level.
    pub fn log(&self, level: LoggingLevel, logger: &str, data: &Value) {
        if self.0.client.log_level.is_none_or(|lowest| level < lowest) {
            return;
        }
        let params = json!({ "level": level.name(), "logger": logger, "data": data });
        let _ = self.0.events.try_send(notification(methods::MESSAGE, params));
    }

    /// Asks the client. All questions are asked at once; those that the client cannot answer are an
    /// error before any is asked.
    pub async fn ask(&self, questions: Vec<Question>) -> Result<Answers, Error> {
        for question in &questions {
            self.0.client.require(question.kind.capability())?;
        }
        let withdrawn = CancelToken::new();
        let _withdraw = CancelOnDrop(withdrawn.clone());
        let (reply, answers) = oneshot::channel();
        let ask = Ask { open: questions, answers: Answers::new(), reply, withdrawn };
        self.send(Event::Ask(ask)).await?;
        answers.await.map_err(|_| cancelled())?
    }

    /// Returns true if the call can go on as a task.
    pub fn can_start_task(&self) -> bool {
        self.0.can_start_task
    }

    /// Returns an error for the client if the call cannot go on as a task.
    pub fn require_task(&self) -> Result<(), Error> {
        match self.0.can_start_task {
            true => Ok(()),
            false if self.0.client.is_modern() => self.0.client.require_extension(TASKS_EXTENSION),
            false => Err(Error::method_not_found("tools/call without a task")),
        }
    }

    /// Lets the call go on as a task: the client gets a handle, and asks for the result later.
    pub async fn start_task(&self) -> Result<(), Error> {
        self.require_task()?;
        let (reply, started) = oneshot::channel();
        self.send(Event::StartTask(reply)).await?;
        started.await.map_err(|_| cancelled())?
    }

    /// Closes the stream of an old client over HTTP, which comes back for the rest.
    pub async fn close_stream(&self) {
        let _ = self.send(Event::CloseStream).await;
    }

    /// Tells all clients about a change.
    pub fn changed(&self, change: Change) {
        // A change without a listener is dropped.
        let _ = self.0.changes.send(change);
    }

    pub(super) async fn send(&self, event: Event) -> Result<(), Error> {
        self.0.events.send(event).await.map_err(|_| cancelled())
    }
}

fn notification(method: &str, params: Value) -> Event {
    Event::Notify(Notification { method: method.to_owned(), params: Some(params) })
}

/// Whole numbers are written without a fraction.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

pub(super) fn cancelled() -> Error {
    Error::new(super::CANCELLED, "The request was cancelled")
}
