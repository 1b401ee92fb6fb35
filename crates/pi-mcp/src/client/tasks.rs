//! Calls that a server runs as tasks: polled until they are done.

use std::collections::HashSet;
use std::time::Duration;

use pi_jsonrpc::Error;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::request::{Draft, LONGEST, object, wait};
use super::{CallOptions, Client, ClientError};
use crate::error::invalid;
use crate::protocol::{Progress, Task, TaskStatus, methods};

/// The pause between two questions for the state, if the server names none, and its limits.
const POLL: Duration = Duration::from_secs(1);
const POLL_LIMITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(60));
/// Time limit for the cancellation of a task.
const CANCEL_LIMIT: Duration = Duration::from_secs(10);

impl Client {
    /// Waits for the result of a task of the modern extension.
    pub(super) async fn follow_task(
        &self,
        created: Value,
        options: &CallOptions,
    ) -> Result<Value, ClientError> {
        let mut task = read(methods::TOOLS_CALL, created)?;
        let mut answered = HashSet::new();
        let mut shown = None;
        let start = Instant::now();
        let id = task.task_id.clone();
        let mut unfinished = Unfinished::new(self, &id);
        let followed = async {
            loop {
                report(&task, &mut shown, options);
                match task.status {
                    TaskStatus::Completed => {
                        let missing = || invalid(methods::TASKS_GET, "it has no result");
                        return task.result.take().ok_or_else(missing);
                    }
                    TaskStatus::Failed | TaskStatus::Cancelled => return Err(ended(&task)),
                    TaskStatus::InputRequired => {
                        self.answer_task(&mut task, &mut answered, options).await?;
                    }
                    TaskStatus::Working => {}
                }
                wait(pause(&task), options).await?;
                if start.elapsed() > LONGEST {
                    let (method, seconds) = (methods::TASKS_GET.to_owned(), LONGEST.as_secs());
                    return Err(ClientError::TimedOut { method, seconds });
                }
                task = self.task(&id, options).await?;
            }
        };
        let result = followed.await;
        unfinished.settle(&result);
        result
    }

    /// Waits for the result of a task of 2025-11-25.
    pub(super) async fn follow_legacy_task(
        &self,
        created: Value,
        options: &CallOptions,
    ) -> Result<Value, ClientError> {
        let mut task = read(methods::TOOLS_CALL, created)?;
        let mut shown = None;
        let start = Instant::now();
        let id = task.task_id.clone();
        let mut unfinished = Unfinished::new(self, &id);
        let followed = async {
            // The server asks its questions while the client waits for the result, so a task that
            // needs input is waited for as well.
            while task.status == TaskStatus::Working && start.elapsed() < LONGEST {
                report(&task, &mut shown, options);
                wait(pause(&task), options).await?;
                task = self.task(&id, options).await?;
            }
            if task.status == TaskStatus::Cancelled {
                return Err(ended(&task));
            }
            let params = object(json!({ "taskId": id }));
            let options = CallOptions { timeout: Some(LONGEST), ..options.clone() };
            self.request(Draft::new(methods::TASKS_RESULT, params), &options).await
        };
        let result = followed.await;
        unfinished.settle(&result);
        result
    }

    async fn task(&self, id: &str, options: &CallOptions) -> Result<Task, ClientError> {
        let params = object(json!({ "taskId": id }));
        let state = self.request(Draft::new(methods::TASKS_GET, params), options).await?;
        read(methods::TASKS_GET, state)
    }

    /// Answers the questions of a task that were not answered yet.
    async fn answer_task(
        &self,
        task: &mut Task,
        answered: &mut HashSet<String>,
        options: &CallOptions,
    ) -> Result<(), ClientError> {
        let mut questions = task.input_requests.take().unwrap_or_default();
        questions.retain(|key, _| answered.insert(key.clone()));
        if questions.is_empty() {
            return Ok(());
        }
        let answers = self.answers(methods::TASKS_GET, questions, options).await?;
        let params = object(json!({ "taskId": task.task_id, "inputResponses": answers }));
        self.request(Draft::new(methods::TASKS_UPDATE, params), options).await?;
        Ok(())
    }

    async fn cancel_task(&self, id: &str) {
        let params = object(json!({ "taskId": id }));
        let options = CallOptions { timeout: Some(CANCEL_LIMIT), ..CallOptions::default() };
        let cancelled = self.request(Draft::new(methods::TASKS_CANCEL, params), &options).await;
        if let Err(error) = cancelled {
            self.0.inbox.handler.problem(&format!("a task was not cancelled: {error}"));
        }
    }
}

/// A task that runs at the server. Dropping this value cancels the task, in a task of its own: the
/// caller may not wait for the cancellation, or may be dropped itself.
struct Unfinished<'a> {
    client: &'a Client,
    id: &'a str,
    is_settled: bool,
}

impl<'a> Unfinished<'a> {
    fn new(client: &'a Client, id: &'a str) -> Self {
        Self { client, id, is_settled: false }
    }

    /// Takes note of the result. A task that has ended, or whose state is not known, is not
    /// cancelled.
    fn settle(&mut self, result: &Result<Value, ClientError>) {
        self.is_settled = !matches!(
            result,
            Err(ClientError::Cancelled | ClientError::TimedOut { .. } | ClientError::Refused(_))
        );
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.is_settled, Handle::try_current()) {
            let (client, id) = (self.client.clone(), self.id.to_owned());
            runtime.spawn(async move { client.cancel_task(&id).await });
        }
    }
}

fn read(method: &str, state: Value) -> Result<Task, ClientError> {
    serde_json::from_value(state).map_err(|error| invalid(method, &error.to_string()))
}

fn pause(task: &Task) -> Duration {
    let asked = task.poll_interval_ms.or(task.poll_interval).map(Duration::from_millis);
    asked.map_or(POLL, |asked| asked.clamp(POLL_LIMITS.0, POLL_LIMITS.1))
}

/// Shows a new message of a task as progress.
fn report(task: &Task, shown: &mut Option<String>, options: &CallOptions) {
    let Some(on_progress) = &options.on_progress else { return };
    if task.status_message.is_some() && *shown != task.status_message {
        shown.clone_from(&task.status_message);
        let message = task.status_message.clone();
        let (progress_token, progress) = (Value::Null, 0.0);
        on_progress(Progress { progress_token, progress, total: None, message });
    }
}

fn ended(task: &Task) -> ClientError {
    let error = task.error.clone().and_then(|error| serde_json::from_value::<Error>(error).ok());
    ClientError::remote(error.unwrap_or_else(|| {
        let message = task.status_message.clone();
        Error::internal(message.unwrap_or_else(|| format!("the task ended: {:?}", task.status)))
    }))
}
