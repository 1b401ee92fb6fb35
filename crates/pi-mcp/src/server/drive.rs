//! Delivers what a running call sends, until its request has a response.

use std::sync::Arc;
use std::time::Duration;

use pi_jsonrpc::connection::BoxFuture;
use pi_jsonrpc::{Error, Id, Notification};
use pi_protocol::CancelToken;
use serde_json::{Value, json};

use super::call::Call;
use super::context::{Ask, Event, Question, cancelled};
use super::dispatch::cacheable;
use super::{Server, envelope};
use crate::protocol::methods;

/// The time that a client has for a question.
pub(super) const ANSWER_WAIT: Duration = Duration::from_secs(30 * 60);

/// The way to the client of one request.
pub(super) trait Outlet: Send + Sync + 'static {
    /// Sends a notification. One that cannot be delivered is left out.
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()>;

    /// Sends a request to an old client and waits for its response.
    fn ask(&self, method: &'static str, params: Value) -> BoxFuture<'_, Result<Value, Error>>;

    /// Closes the stream for now, if there is one that can be continued.
    fn close_stream(&self) {}

    /// Returns true if messages arrive only while the client reads a stream.
    fn is_stream(&self) -> bool {
        false
    }

    /// Returns true if the client reads the stream now.
    fn is_read(&self) -> bool {
        true
    }
}

/// Drives a call until its request has a response.
pub(super) async fn drive(
    server: &Server,
    mut call: Call,
    is_modern: bool,
    outlet: Arc<dyn Outlet>,
) -> Result<Value, Error> {
    let is_read = call.identity.method == methods::RESOURCES_READ;
    let result = loop {
        match call.next().await {
            None => break Err(cancelled()),
            Some(Event::Done(Ok(mut result))) if is_read && is_modern => {
                cacheable(&mut result);
                break Ok(result);
            }
            Some(Event::Done(result)) => break result,
            Some(Event::Notify(notification)) => outlet.notify(notification).await,
            Some(Event::CloseStream) => outlet.close_stream(),
            Some(Event::StartTask(started)) => {
                break server.tasks().start(call, is_modern, outlet, started);
            }
            Some(Event::Ask(ask)) if !is_modern => question(ask, &outlet),
            Some(Event::Ask(mut ask)) => {
                ask.take(&mut call.given);
                if ask.open.is_empty() {
                    ask.settle(Ok(()));
                } else {
                    break Ok(input_required(server, call, ask));
                }
            }
        }
    };
    finish(server, is_modern, result)
}

/// Completes the result of a call for its client.
fn finish(server: &Server, is_modern: bool, result: Result<Value, Error>) -> Result<Value, Error> {
    match is_modern {
        true => Ok(envelope::complete(result?, &server.about().info())),
        false => result,
    }
}

/// Continues a parked call with the answers of its client.
pub(super) async fn resume(
    server: &Server,
    mut call: Call,
    mut ask: Ask,
    outlet: Arc<dyn Outlet>,
) -> Result<Value, Error> {
    ask.take(&mut std::mem::take(&mut call.given));
    if ask.open.is_empty() {
        ask.settle(Ok(()));
        drive(server, call, true, outlet).await
    } else {
        let again = input_required(server, call, ask);
        finish(server, true, Ok(again))
    }
}

/// Parks a call, and returns the result that asks for input.
fn input_required(server: &Server, call: Call, ask: Ask) -> Value {
    let requests = ask.requests();
    let state = server.parked().park(call, ask);
    json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state })
}

/// Asks an old client. The call goes on meanwhile.
fn question(mut ask: Ask, outlet: &Arc<dyn Outlet>) {
    let outlet = Arc::clone(outlet);
    tokio::spawn(async move {
        let withdrawn = ask.withdrawn().clone();
        let asking = answers(&mut ask, |question| {
            let outlet = Arc::clone(&outlet);
            async move { outlet.ask(question.kind.method(), question.params).await }
        });
        let result = in_time(&withdrawn, asking).await;
        ask.settle(result);
    });
}

/// Waits for answers: as long as the call waits for them, and not for ever.
pub(super) async fn in_time(
    withdrawn: &CancelToken,
    asking: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    tokio::select! {
        biased;
        () = withdrawn.cancelled() => Err(cancelled()),
        asked = tokio::time::timeout(ANSWER_WAIT, asking) => {
            asked.unwrap_or_else(|_| Err(Error::internal("The client did not answer")))
        }
    }
}

/// Asks the open questions one by one.
pub(super) async fn answers<F>(ask: &mut Ask, put: impl Fn(Question) -> F) -> Result<(), Error>
where
    F: Future<Output = Result<Value, Error>>,
{
    while let Some(question) = ask.open.first().cloned() {
        let answer = put(question.clone()).await?;
        ask.take(&mut [(question.key.clone(), answer)].into_iter().collect());
        if ask.open.first() == Some(&question) {
            let problem = format!("{} got an invalid answer", question.kind.method());
            return Err(Error::internal(problem));
        }
    }
    Ok(())
}

/// Returns the notification that no one waits for the answer to a request any more.
pub(super) fn withdrawal(id: &Id) -> Notification {
    let params = json!({ "requestId": id, "reason": "The call does not wait any more" });
    Notification { method: methods::CANCELLED.to_owned(), params: Some(params) }
}
