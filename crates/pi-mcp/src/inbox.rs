//! Messages that a server sends by itself: questions, progress, log messages, changes.

mod changes;
mod handler;
mod progress;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_jsonrpc::{Error, Id, Incoming, Service};
use pi_protocol::CancelToken;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use crate::BoxFuture;
use crate::protocol::{ClientCapabilities, ElicitParams, ListRootsResult, Progress, methods};
use crate::text::shown;
use changes::Changes;
pub(crate) use changes::deliver_changes;
pub use handler::{Changed, Handler};
use progress::ProgressTable;
pub(crate) use progress::Watched;

/// The most questions to the user or a model during a call.
const MOST_QUESTIONS: usize = 25;
/// The longest URI of a resource whose change is noted.
const LONGEST_URI: usize = 4 << 10;

/// Receives everything that is not a response.
pub(crate) struct Inbox {
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) progress: Arc<ProgressTable>,
    pub(crate) changes: Changes,
    offered: ClientCapabilities,
    /// Questions that are being answered, by id, for their withdrawal.
    questions: Mutex<HashMap<Id, CancelToken>>,
    /// Number of questions that wait for the user or a model.
    asking: watch::Sender<usize>,
    /// Number of questions to the user or a model since the last call began.
    asked: AtomicUsize,
    /// Questions whose URL is open, by id, for the notice that they are done.
    opened: Mutex<HashMap<String, Arc<Notify>>>,
    stop: CancelToken,
}

impl Inbox {
    pub(crate) fn new(handler: &Arc<dyn Handler>, offered: &ClientCapabilities) -> Arc<Self> {
        Arc::new(Self {
            handler: Arc::clone(handler),
            progress: Arc::default(),
            changes: Changes::default(),
            offered: offered.clone(),
            questions: Mutex::default(),
            asking: watch::Sender::new(0),
            asked: AtomicUsize::new(0),
            opened: Mutex::default(),
            stop: CancelToken::new(),
        })
    }

    /// Returns the token that is cancelled when the client ends.
    pub(crate) fn stopped(&self) -> &CancelToken {
        &self.stop
    }

    /// Ends the tasks of the client.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Returns a receiver of the number of questions that wait for the user or a model.
    pub(crate) fn asking(&self) -> watch::Receiver<usize> {
        self.asking.subscribe()
    }

    /// Takes note of the end of the connection.
    pub(crate) fn closed(&self, reason: &str) {
        self.stop.cancel();
        self.handler.closed(reason);
    }

    /// Takes note of the beginning of a call, which may have questions of its own.
    pub(crate) fn begin_call(&self) {
        self.asked.store(0, Ordering::Relaxed);
    }

    /// Counts a question. A server that goes on asking is refused.
    fn count_question(&self) -> Result<(), Error> {
        if self.asked.fetch_add(1, Ordering::Relaxed) < MOST_QUESTIONS {
            return Ok(());
        }
        Err(Error::internal("Too many questions during a call"))
    }

    /// Answers a question of the server, in either era.
    pub(crate) async fn answer(&self, method: &str, params: Option<Value>) -> Result<Value, Error> {
        match method {
            methods::PING => Ok(json!({})),
            methods::ROOTS_LIST if self.offered.roots.is_some() => {
                let roots = self.handler.roots().await?;
                write(&ListRootsResult { roots })
            }
            methods::CREATE_MESSAGE if self.offered.sampling.is_some() => {
                self.count_question()?;
                write(&self.handler.sample(read(params)?).await?)
            }
            methods::ELICIT => {
                let request: ElicitParams = read(params)?;
                self.check_mode(&request)?;
                self.count_question()?;
                write(&self.handler.elicit(request).await?)
            }
            other => Err(Error::method_not_found(other)),
        }
    }

    fn check_mode(&self, request: &ElicitParams) -> Result<(), Error> {
        let Some(offered) = &self.offered.elicitation else {
            return Err(Error::method_not_found(methods::ELICIT));
        };
        let is_offered = match request.mode.as_deref() {
            None | Some("form") => offered.form.is_some() || offered.url.is_none(),
            Some("url") => offered.url.is_some(),
            Some(_) => false,
        };
        if is_offered {
            Ok(())
        } else {
            let mode = request.mode.as_deref().unwrap_or("form");
            Err(Error::invalid_params(format!("this client does not offer the mode `{mode}`")))
        }
    }

    /// Answers a question until it is withdrawn.
    pub(crate) async fn answer_request(&self, incoming: Incoming) -> Result<Value, Error> {
        let Incoming { id, method, params } = incoming;
        let cancel = self.stop.child();
        let takes_time = matches!(method.as_str(), methods::ELICIT | methods::CREATE_MESSAGE);
        let _asking = takes_time.then(|| Asking::new(&self.asking));
        lock(&self.questions).insert(id.clone(), cancel.clone());
        let result = tokio::select! {
            result = self.answer(&method, params) => result,
            () = cancel.cancelled() => Err(Error::internal("The request was cancelled")),
        };
        lock(&self.questions).remove(&id);
        result
    }

    /// Takes note of a notification.
    pub(crate) fn note(&self, method: &str, params: Option<Value>) {
        let params = params.unwrap_or_default();
        match method {
            methods::PROGRESS => match serde_json::from_value::<Progress>(params) {
                // Progress may arrive after the result; it is then of no use.
                Ok(progress) => self.progress.deliver(progress),
                Err(error) => self.problem("invalid progress", &error),
            },
            methods::MESSAGE => match serde_json::from_value(params) {
                Ok(message) => self.handler.log(message),
                Err(error) => self.problem("invalid log message", &error),
            },
            methods::TOOLS_CHANGED => self.changes.note(Changed::Tools),
            methods::RESOURCES_CHANGED => self.changes.note(Changed::Resources),
            methods::PROMPTS_CHANGED => self.changes.note(Changed::Prompts),
            methods::RESOURCE_UPDATED => match params.get("uri").and_then(Value::as_str) {
                Some(uri) if uri.len() <= LONGEST_URI => {
                    self.changes.note(Changed::Resource(uri.to_owned()));
                }
                _ => self.handler.problem("a notice about a resource without a usable URI"),
            },
            methods::CANCELLED => {
                let id = params.get("requestId").and_then(Id::from_value);
                let question = id.and_then(|id| lock(&self.questions).get(&id).cloned());
                if let Some(question) = question {
                    question.cancel();
                }
            }
            methods::ELICITATION_COMPLETE => {
                if let Some(id) = params.get("elicitationId").and_then(Value::as_str) {
                    self.handler.elicited(id);
                    let opened = lock(&self.opened);
                    if let Some(waiting) = opened.get(id) {
                        waiting.notify_one();
                    }
                }
            }
            // Unknown notifications are allowed.
            _ => {}
        }
    }

    /// Reports a message that cannot be read. The error may quote the message.
    fn problem(&self, what: &str, error: &serde_json::Error) {
        self.handler.problem(&shown(&format!("{what}: {error}")));
    }

    /// Returns the signal that what a URL is opened for is done.
    pub(crate) fn expect_elicited(&self, id: &str) -> Arc<Notify> {
        let mut opened = lock(&self.opened);
        Arc::clone(opened.entry(id.to_owned()).or_default())
    }

    /// Forgets the signal of a question.
    pub(crate) fn forget_elicited(&self, id: &str) {
        lock(&self.opened).remove(id);
    }
}

/// A question that waits for the user or a model.
struct Asking<'a>(&'a watch::Sender<usize>);

impl<'a> Asking<'a> {
    fn new(asking: &'a watch::Sender<usize>) -> Self {
        asking.send_modify(|count| *count += 1);
        Self(asking)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Service for Inbox {
    fn request(&self, request: Incoming) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(self.answer_request(request))
    }

    fn notification(&self, method: &str, params: Option<Value>) {
        self.note(method, params);
    }

    fn invalid(&self, problem: &str) {
        self.handler.problem(&shown(problem));
    }

    fn answers_invalid(&self) -> bool {
        false
    }
}

pi_protocol::debug_fields!(Inbox);

fn read<T: DeserializeOwned>(params: Option<Value>) -> Result<T, Error> {
    serde_json::from_value(params.unwrap_or_else(|| json!({}))).map_err(Error::invalid_params)
}

fn write(result: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(Error::internal)
}
