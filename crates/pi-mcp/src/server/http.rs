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

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use pi_jsonrpc::{Error, Message};
use pi_protocol::CancelToken;
use pi_web::http::{Method, Request, Response, StatusCode};
use pi_web::server::{Body, Gate, Incoming, Limits, Refusal, Routes, read_body, serve};
use tokio::net::TcpListener;

use super::Server;
use sessions::Sessions;

/// The longest body of a request.
const BODY: usize = 16 << 20;

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
        let hosts = options.hosts.iter().map(String::as_str);
        let gate = Gate::new(address).with_hosts(hosts).with_token(options.token);
        let paths = [Method::GET, Method::POST, Method::DELETE]
            .into_iter()
            .flat_map(|method| ["/", "/mcp"].map(|path| (method.clone(), path, ())));
        let front =
            Arc::new(Front { gate, paths: Routes::new(paths), handler: self.http_handler() });
        serve(listener, Limits::default(), CancelToken::new(), move |request| {
            let front = Arc::clone(&front);
            async move { front.respond(request).await }
        })
        .await;
        Ok(())
    }

    /// Returns the handler of requests, for a server that has its own listener and gate.
    pub fn http_handler(&self) -> HttpHandler {
        HttpHandler(Arc::new(Http { server: self.clone(), sessions: Sessions::default() }))
    }
}

/// The handler of requests that have passed a gate. Clones share their clients.
#[derive(Clone)]
pub struct HttpHandler(Arc<Http>);

impl std::fmt::Debug for HttpHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpHandler").field("server", &self.0.server).finish_non_exhaustive()
    }
}

impl HttpHandler {
    /// Answers a request by its method. Its path is the caller's.
    pub async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let http = &self.0;
        match *request.method() {
            Method::POST => http.post(request).await,
            Method::GET => legacy::get(http, request.headers()),
            Method::DELETE => legacy::delete(http, request.headers()),
            _ => problem(StatusCode::METHOD_NOT_ALLOWED, "Only GET, POST and DELETE are allowed"),
        }
    }
}

/// A server with its clients over HTTP.
struct Http {
    server: Server,
    sessions: Sessions,
}

/// The gate and the paths of a server with a listener of its own.
struct Front {
    gate: Gate,
    paths: Routes<()>,
    handler: HttpHandler,
}

impl Front {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        if let Err(refusal) = self.gate.check(request.headers()) {
            return refused(refusal);
        }
        match self.paths.find(request.method(), request.uri().path()) {
            Ok(_) => self.handler.respond(request).await,
            Err(refusal) if refusal.status == StatusCode::NOT_FOUND => {
                problem(StatusCode::NOT_FOUND, "The address of this server is /mcp")
            }
            Err(refusal) => refused(refusal),
        }
    }
}

impl Http {
    async fn post(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, incoming) = request.into_parts();
        let headers = parts.headers;
        if !headers::is_json(&headers) {
            let message = "The content type must be application/json";
            return problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        }
        let bytes = match read_body(incoming, BODY).await {
            Ok(bytes) => bytes,
            Err(refusal) => return refused(refusal),
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

fn refused(refusal: Refusal) -> Response<Body> {
    let response = problem(refusal.status, &refusal.message);
    refusal.complete(response)
}
