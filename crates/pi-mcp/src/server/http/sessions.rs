//! The sessions of old clients over HTTP.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use pi_base::lock;
use pi_jsonrpc::connection::BoxFuture;
use pi_jsonrpc::{Calls, Error, Id, Message, Notification};
use pi_protocol::CancelToken;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use uuid::Uuid;

use super::super::drive::{Outlet, withdrawal};
use super::super::service::Change;
use super::super::session::Session;
use super::stream::Log;

/// The most sessions. The one that was idle for longest makes room.
const SESSIONS: usize = 64;

/// The time after which a session ends that has no requests and no stream.
const IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// The most streams of a session, those that have ended included.
const STREAMS: usize = 32;

/// Name of the stream for what belongs to no request.
const STANDING: u64 = 0;

/// All sessions by id.
#[derive(Debug, Default)]
pub(super) struct Sessions(Arc<ById>);

type ById = Mutex<HashMap<String, Arc<HttpSession>>>;

impl Sessions {
    /// Adds a session. Returns its id.
    pub(super) fn add(&self, session: Session, changes: broadcast::Receiver<Change>) -> String {
        let session = Arc::new(HttpSession::new(session));
        tokio::spawn(tell_changes(Arc::downgrade(&session), changes));
        let id = Uuid::new_v4().to_string();
        let mut sessions = lock(&self.0);
        if sessions.len() >= SESSIONS {
            let idle = sessions
                .iter()
                .min_by_key(|(_, session)| (!session.running().is_empty(), session.last_used()));
            let idle = idle.map(|(id, _)| id.clone());
            if let Some(session) = idle.and_then(|id| sessions.remove(&id)) {
                session.end();
            }
        }
        let timer = tokio::spawn(expire(Arc::downgrade(&self.0), id.clone()));
        let _ = session.timer.set(timer.abort_handle());
        sessions.insert(id.clone(), session);
        id
    }

    /// Returns a session.
    pub(super) fn get(&self, id: &str) -> Option<Arc<HttpSession>> {
        let session = lock(&self.0).get(id).cloned();
        if let Some(session) = &session {
            session.touch();
        }
        session
    }

    /// Ends a session. Returns false if there is none.
    pub(super) fn remove(&self, id: &str) -> bool {
        let session = lock(&self.0).remove(id);
        if let Some(session) = &session {
            session.end();
        }
        session.is_some()
    }
}

/// Ends a session when it was idle for long enough: its client is gone.
async fn expire(sessions: Weak<ById>, id: String) {
    let mut until = Instant::now() + IDLE;
    loop {
        tokio::time::sleep_until(until).await;
        let Some(sessions) = sessions.upgrade() else { return };
        let mut sessions = lock(&sessions);
        let Some(session) = sessions.get(&id).cloned() else { return };
        if session.is_busy() {
            session.touch();
        }
        until = session.last_used() + IDLE;
        if until <= Instant::now() {
            sessions.remove(&id);
            drop(sessions);
            session.end();
            return;
        }
    }
}

/// The session of an old client.
#[derive(Debug)]
pub(super) struct HttpSession {
    pub(super) session: Session,
    last_used: Mutex<Instant>,
    /// Ends the session when it is idle.
    timer: OnceLock<AbortHandle>,
    /// The requests to the client.
    calls: Mutex<Calls<oneshot::Sender<Result<Value, Error>>>>,
    running: Mutex<HashMap<Id, CancelToken>>,
    streams: Mutex<Vec<(u64, Arc<Log>)>>,
    next_stream: AtomicU64,
}

impl HttpSession {
    fn new(session: Session) -> Self {
        Self {
            session,
            last_used: Mutex::new(Instant::now()),
            timer: OnceLock::new(),
            calls: Mutex::default(),
            running: Mutex::default(),
            streams: Mutex::new(vec![(STANDING, Arc::default())]),
            next_stream: AtomicU64::new(STANDING + 1),
        }
    }

    fn last_used(&self) -> Instant {
        *lock(&self.last_used)
    }

    fn touch(&self) {
        *lock(&self.last_used) = Instant::now();
    }

    /// Returns true if requests run, or the client listens.
    fn is_busy(&self) -> bool {
        let is_heard = self.standing().is_some_and(|(_, log)| log.is_read());
        is_heard || !self.running().is_empty()
    }

    /// Returns the requests that run, with what cancels them.
    pub(super) fn running(&self) -> MutexGuard<'_, HashMap<Id, CancelToken>> {
        lock(&self.running)
    }

    /// Opens a stream. An old one that has ended makes room.
    pub(super) fn open_stream(&self) -> Option<(u64, Arc<Log>)> {
        let mut streams = lock(&self.streams);
        if streams.len() >= STREAMS {
            let ended = streams.iter().position(|(_, log)| log.has_ended())?;
            streams.remove(ended);
        }
        let name = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let log = Arc::new(Log::default());
        streams.push((name, Arc::clone(&log)));
        Some((name, log))
    }

    /// Returns a stream.
    pub(super) fn stream(&self, name: u64) -> Option<Arc<Log>> {
        let streams = lock(&self.streams);
        streams.iter().find(|(other, _)| *other == name).map(|(_, log)| Arc::clone(log))
    }

    /// Returns the stream for what belongs to no request, with its name.
    pub(super) fn standing(&self) -> Option<(u64, Arc<Log>)> {
        self.stream(STANDING).map(|log| (STANDING, log))
    }

    /// Takes the response to a request of the server.
    pub(super) fn answer(&self, id: &Id, result: Result<Value, Error>) {
        if let Some(waiting) = lock(&self.calls).close(id) {
            let _ = waiting.send(result);
        }
    }

    fn end(&self) {
        self.timer.get().inspect(|timer| timer.abort());
        for cancel in self.running().values() {
            cancel.cancel();
        }
        lock(&self.calls).close_all();
        for (_, log) in lock(&self.streams).iter() {
            log.end();
        }
    }
}

/// Tells an old client about changes, until its session is gone.
async fn tell_changes(session: Weak<HttpSession>, mut changes: broadcast::Receiver<Change>) {
    loop {
        let change = changes.recv().await;
        let Some(session) = session.upgrade() else { return };
        let notices = match change {
            Ok(change) => session.session.notice(&change).into_iter().collect(),
            Err(RecvError::Lagged(_)) => session.session.everything(),
            Err(RecvError::Closed) => return,
        };
        let Some((_, log)) = session.standing() else { return };
        for notice in notices {
            log.push(&Message::Notification(notice));
        }
    }
}

/// The stream of one response of an old client.
pub(super) struct SessionOutlet {
    pub(super) session: Arc<HttpSession>,
    pub(super) log: Arc<Log>,
}

impl SessionOutlet {
    /// Returns the stream of the request, or the standing one after its end.
    fn log(&self) -> Arc<Log> {
        let standing = || self.session.standing().map(|(_, log)| log);
        let ended = self.log.has_ended().then(standing).flatten();
        ended.unwrap_or_else(|| Arc::clone(&self.log))
    }
}

impl Outlet for SessionOutlet {
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        self.log().push(&Message::Notification(notification));
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, method: &'static str, params: Value) -> BoxFuture<'_, Result<Value, Error>> {
        let (sender, response) = oneshot::channel();
        let id = lock(&self.session.calls).open(sender);
        let log = self.log();
        log.push(&Message::request(id.clone(), method, Some(params)));
        let open = OpenQuestion { session: &self.session, log, id };
        Box::pin(async move {
            let ended = |_| Err(Error::internal("The session ended before the client answered"));
            let answer = response.await.unwrap_or_else(ended);
            drop(open);
            answer
        })
    }

    fn close_stream(&self) {
        self.log.close_readers();
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn is_read(&self) -> bool {
        self.log().is_read()
    }
}

/// A question without an answer. The client is told if no one waits for the answer any more.
struct OpenQuestion<'a> {
    session: &'a HttpSession,
    log: Arc<Log>,
    id: Id,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        // The answer has closed the request.
        if lock(&self.session.calls).close(&self.id).is_some() && !self.log.has_ended() {
            self.log.push(&Message::Notification(withdrawal(&self.id)));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::About;
    use super::super::stream::Reader;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_idle_session_ends() {
        let (changes, _) = broadcast::channel(1);
        let sessions = Sessions::default();
        let params = json!({ "protocolVersion": "2025-11-25" });
        let add = || {
            let (session, _) = Session::start(&About::default(), Some(&params)).expect("session");
            sessions.add(session, changes.subscribe())
        };
        let (idle, heard) = (add(), add());
        let (_, log) = sessions.get(&heard).and_then(|one| one.standing()).expect("a stream");
        let reader = Reader::of_future(&log);
        tokio::time::sleep(IDLE * 3 / 2).await;
        assert!(sessions.get(&idle).is_none());
        drop(reader);
        // The time begins with the last use.
        tokio::time::sleep(IDLE / 2).await;
        assert!(sessions.get(&heard).is_some());
        tokio::time::sleep(IDLE * 3 / 2).await;
        assert!(sessions.get(&heard).is_none());
    }
}
