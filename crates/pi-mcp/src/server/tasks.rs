//! Calls that go on without their request: the client has a handle and asks for the result.
//!
//! Old clients ask for a task with the call and wait for its result with `tasks/result`. For modern
//! ones the server decides, and `tasks/get` has everything.

mod task;
mod work;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use pi_jsonrpc::Error;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::call::Call;
use super::context::cancelled;
use super::drive::Outlet;
pub(super) use task::Task;

/// The most tasks that are kept. The one that ended first makes room.
const LIMIT: usize = 256;

/// All tasks of a server.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<HashMap<String, Arc<Task>>>);

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
            let ended =
                tasks.values().filter_map(|task| Some((task.ended()?, task.id().to_owned())));
            ended.min().and_then(|(_, id)| tasks.remove(&id));
        }
        if tasks.len() >= LIMIT {
            let error = Error::internal("Too many tasks; wait until earlier ones have ended");
            let _ = started.send(Err(error.clone()));
            return Err(error);
        }
        let task = Arc::new(Task::new(&call, is_modern));
        tasks.insert(task.id().to_owned(), Arc::clone(&task));
        drop(tasks);
        let mut result = task.describe();
        match is_modern {
            true => result["resultType"] = json!("task"),
            false => result = json!({ "task": result }),
        }
        let _ = started.send(Ok(()));
        tokio::spawn(work::work(task, call, outlet));
        Ok(result)
    }

    /// Returns a task with its result, error or questions.
    pub(super) fn get(&self, params: &Map<String, Value>, is_modern: bool) -> Result<Value, Error> {
        let task = self.find(params, is_modern)?;
        Ok(if is_modern { task.details() } else { task.describe() })
    }

    /// Returns all tasks of old clients.
    pub(super) fn list(&self) -> Value {
        let tasks = self.lock();
        let mut known: Vec<_> =
            tasks.values().filter(|task| !task.is_modern() && !task.is_expired()).collect();
        known.sort_by_key(|task| task.age());
        json!({ "tasks": known.iter().map(|task| task.describe()).collect::<Vec<_>>() })
    }

    /// Cancels a task. One that has ended stays as it is.
    pub(super) fn cancel(
        &self,
        params: &Map<String, Value>,
        is_modern: bool,
    ) -> Result<Value, Error> {
        let task = self.find(params, is_modern)?;
        if task.ended().is_some() && !is_modern {
            return Err(Error::invalid_params("the task has ended"));
        }
        task.end("cancelled", Err(cancelled()));
        task.cancel().cancel();
        Ok(if is_modern { json!({}) } else { task.describe() })
    }

    /// Gives the answers of a modern client to its task.
    pub(super) fn update(&self, params: &Map<String, Value>) -> Result<Value, Error> {
        let task = self.find(params, true)?;
        let Some(Value::Object(given)) = params.get("inputResponses") else {
            return Err(Error::invalid_params("`inputResponses` is required"));
        };
        task.answer(given.clone());
        Ok(json!({}))
    }

    /// Returns a task of a client of this era.
    pub(super) fn find(
        &self,
        params: &Map<String, Value>,
        is_modern: bool,
    ) -> Result<Arc<Task>, Error> {
        let id = params.get("taskId").and_then(Value::as_str);
        let task = id.and_then(|id| self.lock().get(id).cloned());
        task.filter(|task| task.is_modern() == is_modern && !task.is_expired())
            .ok_or_else(|| Error::invalid_params("no such task"))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Task>>> {
        lock(&self.0)
    }
}
