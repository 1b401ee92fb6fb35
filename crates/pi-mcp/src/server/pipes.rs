//! The transport over pipes: one client, one message per line.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use pi_base::lock;
use pi_jsonrpc::connection::BoxFuture;
use pi_jsonrpc::{
    CallError, Connection, Ended, Error, Id, Incoming, Limits, Message, Notification,
};
use pi_protocol::CancelToken;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::broadcast::error::RecvError;

use super::client::Client;
use super::context::cancelled;
use super::dispatch::{Asked, Step, dispatch};
use super::drive::{Outlet, drive, resume, withdrawal};
use super::listen::listen;
use super::session::Session;
use super::{MODERN, Server, envelope};
use crate::protocol::methods;

/// The longest message of a client.
const LINE: usize = 16 << 20;

/// The time for responses after the client has closed its end.
const DRAIN: Duration = Duration::from_secs(5);

impl Server {
    /// Serves one client over a reader and a writer, until one of them ends.
    pub async fn serve_pipes<R, W>(&self, reader: R, writer: W) -> Ended
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let pipes = Arc::new(Pipes {
            server: self.clone(),
            session: Mutex::default(),
            running: Mutex::default(),
            connection: OnceLock::new(),
        });
        let limits = Limits { line: LINE, drain: DRAIN, ..Limits::default() };
        let service = Arc::clone(&pipes) as Arc<dyn pi_jsonrpc::Service>;
        let (connection, running) = Connection::new(reader, writer, service, limits);
        let _ = pipes.connection.set(connection.clone());
        let telling = tokio::spawn(tell_changes(Arc::clone(&pipes), connection));
        let ended = running.await;
        telling.abort();
        ended
    }
}

struct Pipes {
    server: Server,
    /// The session, if the client is an old one.
    session: Mutex<Option<Arc<Session>>>,
    running: Mutex<HashMap<Id, CancelToken>>,
    connection: OnceLock<Connection>,
}

impl Pipes {
    async fn answer(&self, request: Incoming) -> Result<Value, Error> {
        let _running = Running { pipes: self, id: &request.id };
        let params = request.params.as_ref();
        let is_modern = envelope::is_modern(params);
        if request.method == methods::INITIALIZE && !is_modern {
            let (session, result) = Session::start(self.server.about(), params)?;
            *lock(&self.session) = Some(Arc::new(session));
            return Ok(result);
        }
        let session = lock(&self.session).clone().filter(|_| !is_modern);
        let client = match &session {
            Some(session) => session.client(),
            None if request.method == methods::PING && !is_modern => return Ok(json!({})),
            None => read_modern(params)?,
        };
        let cancel = lock(&self.running).get(&request.id).cloned().unwrap_or_default();
        tokio::select! {
            biased;
            // What runs for the request is dropped, and so is cancelled.
            () = cancel.cancelled() => Err(cancelled()),
            result = self.perform(&request, client, session.as_deref()) => result,
        }
    }

    async fn perform(
        &self,
        request: &Incoming,
        client: Client,
        session: Option<&Session>,
    ) -> Result<Value, Error> {
        let Some(connection) = self.connection.get().cloned() else { return Err(cancelled()) };
        let outlet: Arc<dyn Outlet> = Arc::new(PipeOutlet(connection));
        let is_modern = client.version == MODERN;
        let Incoming { id, method, params } = request;
        let asked = Asked { method, params: params.as_ref(), client, session };
        match dispatch(&self.server, asked).await {
            Step::Reply(result) => result,
            Step::Call(call) => drive(&self.server, call, is_modern, outlet).await,
            Step::Resume(call, ask) => resume(&self.server, call, ask, outlet).await,
            Step::Listen(filter) => listen(&self.server, filter, id, &*outlet).await,
            Step::Result(task) => task.result(outlet).await,
        }
    }
}

fn read_modern(params: Option<&Value>) -> Result<Client, Error> {
    let client = envelope::read(params)?;
    envelope::check_version(&client)?;
    Ok(client)
}

/// Removes the entry of a request when it has ended.
struct Running<'a> {
    pipes: &'a Pipes,
    id: &'a Id,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        lock(&self.pipes.running).remove(self.id);
    }
}

impl pi_jsonrpc::Service for Pipes {
    fn request(&self, request: Incoming) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(self.answer(request))
    }

    fn received(&self, request: &Incoming) {
        // In the order of the messages: a cancellation may follow before the request is looked at.
        lock(&self.running).insert(request.id.clone(), CancelToken::new());
    }

    fn notification(&self, method: &str, params: Option<Value>) {
        if method != methods::CANCELLED {
            return;
        }
        let id = params.as_ref().and_then(|params| Id::from_value(&params["requestId"]));
        let cancel = id.and_then(|id| lock(&self.running).get(&id).cloned());
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
    }
}

struct PipeOutlet(Connection);

impl Outlet for PipeOutlet {
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // A connection that ended is noticed by its owner.
            let _ = self.0.notify(&notification.method, notification.params).await;
        })
    }

    fn ask(&self, method: &'static str, params: Value) -> BoxFuture<'_, Result<Value, Error>> {
        Box::pin(async move {
            let failed = |error| match error {
                CallError::Remote(error) => error,
                CallError::Closed(reason) => Error::internal(reason),
                error @ CallError::TooLong(_) => Error::internal(error),
            };
            let pending = self.0.start(method, |_| Some(params)).await.map_err(failed)?;
            let mut open = OpenQuestion { connection: &self.0, id: Some(pending.id().clone()) };
            let answer = pending.response().await;
            open.id = None;
            answer.map_err(failed)
        })
    }
}

/// A question without an answer. The client is told if no one waits for the answer any more.
struct OpenQuestion<'a> {
    connection: &'a Connection,
    id: Option<Id>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let notification = withdrawal(&id);
            self.connection.try_send(Message::Notification(notification));
        }
    }
}

/// Tells an old client about changes. Modern ones listen themselves.
async fn tell_changes(pipes: Arc<Pipes>, connection: Connection) {
    let mut changes = pipes.server.changes().subscribe();
    loop {
        let change = changes.recv().await;
        let session = lock(&pipes.session).clone();
        let notices = match (change, session) {
            (Err(RecvError::Closed), _) => return,
            (_, None) => Vec::new(),
            (Ok(change), Some(session)) => session.notice(&change).into_iter().collect(),
            (Err(RecvError::Lagged(_)), Some(session)) => session.everything(),
        };
        for Notification { method, params } in notices {
            let _ = connection.notify(&method, params).await;
        }
    }
}
