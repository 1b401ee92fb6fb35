//! One connection: reads frames, runs commands, writes what waits and what happens.
//!
//! The agent waits for no connection. Items of sessions are read from their feeds while the client
//! takes them; a client that stalls falls behind the feed and is told so.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::{BoxStream, SelectAll, SplitSink, SplitStream};
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use pi_base::lock;
use pi_web::websocket::{self, CloseFrame, Message, SocketError, WebSocket};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::outbox::{Out, Outbox};
use super::ui::Questions;
use crate::api::{Answer, Call};
use crate::attached::Attached;
use crate::entrance::{Identity, Right};
use crate::items;
use crate::state::ServeState;

/// The longest frame of a client that may prompt. Images come as base64 in one frame.
const FRAME: usize = 32 << 20;

/// The longest frame of a client that may only look.
const VIEW_FRAME: usize = 64 << 10;

/// Pause between two signs of life.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Time for which a client may take nothing. Longer ones have gone without a word.
const STALL: Duration = Duration::from_secs(10 * 60);

/// Commands of a connection that run at a time.
const RUNNING: usize = 32;

/// Sessions that a connection follows at a time.
pub(super) const FOLLOWED: usize = 64;

/// Frames that are written together.
const TOGETHER: usize = 64;

/// The time that a client has to take the end of the connection.
const FAREWELL: Duration = Duration::from_secs(1);

/// One client.
pub(super) struct Connection {
    pub(super) state: Arc<ServeState>,
    pub(super) identity: Identity,
    pub(super) peer: IpAddr,
    pub(super) outbox: Outbox,
    pub(super) questions: Arc<Questions>,
    pub(super) running: Arc<Semaphore>,
    followed: Mutex<Vec<Followed>>,
}

/// A session that the client follows, in the order of its wishes.
struct Followed {
    /// The id that the client gave.
    first: String,
    current: Arc<Mutex<String>>,
    _end: oneshot::Sender<()>,
}

impl Followed {
    fn is(&self, id: &str) -> bool {
        self.first == id || *lock(&self.current) == id
    }
}

/// Opens the socket of a request.
pub(crate) async fn open(mut call: Call) -> Answer {
    let identity = call.identity()?.clone();
    let (response, opening) = websocket::accept(&mut call.request)?;
    let Call { state, peer, .. } = call;
    tokio::spawn(async move {
        let limit = if identity.right >= Right::Drive { FRAME } else { VIEW_FRAME };
        // A client that has gone before the socket is open needs no answer.
        if let Ok(socket) = opening.open(limit).await {
            Connection::new(state, identity, peer).run(socket).await;
        }
    });
    Ok(response)
}

impl Connection {
    fn new(state: Arc<ServeState>, identity: Identity, peer: IpAddr) -> Arc<Self> {
        let outbox = Outbox::default();
        Arc::new(Self {
            state,
            identity,
            peer,
            questions: Questions::new(outbox.clone()),
            outbox,
            running: Arc::new(Semaphore::new(RUNNING)),
            followed: Mutex::default(),
        })
    }

    async fn run(self: Arc<Self>, socket: WebSocket) {
        let (mut sink, stream) = socket.split();
        let farewell = tokio::select! {
            farewell = Self::read(&self, stream) => farewell,
            _ = self.write(&mut sink) => None,
            () = self.outbox.overfull() => farewell(1008, "the client does not read"),
            () = self.identity.ended() => farewell(1008, "the token was revoked or has expired"),
            () = self.state.stop.cancelled() => farewell(1001, "the server stops"),
        };
        // Questions close before the sessions are left.
        lock(&self.followed).clear();
        self.outbox.close();
        let closing = async {
            // A client that has gone needs no farewell.
            let _ = sink.send(Message::Close(farewell)).await;
            let _ = sink.close().await;
        };
        let _ = timeout(FAREWELL, closing).await;
    }

    /// Reads frames until the client has gone.
    async fn read(this: &Arc<Self>, mut stream: SplitStream<WebSocket>) -> Option<CloseFrame> {
        loop {
            this.outbox.room().await;
            match stream.next().await {
                Some(Ok(Message::Text(text))) => Self::receive(this, text.as_str()),
                Some(Ok(Message::Binary(_))) => return farewell(1003, "frames must be text"),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(_))) | None => return None,
                Some(Err(SocketError::Capacity(_))) => {
                    return farewell(1009, "the frame is too long");
                }
                Some(Err(_)) => return None,
            }
        }
    }

    /// Writes until the client takes nothing more.
    async fn write(&self, sink: &mut SplitSink<WebSocket, Message>) -> Result<(), SocketError> {
        let mut followed: SelectAll<BoxStream<'static, String>> = SelectAll::new();
        let mut clock = interval(HEARTBEAT);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let first = tokio::select! {
                biased;
                out = self.outbox.next() => out,
                _ = clock.tick() => Out::Frame(items::heartbeat(&self.state.server_id)),
                Some(item) = followed.next(), if !followed.is_empty() => Out::Frame(item),
            };
            let mut next = Some(first);
            let batch = async {
                for _ in 0..TOGETHER {
                    match next.take() {
                        Some(Out::Frame(text)) => sink.feed(Message::text(text)).await?,
                        Some(Out::Follow(session)) => followed.push(session),
                        None => break,
                    }
                    next = self.outbox.next().now_or_never();
                    if next.is_none() && !followed.is_empty() {
                        next = followed.next().now_or_never().flatten().map(Out::Frame);
                    }
                }
                if let Some(Out::Frame(text)) = next.take() {
                    sink.feed(Message::text(text)).await?;
                }
                sink.flush().await
            };
            match timeout(STALL, batch).await {
                Ok(written) => written?,
                Err(_) => return Ok(()),
            }
        }
    }

    /// Sends the items of a session from now on, in place of an earlier wish for the same one.
    pub(super) fn follow(&self, id: &str, attached: Attached) {
        let (end, ended) = oneshot::channel::<()>();
        let one = Followed { first: id.to_owned(), current: attached.current(), _end: end };
        let items = futures_util::stream::unfold(attached, |mut attached| async move {
            attached.next().await.map(|item| (item.text, attached))
        });
        let earlier = {
            let mut followed = lock(&self.followed);
            let earlier: Vec<Followed> = followed.extract_if(.., |one| one.is(id)).collect();
            followed.push(one);
            earlier
        };
        drop(earlier);
        self.outbox.push(Out::Follow(items.take_until(ended).boxed()));
    }

    /// Follows a session no more. Returns false if the client does not follow it.
    pub(super) fn leave(&self, id: &str) -> bool {
        let left: Vec<Followed> = lock(&self.followed).extract_if(.., |one| one.is(id)).collect();
        !left.is_empty()
    }

    /// Returns the number of sessions that the client follows.
    pub(super) fn followed(&self) -> usize {
        lock(&self.followed).len()
    }

    /// Returns the current id of the session to which a command applies: the named one, or the one
    /// that the client attached to last.
    pub(super) fn session_of(&self, named: Option<&str>) -> Option<String> {
        let followed = lock(&self.followed);
        let Some(named) = named else {
            return followed.last().map(|one| lock(&one.current).clone());
        };
        // A session that was replaced is still known by the id that the client gave.
        let known = followed.iter().rev().find(|one| one.is(named));
        Some(known.map_or_else(|| named.to_owned(), |one| lock(&one.current).clone()))
    }
}

fn farewell(code: u16, reason: &'static str) -> Option<CloseFrame> {
    Some(CloseFrame { code: code.into(), reason: reason.into() })
}
