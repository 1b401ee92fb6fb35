//! One task: its state, its questions, and who waits for its result.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use pi_base::lock;
use pi_jsonrpc::Error;
use pi_protocol::CancelToken;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use super::super::call::Call;
use super::super::context::{Ask, cancelled};
use super::super::drive::Outlet;
use crate::protocol::meta::RELATED_TASK;

/// The longest and the shortest time that a task is kept after its end. A client that asks for less
/// than the shortest time could not get the result.
const LONGEST: Duration = Duration::from_secs(60 * 60);
const SHORTEST: Duration = Duration::from_secs(60);

/// The time between two questions of a client about a task.
const POLL: Duration = Duration::from_millis(1_000);

/// A call that goes on without its request.
pub(in super::super) struct Task {
    id: String,
    created: Timestamp,
    started: Instant,
    /// The time that the task is kept after its end.
    keep: Duration,
    is_modern: bool,
    cancel: CancelToken,
    state: watch::Sender<State>,
    /// The questions of a modern task.
    ask: Mutex<Option<Ask>>,
    /// The stream of an old client that waits for the result. Questions reach the client there.
    waiting: watch::Sender<Option<Arc<dyn Outlet>>>,
}

#[derive(Debug, Clone)]
struct State {
    status: &'static str,
    updated: Timestamp,
    /// The time of the end, and the result.
    end: Option<(Instant, Result<Value, Error>)>,
}

pi_protocol::debug_fields!(Task, id);

impl Task {
    pub(super) fn new(call: &Call, is_modern: bool) -> Self {
        let created = Timestamp::now();
        let state = State { status: "working", updated: created, end: None };
        Self {
            id: Uuid::new_v4().to_string(),
            created,
            started: Instant::now(),
            keep: call.ttl.map_or(LONGEST, |ttl| ttl.clamp(SHORTEST, LONGEST)),
            is_modern,
            cancel: call.cancel_token().clone(),
            state: watch::Sender::new(state),
            ask: Mutex::default(),
            waiting: watch::Sender::new(None),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Returns the token that cancels the call.
    pub(super) fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// Returns what orders tasks by their creation.
    pub(super) fn age(&self) -> (Timestamp, &str) {
        (self.created, &self.id)
    }

    /// Returns the time at which the task ended.
    pub(super) fn ended(&self) -> Option<Instant> {
        self.state.borrow().end.as_ref().map(|(ended, _)| *ended)
    }

    /// Returns true if the result was kept for long enough.
    pub(super) fn is_expired(&self) -> bool {
        self.ended().is_some_and(|ended| ended.elapsed() > self.keep)
    }

    /// Waits for the end of an old client's task, and returns the result of its call. Questions of
    /// the task reach the client meanwhile.
    pub(in super::super) async fn result(&self, outlet: Arc<dyn Outlet>) -> Result<Value, Error> {
        let _waiting = outlet.is_stream().then(|| Waiting::new(self, outlet));
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| state.end.is_some()).await;
        let end = ended.map_err(|_| cancelled())?.end.clone();
        let mut result = end.map_or_else(|| Err(cancelled()), |(_, result)| result)?;
        if let Value::Object(fields) = &mut result {
            let meta = fields.entry("_meta").or_insert_with(|| json!({}));
            meta[RELATED_TASK] = json!({ "taskId": self.id });
        }
        Ok(result)
    }

    /// Returns the streams of old clients that wait for the result.
    pub(super) fn waiting(&self) -> watch::Receiver<Option<Arc<dyn Outlet>>> {
        self.waiting.subscribe()
    }

    /// Gives the task a question of a modern client. An earlier one is replaced.
    pub(super) fn ask(&self, ask: Ask) {
        let replaced = lock(&self.ask).replace(ask);
        if let Some(earlier) = replaced {
            earlier.settle(Err(Error::internal("Another question replaced this one")));
        }
        self.set_status("input_required");
    }

    /// Takes the answers of a modern client.
    pub(super) fn answer(&self, mut given: Map<String, Value>) {
        let mut asked = lock(&self.ask);
        if let Some(ask) = asked.as_mut() {
            ask.take(&mut given);
        }
        if let Some(ask) = asked.take_if(|ask| ask.open.is_empty()) {
            self.set_status("working");
            ask.settle(Ok(()));
        }
    }

    /// Gives up the question of a modern client, if it is the one that `is_chosen`.
    pub(super) fn give_up(&self, is_chosen: impl Fn(&Ask) -> bool) {
        if let Some(ask) = lock(&self.ask).take_if(|ask| is_chosen(ask)) {
            self.set_status("working");
            ask.settle(Err(Error::internal("The client did not answer")));
        }
    }

    /// Describes the task.
    pub(super) fn describe(&self) -> Value {
        let state = self.state.borrow();
        let mut task = json!({
            "taskId": self.id,
            "status": state.status,
            "createdAt": self.created.to_string(),
            "lastUpdatedAt": state.updated.to_string(),
        });
        // The time counts from the creation, but nothing is forgotten before the end.
        let until = state.end.as_ref().map_or_else(Instant::now, |(ended, _)| *ended);
        let ttl = until.duration_since(self.started) + self.keep;
        let names =
            if self.is_modern { ["ttlMs", "pollIntervalMs"] } else { ["ttl", "pollInterval"] };
        task[names[0]] = json!(millis(ttl));
        task[names[1]] = json!(millis(POLL));
        task
    }

    /// Describes the task with its result, error or questions.
    pub(super) fn details(&self) -> Value {
        let mut task = self.describe();
        match &self.state.borrow().end {
            Some((_, Ok(result))) => task["result"] = result.clone(),
            Some((_, Err(error))) if task["status"] == "failed" => task["error"] = json!(error),
            _ => {}
        }
        if let Some(ask) = lock(&self.ask).as_ref() {
            task["inputRequests"] = ask.requests();
        }
        task
    }

    /// Changes the status, unless the task has ended.
    pub(super) fn set_status(&self, status: &'static str) {
        self.change(|state| (state.status, state.updated) = (status, Timestamp::now()));
    }

    /// Ends the task, unless it has ended.
    pub(super) fn end(&self, status: &'static str, result: Result<Value, Error>) {
        let end = Some((Instant::now(), result));
        self.change(|state| *state = State { status, updated: Timestamp::now(), end });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        self.state.send_if_modified(|state| {
            let is_open = state.end.is_none();
            if is_open {
                change(state);
            }
            is_open
        });
    }
}

/// The wait of an old client for a result, until it is dropped.
struct Waiting<'a> {
    task: &'a Task,
    outlet: Arc<dyn Outlet>,
}

impl<'a> Waiting<'a> {
    fn new(task: &'a Task, outlet: Arc<dyn Outlet>) -> Self {
        task.waiting.send_replace(Some(Arc::clone(&outlet)));
        Self { task, outlet }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.task.waiting.send_if_modified(|waiting| {
            let is_own = waiting.as_ref().is_some_and(|other| Arc::ptr_eq(other, &self.outlet));
            if is_own {
                *waiting = None;
            }
            is_own
        });
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
