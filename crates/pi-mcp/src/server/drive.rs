//! Delivers what a running call sends, until its request has a response.

use std::sync::Arc;
use std::time::Duration;

use pi_jsonrpc::connection::BoxFuture;
use pi_jsonrpc::{Error, Notification};
use serde_json::{Value, json};

use super::call::Call;
use super::context::{Ask, Event, cancelled};
use super::dispatch::cacheable;
use super::{Server, envelope};

/// The time that an old client has for a question.
const ANSWER_WAIT: Duration = Duration::from_secs(30 * 60);

/// The way to the client of one request.
pub(super) trait Outlet: Send + Sync + 'static {
    /// Sends a notification. One that cannot be delivered is left out.
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()>;

    /// Sends a request to an old client and waits for its response.
    fn ask(&self, method: &'static str, params: Value) -> BoxFuture<'_, Result<Value, Error>>;

    /// Closes the stream for now, if there is one that can be continued.
    fn close_stream(&self) {}
}

/// Drives a call until its request has a response.
pub(super) async fn drive(
    server: &Server,
    mut call: Call,
    is_modern: bool,
    outlet: Arc<dyn Outlet>,
) -> Result<Value, Error> {
    let is_read = call.identity.method == "resources/read";
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
pub(super) fn question(mut ask: Ask, outlet: &Arc<dyn Outlet>) {
    let outlet = Arc::clone(outlet);
    tokio::spawn(async move {
        while let Some(question) = ask.open.first().cloned() {
            let asking = outlet.ask(question.kind.method(), question.params.clone());
            let answer = match tokio::time::timeout(ANSWER_WAIT, asking).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => return ask.settle(Err(error)),
                Err(_) => return ask.settle(Err(Error::internal("The client did not answer"))),
            };
            ask.take(&mut [(question.key.clone(), answer)].into_iter().collect());
            if ask.open.first() == Some(&question) {
                let problem = format!("{} got an invalid answer", question.kind.method());
                return ask.settle(Err(Error::internal(problem)));
            }
        }
        ask.settle(Ok(()));
    });
}
