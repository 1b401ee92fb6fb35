//! One request: its metadata, its time limit, its cancellation, and questions of the server that
//! must be answered before it is done.

use std::collections::BTreeMap;
use std::time::Duration;

use pi_base::{lock, unpoisoned};
use pi_jsonrpc::Id;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use super::{CallOptions, Client, ClientError, ClientOptions, Inner};
use crate::error::invalid;
use crate::inbox::{Inbox, Watched};
use crate::protocol::{Era, InputRequest, InputRequired, LoggingLevel, meta, methods};
use crate::text::shown;
use crate::transport::{Link, Outgoing};

/// The most times that a server may ask for input before it answers.
const MAX_ROUNDS: usize = 20;
/// The most questions that a server may ask at a time.
const MAX_QUESTIONS: usize = 50;
/// The pause before a request is repeated.
const REPEAT_PAUSE: Duration = Duration::from_millis(250);
/// The longest wait for one request, also if it reports progress.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A request before it is sent.
pub(super) struct Draft<'a> {
    pub(super) method: &'a str,
    pub(super) params: Map<String, Value>,
    /// Headers that only HTTP sends.
    pub(super) headers: Vec<(String, String)>,
    /// Progress restarts the time limit.
    pub(super) is_extensible: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(method: &'a str, params: Map<String, Value>) -> Self {
        Self { method, params, headers: Vec::new(), is_extensible: true }
    }
}

/// The conversation that a request belongs to.
pub(super) struct Conversation<'a> {
    pub(super) link: &'a Link,
    pub(super) inbox: &'a Inbox,
    pub(super) options: &'a ClientOptions,
    pub(super) era: Era,
    /// The version; `None` for the handshake.
    pub(super) version: Option<&'a str>,
    pub(super) log_level: Option<LoggingLevel>,
}

impl Client {
    /// Sends a request, answers the server's questions, and returns the result.
    pub(super) async fn request(
        &self,
        mut draft: Draft<'_>,
        options: &CallOptions,
    ) -> Result<Value, ClientError> {
        let may_ask = [methods::TOOLS_CALL, methods::PROMPTS_GET, methods::RESOURCES_READ];
        if may_ask.contains(&draft.method) {
            self.0.inbox.begin_call();
        }
        let mut rounds = 0;
        loop {
            let result = self.send(&draft, options).await?;
            let Some(required) = InputRequired::from_result(&result) else { return Ok(result) };
            let invalid = |problem: &str| invalid(draft.method, problem);
            let required = required.map_err(|error| invalid(&error.to_string()))?;
            if !may_ask.contains(&draft.method) {
                return Err(invalid("this method may not ask for input"));
            }
            rounds += 1;
            if rounds > MAX_ROUNDS {
                return Err(invalid("the server asks for input again and again"));
            }
            if required.input_requests.as_ref().is_none_or(|all| all.is_empty()) {
                if required.request_state.is_none() {
                    return Err(invalid("it asks for input without a question"));
                }
                // The server only wants the request again later.
                wait(Duration::from_millis(250 * rounds as u64), options).await?;
            }
            self.answer_into(&mut draft, required, options).await?;
        }
    }

    /// Sends a request and reads its result.
    pub(super) async fn request_as<T: DeserializeOwned>(
        &self,
        draft: Draft<'_>,
        options: &CallOptions,
    ) -> Result<T, ClientError> {
        let method = draft.method;
        let result = self.request(draft, options).await?;
        serde_json::from_value(result).map_err(|error| invalid(method, &error.to_string()))
    }

    /// Sends a request and returns its result, of any kind. A session that the server forgot
    /// is renewed once; a request without an effect is repeated once if its failure may pass.
    async fn send(&self, draft: &Draft<'_>, options: &CallOptions) -> Result<Value, ClientError> {
        self.renewed(options).await?;
        let number = self.0.link.session_number();
        let result = self.send_once(draft, options).await;
        match &result {
            Err(ClientError::SessionLost) => {
                self.renew(number).await?;
                self.send_once(draft, options).await
            }
            Err(error) if error.is_transient() && draft.method != methods::TOOLS_CALL => {
                wait(REPEAT_PAUSE, options).await?;
                self.send_once(draft, options).await
            }
            _ => result,
        }
    }

    /// Waits while another request makes a new handshake: the server would refuse this one.
    async fn renewed(&self, options: &CallOptions) -> Result<(), ClientError> {
        tokio::select! {
            biased;
            held = self.0.renewing.lock() => {
                drop(held);
                Ok(())
            }
            () = cancelled(options) => Err(ClientError::Cancelled),
        }
    }

    async fn send_once(
        &self,
        draft: &Draft<'_>,
        options: &CallOptions,
    ) -> Result<Value, ClientError> {
        let (era, version) = {
            let facts = unpoisoned(self.0.facts.read());
            (facts.era, facts.version.clone())
        };
        let log_level = *lock(&self.0.log_level);
        let Inner { link, inbox, options: client, .. } = &*self.0;
        let version = Some(version.as_str());
        let conversation = Conversation { link, inbox, options: client, era, version, log_level };
        exchange(&conversation, draft, options).await
    }

    /// Adds the answers to a server's questions to the parameters of a request.
    async fn answer_into(
        &self,
        draft: &mut Draft<'_>,
        required: InputRequired,
        options: &CallOptions,
    ) -> Result<(), ClientError> {
        draft.params.remove("inputResponses");
        draft.params.remove("requestState");
        if let Some(questions) = required.input_requests {
            let answers = self.answers(draft.method, questions, options).await?;
            draft.params.insert("inputResponses".to_owned(), Value::Object(answers));
        }
        if let Some(state) = required.request_state {
            draft.params.insert("requestState".to_owned(), Value::String(state));
        }
        Ok(())
    }

    /// Answers the questions of a result or of a task.
    pub(super) async fn answers(
        &self,
        method: &str,
        questions: BTreeMap<String, InputRequest>,
        options: &CallOptions,
    ) -> Result<Map<String, Value>, ClientError> {
        if questions.len() > MAX_QUESTIONS {
            return Err(invalid(method, "it asks too many questions at a time"));
        }
        let mut answers = Map::new();
        for (key, question) in questions {
            let is_elicitation = question.method == methods::ELICIT;
            let asked = self.0.inbox.answer(&question.method, question.params);
            let answer = tokio::select! {
                answer = asked => answer,
                () = cancelled(options) => return Err(ClientError::Cancelled),
            };
            let answer = match answer {
                Ok(answer) => answer,
                // A response has no place for an error, but a question can be declined.
                Err(_) if is_elicitation => json!({ "action": "decline" }),
                Err(error) => return Err(ClientError::Refused(shown(&error.message))),
            };
            answers.insert(key, answer);
        }
        Ok(answers)
    }
}

/// Sends one request and waits for its response.
pub(super) async fn exchange(
    conversation: &Conversation<'_>,
    draft: &Draft<'_>,
    options: &CallOptions,
) -> Result<Value, ClientError> {
    let Conversation { link, inbox, era, .. } = *conversation;
    let limit = options.timeout.unwrap_or(conversation.options.timeout);
    let watched = inbox.progress.watch(options.on_progress.clone());
    let outgoing = Outgoing {
        method: draft.method,
        params: Box::new(|id| {
            watched.start(id);
            stamp(conversation, draft, id)
        }),
        era,
        version: conversation.version,
        headers: draft.headers.clone(),
    };
    let start = Instant::now();
    let mut deadline = start + limit;
    let mut withdrawal =
        Withdrawal { link, era, draft, watched: &watched, reason: Some("dropped") };
    let mut response = std::pin::pin!(link.request(outgoing));
    let mut asking = inbox.asking();
    loop {
        // The server waits for the user or a model: that is not its own time.
        let is_asking = *asking.borrow_and_update() > 0;
        let end = if is_asking { start + LONGEST } else { deadline };
        tokio::select! {
            biased;
            result = &mut response => {
                withdrawal.reason = None;
                return result;
            }
            () = cancelled(options) => {
                withdrawal.reason = Some("cancelled");
                return Err(ClientError::Cancelled);
            }
            () = watched.alive(), if draft.is_extensible => {
                deadline = (Instant::now() + limit).min(start + LONGEST);
            }
            Ok(()) = asking.changed() => {
                deadline = (Instant::now() + limit).min(start + LONGEST);
            }
            () = sleep_until(end) => {
                withdrawal.reason = Some("timed out");
                let seconds = limit.as_secs();
                return Err(ClientError::TimedOut { method: draft.method.to_owned(), seconds });
            }
        }
    }
}

/// Tells the server that a request is not wanted any more, if it has no response when this value is
/// dropped. The caller may drop the request at any time, so no other place would do.
struct Withdrawal<'a> {
    link: &'a Link,
    era: Era,
    draft: &'a Draft<'a>,
    watched: &'a Watched,
    reason: Option<&'static str>,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        // The handshake cannot be cancelled.
        if let (Some(reason), Some(id)) = (self.reason, self.watched.id())
            && self.draft.method != methods::INITIALIZE
        {
            self.link.cancel(id, self.era, reason);
        }
    }
}

/// Returns the parameters of a request with its metadata.
fn stamp(conversation: &Conversation<'_>, draft: &Draft<'_>, id: &Id) -> Value {
    let mut params = draft.params.clone();
    if draft.method == methods::INITIALIZE {
        return Value::Object(params);
    }
    let mut all = match params.remove("_meta") {
        Some(Value::Object(all)) => all,
        _ => Map::new(),
    };
    all.insert(meta::PROGRESS_TOKEN.to_owned(), json!(id));
    if conversation.era == Era::Modern {
        let options = conversation.options;
        all.insert(meta::PROTOCOL_VERSION.to_owned(), json!(conversation.version));
        all.insert(meta::CLIENT_INFO.to_owned(), json!(options.info));
        all.insert(meta::CLIENT_CAPABILITIES.to_owned(), capabilities(options));
        if let Some(level) = conversation.log_level {
            all.insert(meta::LOG_LEVEL.to_owned(), json!(level));
        }
    }
    params.insert("_meta".to_owned(), Value::Object(all));
    Value::Object(params)
}

/// Returns the capabilities of a modern request: what the caller offers, and tasks, which need
/// nothing from the caller.
fn capabilities(options: &ClientOptions) -> Value {
    let mut capabilities = options.capabilities.clone();
    capabilities.extensions.insert(meta::TASKS_EXTENSION.to_owned(), json!({}));
    json!(capabilities)
}

/// Waits for the cancellation of a request; for ever if it cannot be cancelled.
pub(super) async fn cancelled(options: &CallOptions) {
    match &options.cancel {
        Some(cancel) => cancel.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Waits, unless the request is cancelled.
pub(super) async fn wait(pause: Duration, options: &CallOptions) -> Result<(), ClientError> {
    tokio::select! {
        () = sleep(pause) => Ok(()),
        () = cancelled(options) => Err(ClientError::Cancelled),
    }
}

/// Returns the fields of a JSON object that was just made.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
