//! Running calls: each is a task that reports to its driver.

use std::time::Duration;

use pi_jsonrpc::Error;
use pi_jsonrpc::connection::BoxFuture;
use pi_protocol::CancelToken;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::Server;
use super::client::Client;
use super::context::{Context, Event, ProgressToken, cancelled};
use crate::protocol::meta::TASKS_EXTENSION;
use crate::protocol::methods;

/// The time that a cancelled call has to end by itself.
const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// The most events that wait for the driver.
const EVENTS: usize = 64;

/// The request that a call belongs to. A client that continues a call must repeat it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Identity {
    pub(super) method: String,
    /// Name of the tool or prompt, or URI of the resource.
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

/// A running call. Dropping it cancels the call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) identity: Identity,
    /// Answers that the client gave with its request.
    pub(super) given: Map<String, Value>,
    /// The time that the result of a task is kept, as an old client asked for.
    pub(super) ttl: Option<Duration>,
    /// The token of the request that the client waits for now.
    pub(super) progress_token: ProgressToken,
    cancel: CancelToken,
    events: mpsc::Receiver<Event>,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Call {
    /// Starts a call of a tool, prompt or resource.
    pub(super) fn start(
        server: &Server,
        client: Client,
        identity: Identity,
        params: &Map<String, Value>,
    ) -> Self {
        let offers = server.about().offers;
        let task = params.get("task").filter(|task| task.is_object());
        let is_tool = identity.method == methods::TOOLS_CALL;
        let can_start_task = offers.tasks
            && is_tool
            && if client.is_modern() {
                client.has_extension(TASKS_EXTENSION)
            } else {
                task.is_some()
            };
        let (sender, events) = mpsc::channel(EVENTS);
        let changes = server.changes().clone();
        let progress_token = ProgressToken::default();
        progress_token.set(params.get("_meta"));
        let context = Context::new(client, progress_token.clone(), can_start_task, sender, changes);
        let cancel = context.cancel().clone();
        let service = server.service().clone();
        let Identity { method, name, arguments } = identity.clone();
        let own = context.clone();
        tokio::spawn(async move {
            let working: BoxFuture<'_, Result<Value, Error>> = match method.as_str() {
                methods::TOOLS_CALL => service.call_tool(name, arguments, context),
                methods::PROMPTS_GET => service.get_prompt(name, arguments, context),
                _ => service.read_resource(name, context),
            };
            let result = tokio::select! {
                result = working => result,
                () = overdue(own.cancel()) => Err(cancelled()),
            };
            // Without a driver the result is dropped.
            let _ = own.send(Event::Done(result)).await;
        });
        let ttl = task.and_then(|task| task["ttl"].as_u64()).map(Duration::from_millis);
        let given = params.get("inputResponses").and_then(Value::as_object);
        let given = given.cloned().unwrap_or_default();
        Self { identity, given, ttl, progress_token, cancel, events }
    }

    /// Returns the next event; `None` if the call ended without a result.
    pub(super) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Returns the token that cancels the call.
    pub(super) fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }
}

/// Waits until a call was cancelled and had time to end.
async fn overdue(cancel: &CancelToken) {
    cancel.cancelled().await;
    tokio::time::sleep(CANCEL_GRACE).await;
}
