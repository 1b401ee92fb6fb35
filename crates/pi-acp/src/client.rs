//! The client at the other end: what it offers, and how it is told and asked.

use pi_coding_agent::MergeQueue;
use pi_jsonrpc::{CallError, Connection, Id, Message};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::outbox::Outgoing;
use crate::params::Capabilities;
use crate::update::{Permission, Update};
use crate::wire::Version;

/// The client. Clones are the same client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) version: Version,
    pub(crate) capabilities: Capabilities,
    /// Name under which the answers of its user are recorded.
    pub(crate) name: Option<String>,
    pub(crate) outbox: MergeQueue<Outgoing>,
}

impl Client {
    /// Reports something about a session.
    pub(crate) fn report(&self, session: &str, update: Update) {
        if self.shows_notices() || !matches!(update, Update::Notice { .. }) {
            let (session, update) = (session.to_owned(), Box::new(update));
            self.outbox.push(Outgoing::Report { session, update });
        }
    }

    /// Waits until all reports were passed on, so that what is sent next follows them.
    pub(crate) async fn flush(&self) {
        let (mark, reached) = oneshot::channel();
        self.outbox.push(Outgoing::Mark(mark));
        tokio::select! {
            // Resolves when the mark is dropped.
            _ = reached => {}
            _ = self.connection.ended() => {}
        }
    }

    /// Returns true if notices reach the user.
    pub(crate) fn shows_notices(&self) -> bool {
        self.version == Version::V2 || self.capabilities.session.notices.is_some()
    }

    /// Returns true if the client can show forms.
    pub(crate) fn shows_forms(&self) -> bool {
        self.capabilities.elicitation.form.is_some()
    }

    /// Calls a method of the client, after all reports.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        self.flush().await;
        self.connection.call(method, Some(params)).await
    }

    /// Calls a method that asks the user, after all reports. If the future is dropped, the request
    /// is cancelled.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Result<Value, CallError> {
        self.flush().await;
        let pending = self.connection.start(method, |_| Some(params)).await?;
        let mut open =
            OpenQuestion { connection: &self.connection, id: Some(pending.id().clone()) };
        let answer = pending.response().await;
        open.id = None;
        answer
    }

    /// Asks for permission. Returns the id of the chosen option; `None` if the question was
    /// cancelled.
    pub(crate) async fn ask_permission(
        &self,
        session: &str,
        permission: Permission,
    ) -> Result<Option<String>, CallError> {
        let params = self.version.permission(session, permission);
        let answer = self.ask("session/request_permission", params).await?;
        let outcome = &answer["outcome"];
        let chosen = (outcome["outcome"] == "selected").then(|| outcome["optionId"].as_str());
        Ok(chosen.flatten().map(str::to_owned))
    }
}

/// Cancels its request when it is dropped before the answer.
struct OpenQuestion<'a> {
    connection: &'a Connection,
    id: Option<Id>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let params = json!({ "requestId": id });
            // Without room in the queue the client keeps a question that no one waits for.
            let _ =
                self.connection.try_send(Message::notification("$/cancel_request", Some(params)));
        }
    }
}
