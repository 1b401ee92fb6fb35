//! Drives the call of a task.

use std::sync::Arc;

use pi_jsonrpc::Error;
use serde_json::{Value, json};

use super::super::call::Call;
use super::super::context::{Ask, Event, Question, cancelled};
use super::super::drive::{ANSWER_WAIT, Outlet, answers, in_time};
use super::task::Task;
use crate::protocol::meta::RELATED_TASK;

/// Drives the call until it has ended. `outlet` is that of the request that started the task.
pub(super) async fn work(task: Arc<Task>, mut call: Call, outlet: Arc<dyn Outlet>) {
    loop {
        match call.next().await {
            Some(Event::Done(Ok(result))) => return task.end("completed", Ok(result)),
            Some(Event::Done(Err(error))) => return task.end("failed", Err(error)),
            None => return task.end("failed", Err(cancelled())),
            Some(Event::Ask(ask)) if task.is_modern() => keep(&task, ask),
            Some(Event::Ask(ask)) => {
                tokio::spawn(put(Arc::clone(&task), ask, Arc::clone(&outlet)));
            }
            // The request of a modern task has its response, so nothing more can follow it.
            Some(Event::Notify(_)) if task.is_modern() => {}
            Some(Event::Notify(notification)) => {
                let waiting = task.waiting().borrow().clone();
                waiting.as_ref().unwrap_or(&outlet).notify(notification).await;
            }
            Some(Event::StartTask(started)) => drop(started.send(Ok(()))),
            Some(Event::CloseStream) => {}
        }
    }
}

/// Keeps a question until a modern client answers it, the call gives it up, or time is over.
fn keep(task: &Arc<Task>, ask: Ask) {
    let withdrawn = ask.withdrawn().clone();
    task.ask(ask);
    let task = Arc::clone(task);
    tokio::spawn(async move {
        match tokio::time::timeout(ANSWER_WAIT, withdrawn.cancelled()).await {
            Ok(()) => task.give_up(|ask| ask.withdrawn().is_cancelled()),
            // The question is still waited for, so it is the present one.
            Err(_) => task.give_up(|_| true),
        }
    });
}

/// Asks an old client.
async fn put(task: Arc<Task>, mut ask: Ask, outlet: Arc<dyn Outlet>) {
    task.set_status("input_required");
    let withdrawn = ask.withdrawn().clone();
    let asking = answers(&mut ask, |question| put_one(&task, question, &outlet));
    let result = in_time(&withdrawn, asking).await;
    task.set_status("working");
    ask.settle(result);
}

/// Asks one question: on the stream of a client that waits for the result, else where the task was
/// started. A client that reads no stream gets the question when it waits for the result.
async fn put_one(
    task: &Task,
    mut question: Question,
    outlet: &Arc<dyn Outlet>,
) -> Result<Value, Error> {
    if let Value::Object(params) = &mut question.params
        && let Value::Object(meta) = params.entry("_meta").or_insert_with(|| json!({}))
    {
        meta.insert(RELATED_TASK.to_owned(), json!({ "taskId": task.id() }));
    }
    let method = question.kind.method();
    let mut waiting = task.waiting();
    loop {
        let stream = waiting.borrow_and_update().clone();
        let way = stream.or_else(|| outlet.is_read().then(|| Arc::clone(outlet)));
        let Some(way) = way else {
            waiting.changed().await.map_err(|_| cancelled())?;
            continue;
        };
        tokio::select! {
            answer = way.ask(method, question.params.clone()) => return answer,
            // A client that waits on another stream may have lost the first one.
            _ = waiting.wait_for(|stream| {
                stream.as_ref().is_some_and(|stream| !Arc::ptr_eq(stream, &way))
            }) => {}
        }
    }
}
