//! The server to which the browser returns after the consent: one page, on this machine.
//!
//! Only a `GET` of the exact path with the right state counts. All connections are closed at the
//! end: a spare connection of the browser would otherwise reach the server of the next login.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::error::OauthError;
use super::pasted::Redirected;
use super::random::same;
use super::service::Redirect;
use super::text::escape_html;

/// Largest head of a request.
const MAX_HEAD: usize = 16 * 1024;
/// Most connections at the same time. A browser opens two or three.
const MAX_CONNECTIONS: usize = 32;

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
        let (end, ending) = watch::channel(());
        let mut tasks = JoinSet::new();
        for listener in self.listeners {
            tasks.spawn(accept(listener, Arc::clone(&page), ending.clone()));
        }
        Serving { answers, tasks, end }
    }
}

/// A running server.
pub(super) struct Serving {
    answers: mpsc::Receiver<Redirected>,
    tasks: JoinSet<()>,
    /// The drop of this value ends the tasks.
    end: watch::Sender<()>,
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
    pub(super) async fn close(self) {
        let Self { answers: _, mut tasks, end } = self;
        drop(end);
        while tasks.join_next().await.is_some() {}
    }
}

struct Page {
    path: String,
    state: Option<String>,
    sender: mpsc::Sender<Redirected>,
    is_used: AtomicBool,
}

async fn accept(listener: TcpListener, page: Arc<Page>, mut ending: watch::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // The sender never sends: this is its drop.
            _ = ending.changed() => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, for example.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        if connections.len() < MAX_CONNECTIONS {
            let page = Arc::clone(&page);
            connections.spawn(async move {
                // A browser that closes its connection needs no page.
                let _ = converse(stream, &page).await;
            });
        }
    }
    drop(listener);
    connections.shutdown().await;
}

async fn converse(mut stream: TcpStream, page: &Page) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await?;
        if count == 0 || head.len() > MAX_HEAD {
            return Ok(());
        }
        head.extend_from_slice(buffer.get(..count).unwrap_or_default());
    }
    let head = String::from_utf8_lossy(&head);
    let (status, text, answer) = page.answer(head.lines().next().unwrap_or_default());
    let response = response(status, &text);
    stream.write_all(response.as_bytes()).await?;
    stream.flush().await?;
    // The page is sent before the login goes on, since its end closes the connection.
    let _ = stream.shutdown().await;
    if let Some(answer) = answer {
        let _ = page.sender.try_send(answer);
    }
    Ok(())
}

impl Page {
    /// Decides about a request by its first line.
    fn answer(&self, line: &str) -> (&'static str, String, Option<Redirected>) {
        let plain = |status, text: &str| (status, text.to_owned(), None);
        let mut parts = line.split(' ');
        let (method, target) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if path != self.path {
            return plain("404 Not Found", "There is no such page.");
        }
        if method != "GET" {
            return plain("405 Method Not Allowed", "This page can only be opened by a browser.");
        }
        let answer = Redirected::from_query(query);
        let belongs = match &self.state {
            Some(state) => answer.state.as_ref().is_some_and(|got| same(got, state)),
            None => true,
        };
        if !belongs {
            return plain(
                "400 Bad Request",
                "This answer does not belong to the login in progress. Use the newest address.",
            );
        }
        if answer.code.is_none() && answer.error.is_none() {
            return plain("400 Bad Request", "The answer contains no code.");
        }
        if self.is_used.swap(true, Ordering::AcqRel) {
            return plain("409 Conflict", "The answer was already received.");
        }
        if let Some(error) = &answer.error {
            let text = answer.description.as_ref().unwrap_or(error);
            let text = format!("The login was refused: {text}");
            return ("400 Bad Request", text, Some(answer));
        }
        let text = "The answer was received. You can close this page and return to pi.";
        ("200 OK", text.to_owned(), Some(answer))
    }
}

fn response(status: &str, text: &str) -> String {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>pi</title><p>{}</p></html>\n",
        escape_html(text)
    );
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         {allow}Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
         Content-Security-Policy: default-src 'none'\r\nConnection: close\r\n\r\n{page}",
        page.len()
    )
}
