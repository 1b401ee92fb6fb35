//! Accepts connections and serves HTTP/1.1 on them, within limits, until it is told to stop.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pi_protocol::CancelToken;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Body;

/// The time after which a connection that the system refused is tried again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The address of the other end of a connection, an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// What is between a connection and HTTP.
pub(super) trait Transport: Clone + Send + Sync + 'static {
    /// The connection as HTTP sees it.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// Prepares a connection; `None` if it is of no use.
    fn prepare(&self, stream: TcpStream) -> impl Future<Output = Option<Self::Stream>> + Send;
}

/// Nothing: connections are not encrypted.
#[derive(Clone, Copy)]
struct Plain;

impl Transport for Plain {
    type Stream = TcpStream;

    async fn prepare(&self, stream: TcpStream) -> Option<TcpStream> {
        Some(stream)
    }
}

/// The limits of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The most connections at a time. More wait in the system's queue.
    pub connections: usize,
    /// The time that a client has to send the head of a request.
    pub head_wait: Duration,
    /// The longest head of a request, in bytes.
    pub head_bytes: usize,
    /// The time that requests have to come to their end after the server was stopped.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            head_wait: Duration::from_secs(15),
            head_bytes: 128 << 10,
            patience: Duration::from_secs(5),
        }
    }
}

/// Serves requests until `stop`; then accepts no more, and ends when the running requests have
/// ended or the patience is over. Dropping the future ends all connections at once, except for
/// those that were upgraded.
pub async fn serve<H, F>(listener: TcpListener, limits: Limits, stop: CancelToken, handler: H)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    serve_over(Plain, listener, limits, stop, handler).await;
}

/// Serves requests over a transport.
pub(super) async fn serve_over<T, H, F>(
    transport: T,
    listener: TcpListener,
    limits: Limits,
    stop: CancelToken,
    handler: H,
) where
    T: Transport,
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(limits.connections));
    // Dropping the set ends all connections.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = accept(&listener, &permits) => accepted,
            () = stop.cancelled() => break,
        };
        let Some((stream, peer, permit)) = accepted else { return };
        let (handler, limits, stop) = (handler.clone(), limits.clone(), stop.clone());
        let transport = transport.clone();
        connections.spawn(async move {
            // Small events must not wait for a full packet.
            let _ = stream.set_nodelay(true);
            let prepared = tokio::time::timeout(limits.head_wait, transport.prepare(stream));
            let prepared = tokio::select! {
                prepared = prepared => prepared,
                () = stop.cancelled() => return,
            };
            if let Ok(Some(stream)) = prepared {
                connection(stream, Peer(peer), &limits, &stop, handler).await;
            }
            drop(permit);
        });
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(limits.patience, ended).await;
}

/// Waits for a connection, and for the right to serve it.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return Some((stream, peer, permit)),
            Err(error) if is_of_connection(&error) => {}
            // Descriptors or memory are used up: connections that end make room.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Returns true if an error of `accept` is that of one connection.
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn connection<S, H, F>(stream: S, peer: Peer, limits: &Limits, stop: &CancelToken, handler: H)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let responding = handler(request);
        async move { Ok::<_, Infallible>(responding.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_wait)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    // Errors are those of the client's connection, and no request is left to answer with them.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
