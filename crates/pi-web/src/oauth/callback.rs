//! The server to which the browser returns after the consent: one page, on this machine.
//!
//! Only a `GET` of the exact path with the right state counts. All connections are closed at the
//! end: a spare connection of the browser would otherwise reach the server of the next login.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderValue, REFERRER_POLICY,
};
use http::{Method, Response, StatusCode};
use pi_protocol::CancelToken;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::error::OauthError;
use super::pasted::Redirected;
use super::service::Redirect;
use super::text::escape_html;
use crate::secret;
use crate::server::{Body, Limits, serve};

/// Largest head of a request.
const MAX_HEAD: usize = 16 * 1024;
/// Most connections at the same time. A browser opens two or three.
const MAX_CONNECTIONS: usize = 32;
/// The time that a page has to reach the browser at the end of the login.
const PATIENCE: Duration = Duration::from_secs(1);

/// An open port for the browser.
pub(super) struct Callback {
    listeners: Vec<TcpListener>,
    path: String,
    uri: String,
}

impl Callback {
    /// Opens the first port that is free. `bind` is the address to listen on, if it is not the one
    /// that the browser uses.
    pub(super) async fn open(
        redirect: &Redirect,
        path: String,
        bind: Option<&str>,
    ) -> Result<Self, OauthError> {
        let is_localhost = redirect.host.eq_ignore_ascii_case("localhost");
        let host = bind.unwrap_or(if is_localhost { "127.0.0.1" } else { &redirect.host });
        let host = host.trim_matches(['[', ']']);
        let mut ports = redirect.ports.clone();
        if !redirect.fixed || ports.is_empty() {
            ports.push(0);
        }
        let mut problem = String::new();
        for port in &ports {
            let listener = match TcpListener::bind((host, *port)).await {
                Ok(listener) => listener,
                Err(error) => {
                    problem = error.to_string();
                    continue;
                }
            };
            let Ok(address) = listener.local_addr() else { continue };
            let mut listeners = vec![listener];
            // A browser may try the other loopback address for `localhost` first.
            if is_localhost && bind.is_none() {
                listeners.extend(TcpListener::bind(("::1", address.port())).await.ok());
            }
            let uri = format!("http://{}:{}{path}", redirect.host, address.port());
            return Ok(Self { listeners, path, uri });
        }
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        let address = format!("{host}, port {}", ports.join(" or "));
        Err(OauthError::Listen { address, problem })
    }

    /// Returns the address for the browser.
    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Answers requests until the result is dropped. `state` is the value that the answer must
    /// have; `None` if the path is the secret.
    pub(super) fn serve(self, state: Option<String>) -> Serving {
        let (sender, answers) = mpsc::channel(1);
        let page =
            Arc::new(Page { path: self.path, state, sender, is_used: AtomicBool::new(false) });
        let stop = CancelToken::new();
        let mut tasks = JoinSet::new();
        for listener in self.listeners {
            let page = Arc::clone(&page);
            let mut limits = Limits::default();
            (limits.connections, limits.head_bytes) = (MAX_CONNECTIONS, MAX_HEAD);
            limits.patience = PATIENCE;
            tasks.spawn(serve(listener, limits, stop.clone(), move |request| {
                let uri = request.uri();
                let (path, query) = (uri.path(), uri.query().unwrap_or_default());
                std::future::ready(page.respond(request.method(), path, query))
            }));
        }
        Serving { answers, tasks, stop }
    }
}

/// A running server. Its drop ends all connections.
pub(super) struct Serving {
    answers: mpsc::Receiver<Redirected>,
    tasks: JoinSet<()>,
    stop: CancelToken,
}

impl Serving {
    /// Waits for the browser.
    pub(super) async fn answer(&mut self) -> Redirected {
        match self.answers.recv().await {
            Some(answer) => answer,
            // The listeners have failed: only a pasted code can end the login.
            None => std::future::pending().await,
        }
    }

    /// Closes the port and all connections.
    pub(super) async fn close(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

struct Page {
    path: String,
    state: Option<String>,
    sender: mpsc::Sender<Redirected>,
    is_used: AtomicBool,
}

impl Page {
    /// Makes the response to a request. The login goes on when the page was sent, since its end
    /// closes the connection.
    fn respond(&self, method: &Method, path: &str, query: &str) -> Response<Body> {
        let (status, text, answer) = self.answer(method, path, query);
        let page = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>pi</title><p>{}</p></html>\n",
            escape_html(&text)
        );
        let length = HeaderValue::from(page.len());
        let answer = answer.map(|answer| (self.sender.clone(), answer));
        let mut response = Response::new(Body::stream(Sending { page: Some(page.into()), answer }));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
        set(CONTENT_TYPE, "text/html; charset=utf-8");
        set(CACHE_CONTROL, "no-store");
        set(REFERRER_POLICY, "no-referrer");
        set(CONTENT_SECURITY_POLICY, "default-src 'none'");
        set(CONNECTION, "close");
        if status == StatusCode::METHOD_NOT_ALLOWED {
            set(ALLOW, "GET");
        }
        headers.insert(CONTENT_LENGTH, length);
        response
    }

    /// Decides about a request.
    fn answer(
        &self,
        method: &Method,
        path: &str,
        query: &str,
    ) -> (StatusCode, String, Option<Redirected>) {
        let plain = |status, text: &str| (status, text.to_owned(), None);
        if path != self.path {
            return plain(StatusCode::NOT_FOUND, "There is no such page.");
        }
        if method != Method::GET {
            let text = "This page can only be opened by a browser.";
            return plain(StatusCode::METHOD_NOT_ALLOWED, text);
        }
        let answer = Redirected::from_query(query);
        let belongs = match &self.state {
            Some(state) => answer.state.as_ref().is_some_and(|got| secret::is_equal(got, state)),
            None => true,
        };
        if !belongs {
            return plain(
                StatusCode::BAD_REQUEST,
                "This answer does not belong to the login in progress. Use the newest address.",
            );
        }
        if answer.code.is_none() && answer.error.is_none() {
            return plain(StatusCode::BAD_REQUEST, "The answer contains no code.");
        }
        if self.is_used.swap(true, Ordering::AcqRel) {
            return plain(StatusCode::CONFLICT, "The answer was already received.");
        }
        if let Some(error) = &answer.error {
            let text = answer.description.as_ref().unwrap_or(error);
            let text = format!("The login was refused: {text}");
            return (StatusCode::BAD_REQUEST, text, Some(answer));
        }
        let text = "The answer was received. You can close this page and return to pi.";
        (StatusCode::OK, text.to_owned(), Some(answer))
    }
}

/// A page that is being sent, and the answer that is delivered when it was.
struct Sending {
    page: Option<Bytes>,
    answer: Option<(mpsc::Sender<Redirected>, Redirected)>,
}

impl Stream for Sending {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Bytes>> {
        Poll::Ready(self.page.take())
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some((sender, answer)) = self.answer.take() {
            // The login may have ended by another way.
            let _ = sender.try_send(answer);
        }
    }
}
