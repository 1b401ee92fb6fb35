//! Calls that go on without their request: the client has a handle and asks for the result.
//!
//! Old clients ask for a task with the call and wait for its result with `tasks/result`. For modern
//! ones the server decides, and `tasks/get` has everything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pi_jsonrpc::Error;
use pi_protocol::CancelToken;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

use super::call::Call;
use super::context::{Ask, Event, cancelled};
use super::drive::{Outlet, question};

/// The most tasks that are kept.
const LIMIT: usize = 256;

/// The longest time that a task is kept.
const TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The time between two questions of a client about a task.
const POLL: Duration = Duration::from_millis(1_000);

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// All tasks of a server.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<HashMap<String, Arc<Task>>>);

#[derive(Debug)]
struct Task {
    id: String,
    created: Timestamp,
    started: Instant,
    ttl: Duration,
    is_modern: bool,
    cancel: CancelToken,
    state: watch::Sender<State>,
    /// The questions of a modern task.
    ask: Mutex<Option<Ask>>,
}

#[derive(Debug, Clone)]
struct State {
    status: &'static str,
    updated: Timestamp,
    result: Option<Result<Value, Error>>,
}

impl Tasks {
    /// Turns a call into a task. Returns the result that tells the client about it.
    pub(super) fn start(
        &self,
        call: Call,
        is_modern: bool,
        outlet: Arc<dyn Outlet>,
        started: oneshot::Sender<Result<(), Error>>,
    ) -> Result<Value, Error> {
        let mut tasks = self.lock();
        tasks.retain(|_, task| !task.is_expired());
        if tasks.len() >= LIMIT {
            let error = Error::internal("Too many tasks; wait until earlier ones have expired");
            let _ = started.send(Err(error.clone()));
            return Err(error);
        }
        let created = Timestamp::now();
        let state = State { status: "working", updated: created, result: None };
        let task = Arc::new(Task {
            id: Uuid::new_v4().to_string(),
            created,
            started: Instant::now(),
            ttl: call.ttl.map_or(TTL, |ttl| ttl.min(TTL)),
            is_modern,
            cancel: call.cancel_token().clone(),
            state: watch::Sender::new(state),
            ask: Mutex::default(),
        });
        tasks.insert(task.id.clone(), Arc::clone(&task));
        drop(tasks);
        let mut result = task.describe();
        match is_modern {
            true => result["resultType"] = json!("task"),
            false => result = json!({ "task": result }),
        }
        let _ = started.send(Ok(()));
        tokio::spawn(work(task, call, outlet));
        Ok(result)
    }

    /// Returns a task with its result, error or questions.
    pub(super) fn get(&self, params: &Map<String, Value>, is_modern: bool) -> Result<Value, Error> {
        let task = self.find(params, is_modern)?;
        Ok(if is_modern { task.details() } else { task.describe() })
    }

    /// Waits for the end of an old client's task, and returns the result of its call.
    pub(super) async fn result(&self, params: &Map<String, Value>) -> Result<Value, Error> {
        let task = self.find(params, false)?;
        let mut state = task.state.subscribe();
        let ended = state.wait_for(|state| state.result.is_some()).await;
        let result = ended.map_err(|_| cancelled())?.result.clone();
        let mut result = result.unwrap_or_else(|| Err(cancelled()))?;
        if let Value::Object(fields) = &mut result {
            let meta = fields.entry("_meta").or_insert_with(|| json!({}));
            meta[RELATED] = json!({ "taskId": task.id });
        }
        Ok(result)
    }

    /// Returns all tasks of old clients.
    pub(super) fn list(&self) -> Value {
        let tasks = self.lock();
        let mut known: Vec<_> =
            tasks.values().filter(|task| !task.is_modern && !task.is_expired()).collect();
        known.sort_by_key(|task| (task.created, &task.id));
        json!({ "tasks": known.iter().map(|task| task.describe()).collect::<Vec<_>>() })
    }

    /// Cancels a task. One that has ended stays as it is.
    pub(super) fn cancel(
        &self,
        params: &Map<String, Value>,
        is_modern: bool,
    ) -> Result<Value, Error> {
        let task = self.find(params, is_modern)?;
        let has_ended = task.state.borrow().result.is_some();
        if has_ended && !is_modern {
            return Err(Error::invalid_params("the task has ended"));
        }
        task.end("cancelled", Err(cancelled()));
        task.cancel.cancel();
        Ok(if is_modern { json!({}) } else { task.describe() })
    }

    /// Gives the answers of a modern client to its task.
    pub(super) fn update(&self, params: &Map<String, Value>) -> Result<Value, Error> {
        let task = self.find(params, true)?;
        let Some(Value::Object(given)) = params.get("inputResponses") else {
            return Err(Error::invalid_params("`inputResponses` is required"));
        };
        let mut asked = task.ask();
        if let Some(ask) = asked.as_mut() {
            ask.take(&mut given.clone());
        }
        if let Some(ask) = asked.take_if(|ask| ask.open.is_empty()) {
            task.set_status("working");
            ask.settle(Ok(()));
        }
        Ok(json!({}))
    }

    fn find(&self, params: &Map<String, Value>, is_modern: bool) -> Result<Arc<Task>, Error> {
        let id = params.get("taskId").and_then(Value::as_str);
        let task = id.and_then(|id| self.lock().get(id).cloned());
        task.filter(|task| task.is_modern == is_modern && !task.is_expired())
            .ok_or_else(|| Error::invalid_params("no such task"))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    fn is_expired(&self) -> bool {
        self.started.elapsed() > self.ttl
    }

    fn ask(&self) -> MutexGuard<'_, Option<Ask>> {
        self.ask.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self) -> Value {
        let state = self.state.borrow();
        let (ttl, poll) = (millis(self.ttl), millis(POLL));
        let mut task = json!({
            "taskId": self.id,
            "status": state.status,
            "createdAt": self.created.to_string(),
            "lastUpdatedAt": state.updated.to_string(),
        });
        let names =
            if self.is_modern { ["ttlMs", "pollIntervalMs"] } else { ["ttl", "pollInterval"] };
        task[names[0]] = json!(ttl);
        task[names[1]] = json!(poll);
        task
    }

    fn details(&self) -> Value {
        let mut task = self.describe();
        match &self.state.borrow().result {
            Some(Ok(result)) => task["result"] = result.clone(),
            Some(Err(error)) if task["status"] == "failed" => task["error"] = json!(error),
            _ => {}
        }
        if let Some(ask) = self.ask().as_ref() {
            task["inputRequests"] = ask.requests();
        }
        task
    }

    fn set_status(&self, status: &'static str) {
        self.state.send_if_modified(|state| {
            let is_open = state.result.is_none();
            if is_open {
                (state.status, state.updated) = (status, Timestamp::now());
            }
            is_open
        });
    }

    /// Ends the task, unless it has ended.
    fn end(&self, status: &'static str, result: Result<Value, Error>) {
        self.state.send_if_modified(|state| {
            let is_open = state.result.is_none();
            if is_open {
                *state = State { status, updated: Timestamp::now(), result: Some(result) };
            }
            is_open
        });
    }
}

/// Drives the call of a task.
async fn work(task: Arc<Task>, mut call: Call, outlet: Arc<dyn Outlet>) {
    loop {
        match call.next().await {
            Some(Event::Done(Ok(result))) => return task.end("completed", Ok(result)),
            Some(Event::Done(Err(error))) => return task.end("failed", Err(error)),
            None => return task.end("failed", Err(cancelled())),
            Some(Event::Ask(ask)) if task.is_modern => {
                let replaced = task.ask().replace(ask);
                if let Some(earlier) = replaced {
                    earlier.settle(Err(Error::internal("Another question replaced this one")));
                }
                task.set_status("input_required");
            }
            Some(Event::Ask(ask)) => question(ask, &outlet),
            // The request of a modern task has its response, so nothing more can follow it.
            Some(Event::Notify(_)) if task.is_modern => {}
            Some(Event::Notify(notification)) => outlet.notify(notification).await,
            Some(Event::StartTask(started)) => drop(started.send(Ok(()))),
            Some(Event::CloseStream) => {}
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
