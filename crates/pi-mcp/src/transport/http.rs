//! Streamable HTTP, of both eras.
//!
//! Every message of the client is a POST. The response has a JSON body or a stream of events, which
//! ends with the answer. In the legacy era a session id connects the requests, a GET stream carries
//! what the server sends by itself ([`stream`]), and a broken stream can be resumed. In the modern
//! era every request stands alone, and closing its stream cancels it.

mod answers;
mod send;
mod stream;
mod values;

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pi_base::lock;
use pi_jsonrpc::{Error, Id, Message};
use pi_protocol::CancelToken;
use pi_web::WebClient;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use url::Url;

use super::{Authorization, Outgoing};
use crate::error::ClientError;
use crate::inbox::Inbox;
use crate::protocol::{Era, Implementation, methods};
use send::Sending;
pub(crate) use values::header_value;

/// The most questions of a server that are answered at a time.
const MAX_QUESTIONS: usize = 64;
/// Time limit for sending a notification or an answer.
const NOTIFY_LIMIT: Duration = Duration::from_secs(30);
/// Time limit for the end of a session.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// A server at a URL.
pub struct Http {
    /// Address of the server.
    pub url: Url,
    /// Headers of every request. They are sent to the origin of the URL only.
    pub headers: Vec<(String, String)>,
    /// Source of the access tokens.
    pub authorization: Option<Arc<dyn Authorization>>,
    /// HTTP client that sends the requests.
    pub web: WebClient,
}

impl Http {
    /// Names a server that needs no token.
    pub fn new(url: Url, web: WebClient) -> Self {
        Self { url, headers: Vec::new(), authorization: None, web }
    }

    pub(super) fn open(self, inbox: &Arc<Inbox>, info: &Implementation) -> Arc<HttpLink> {
        Arc::new(HttpLink {
            agent: format!("{}/{}", info.name, info.version),
            server: self,
            inbox: Arc::clone(inbox),
            ids: AtomicI64::new(1),
            session: Mutex::default(),
            handshakes: watch::Sender::new(0),
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            stop: CancelToken::new(),
        })
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// An open way to a server at a URL.
pub(crate) struct HttpLink {
    server: Http,
    agent: String,
    inbox: Arc<Inbox>,
    ids: AtomicI64,
    session: Mutex<Session>,
    /// Counts the handshakes. Streams of an earlier session end when it changes.
    handshakes: watch::Sender<u64>,
    questions: Arc<Semaphore>,
    stop: CancelToken,
}

/// State that connects the requests of the legacy era.
#[derive(Debug, Clone, Default)]
struct Session {
    /// Id that the server gave.
    id: Option<String>,
    /// Version that the handshake found.
    version: Option<String>,
}

impl HttpLink {
    /// Sends a request and waits for its result.
    pub(super) async fn request(
        self: &Arc<Self>,
        outgoing: Outgoing<'_>,
    ) -> Result<Value, ClientError> {
        let stopped = self.stop.cancelled();
        tokio::select! {
            () = stopped => Err(ClientError::Closed("this side closed it".to_owned())),
            result = self.exchange(outgoing) => result,
        }
    }

    async fn exchange(self: &Arc<Self>, outgoing: Outgoing<'_>) -> Result<Value, ClientError> {
        let Outgoing { method, params, era, version, mut headers } = outgoing;
        let id = Id::Number(self.ids.fetch_add(1, Ordering::Relaxed));
        let params = params(&id);
        let session = self.session().clone();
        match era {
            Era::Modern => headers.extend(values::standard_headers(method, &params, version)),
            Era::Legacy if method == methods::INITIALIZE => {}
            Era::Legacy => headers.extend(session.headers()),
        }
        let message = Message::request(id.clone(), method, Some(params));
        let response = self.send(Sending::post(&message, headers)).await?;
        if era == Era::Legacy && method == methods::INITIALIZE && response.status == 200 {
            self.session().id = send::header(&response, "mcp-session-id").map(str::to_owned);
            self.handshakes.send_modify(|number| *number += 1);
        } else if era == Era::Legacy && response.status == 404 && session.id.is_some() {
            return match answers::failure(response).await {
                // Some servers have a 404 for methods as well.
                ClientError::Remote(error) if error.code == Error::METHOD_NOT_FOUND => {
                    Err(ClientError::Remote(error))
                }
                _ => Err(ClientError::SessionLost),
            };
        }
        self.answer(response, &id, method, era).await
    }

    /// Sends a notification, or an answer to a question.
    pub(super) async fn post(&self, message: &Message) -> Result<(), ClientError> {
        let headers = self.session().headers();
        let sending = self.send(Sending::post(message, headers));
        let response = timeout(NOTIFY_LIMIT, sending).await.map_err(|_| {
            ClientError::Network("the server did not accept a message in time".to_owned())
        })??;
        match response.status {
            200..=299 => Ok(()),
            404 if self.session().id.is_some() => Err(ClientError::SessionLost),
            _ => Err(answers::failure(response).await),
        }
    }

    /// Tells a legacy server that a request is not wanted. A modern server sees the closed stream.
    pub(super) fn cancel(self: &Arc<Self>, id: &Id, era: Era, reason: &str) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if era == Era::Legacy {
            let link = Arc::clone(self);
            let params = json!({ "requestId": id, "reason": reason });
            let message = Message::notification(methods::CANCELLED, Some(params));
            runtime.spawn(async move {
                if let Err(error) = link.post(&message).await {
                    link.inbox.handler.problem(&format!("a request was not cancelled: {error}"));
                }
            });
        }
    }

    /// Returns the number of the session.
    pub(super) fn session_number(&self) -> u64 {
        *self.handshakes.borrow()
    }

    /// Sets the version that the handshake found.
    pub(super) fn set_version(&self, version: &str) {
        self.session().version = Some(version.to_owned());
    }

    pub(super) fn is_closed(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Ends the session.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        let headers = {
            let mut session = self.session();
            let headers = session.headers();
            if session.id.take().is_none() {
                return;
            }
            headers
        };
        // A server may refuse to end a session; it ends by itself then.
        let _ = timeout(CLOSE_LIMIT, self.send(Sending::delete(headers))).await;
    }

    /// Ends the session without waiting.
    pub(super) fn abandon(self: &Arc<Self>) {
        self.stop.cancel();
        let has_session = self.session().id.is_some();
        if let (true, Ok(runtime)) = (has_session, tokio::runtime::Handle::try_current()) {
            let link = Arc::clone(self);
            runtime.spawn(async move { link.close().await });
        }
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        lock(&self.session)
    }
}

impl Session {
    fn headers(&self) -> Vec<(String, String)> {
        let version = self.version.iter().map(|one| ("mcp-protocol-version", one));
        let id = self.id.iter().map(|one| ("mcp-session-id", one));
        version.chain(id).map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}

pi_protocol::debug_fields!(HttpLink, server);
