//! The transport over HTTP/1.1: one address for both eras.
//!
//! Modern requests are complete in themselves: a POST, its response, nothing kept. Old clients have
//! a session with an id, a stream for what the server sends unasked, and streams that they can
//! continue after a broken connection.

mod body;
mod headers;
mod legacy;
mod modern;
mod sessions;
mod stream;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use pi_jsonrpc::{Error, Message};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::Server;
use body::Body;
use sessions::Sessions;

/// The longest body of a request.
const BODY: usize = 16 << 20;

/// The most connections at a time. More wait in the system's queue.
const CONNECTIONS: usize = 128;

/// The time that a client has to send the headers of a request.
const HEADERS_WAIT: Duration = Duration::from_secs(15);

/// The time after which a connection that the system refused is tried again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Access rules of a server over HTTP.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// Hosts that requests may name besides those of this machine's loopback, such as
    /// `pi.example.org`.
    pub hosts: Vec<String>,
    /// The token that requests must have.
    pub token: Option<String>,
}

impl HttpOptions {
    /// Checks that a server at an address may be used without more than these options.
    pub fn check(&self, address: SocketAddr) -> Result<(), HttpError> {
        match address.ip().is_loopback() || self.token.is_some() {
            true => Ok(()),
            false => Err(HttpError::TokenRequired(address)),
        }
    }
}

/// A server over HTTP could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// An address beyond loopback needs a token, or every machine of the network could use the server.
    #[error("{0} is reachable from other machines, so a token is required")]
    TokenRequired(SocketAddr),
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Server {
    /// Serves clients over HTTP; drop the future to stop it.
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        options: HttpOptions,
    ) -> Result<(), HttpError> {
        let address = listener.local_addr()?;
        options.check(address)?;
        let http = Arc::new(Http {
            server: self.clone(),
            gate: headers::Gate::new(address, options),
            sessions: Sessions::default(),
        });
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        // Dropping the set ends all connections.
        let mut connections = tokio::task::JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return Ok(()) };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) if is_of_connection(&error) => continue,
                // Descriptors or memory are used up: connections that end make room.
                Err(_) => {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let http = Arc::clone(&http);
            connections.spawn(async move {
                http.connection(stream).await;
                drop(permit);
            });
        }
    }
}

/// Returns true if an error of `accept` is that of one connection.
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// A server with its clients over HTTP.
struct Http {
    server: Server,
    gate: headers::Gate,
    sessions: Sessions,
}

impl Http {
    async fn connection(self: Arc<Self>, stream: TcpStream) {
        let service = service_fn(|request| {
            let http = Arc::clone(&self);
            async move { Ok::<_, Infallible>(http.respond(request).await) }
        });
        // Errors are those of the client's connection: there is no one to tell.
        let _ = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS_WAIT)
            .max_buf_size(128 << 10)
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        if let Err(refused) = self.gate.check(request.headers()) {
            return *refused;
        }
        if !matches!(request.uri().path(), "/" | "/mcp") {
            return problem(StatusCode::NOT_FOUND, "The address of this server is /mcp");
        }
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => legacy::get(self, request.headers()),
            Method::DELETE => legacy::delete(self, request.headers()),
            _ => {
                let mut response = problem(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "Only GET, POST and DELETE are allowed",
                );
                let allowed = hyper::header::HeaderValue::from_static("GET, POST, DELETE");
                response.headers_mut().insert(hyper::header::ALLOW, allowed);
                response
            }
        }
    }

    async fn post(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, incoming) = request.into_parts();
        let headers = parts.headers;
        if !headers::is_json(&headers) {
            let message = "The content type must be application/json";
            return problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        }
        let bytes = match body::read(incoming, BODY).await {
            Ok(bytes) => bytes,
            Err(refused) => return *refused,
        };
        let message = match Message::parse(&bytes) {
            Ok(message) => message,
            Err(invalid) => {
                return body::json(StatusCode::BAD_REQUEST, &Message::Response(invalid.response()));
            }
        };
        if headers::is_modern(&headers, &message) {
            modern::post(self, &headers, message).await
        } else {
            legacy::post(self, &headers, message).await
        }
    }
}

/// A refusal that belongs to no request.
fn problem(status: StatusCode, message: &str) -> Response<Body> {
    let error = Error::new(Error::INVALID_REQUEST, message);
    let response = pi_jsonrpc::Response { id: None, result: Err(error) };
    body::json(status, &Message::Response(response))
}
