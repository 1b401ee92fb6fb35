//! The server half on real sockets, with independent clients.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{SinkExt as _, StreamExt as _};
use pi_protocol::CancelToken;
use pi_web::client::WebErrorKind;
use pi_web::http::{HeaderMap, Method, Request, Response, StatusCode};
use pi_web::server::{
    Body, Event, Gate, Incoming, Limits, Refusal, Routes, empty, event_stream, last_event_id,
    read_body, serve, whole,
};
use pi_web::websocket::{self, Handshake};
use pi_web::{WebBody, WebClient, WebRequest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

/// The longest body and the longest message.
const LIMIT: usize = 1000;

#[derive(Clone, Copy)]
enum Route {
    Echo,
    Resume,
    Endless,
    Wait,
    Socket,
}

/// A server with one route per capability.
struct App {
    gate: Gate,
    routes: Routes<Route>,
    /// The number of chunks of endless streams so far.
    produced: Arc<AtomicUsize>,
    /// Receives the ends of endless streams and of waiting requests.
    ended: mpsc::UnboundedSender<()>,
    arrived: Notify,
    go_on: Notify,
}

struct Running {
    address: SocketAddr,
    app: Arc<App>,
    ended: mpsc::UnboundedReceiver<()>,
    stop: CancelToken,
    server: tokio::task::JoinHandle<()>,
}

async fn start() -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, ended) = mpsc::unbounded_channel();
    let app = Arc::new(App {
        gate: Gate::new(address).with_token(Some("t".to_owned())),
        routes: Routes::new([
            (Method::POST, "/echo/{}", Route::Echo),
            (Method::GET, "/resume", Route::Resume),
            (Method::GET, "/endless", Route::Endless),
            (Method::GET, "/wait", Route::Wait),
            (Method::GET, "/socket", Route::Socket),
        ]),
        produced: Arc::default(),
        ended: sender,
        arrived: Notify::new(),
        go_on: Notify::new(),
    });
    let (own, stop) = (Arc::clone(&app), CancelToken::new());
    let server = tokio::spawn(serve(listener, Limits::default(), stop.clone(), move |request| {
        let app = Arc::clone(&own);
        async move { app.respond(request).await.unwrap_or_else(refused) }
    }));
    Running { address, app, ended, stop, server }
}

fn refused(refusal: Refusal) -> Response<Body> {
    let response = whole(refusal.status, "text/plain", refusal.message.clone().into_owned());
    refusal.complete(response)
}

impl App {
    async fn respond(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        self.gate.check(request.headers())?;
        let path = request.uri().path().to_owned();
        let (route, params) = self.routes.find(request.method(), &path)?;
        Ok(match route {
            Route::Echo => {
                let body = read_body(request.into_body(), LIMIT).await?;
                let text = format!("{}:{}", params[0], String::from_utf8_lossy(&body));
                whole(StatusCode::OK, "text/plain", text)
            }
            Route::Resume => {
                let last = last_event_id(request.headers());
                let at: u32 = last.and_then(|id| id.parse().ok()).unwrap_or_default();
                event_stream(futures_util::stream::iter((at + 1..=4).map(|number| {
                    let id = number.to_string();
                    Event { id: Some(&id), data: "x", ..Event::default() }.to_bytes()
                })))
            }
            Route::Endless => {
                let (produced, ended) = (Arc::clone(&self.produced), self.ended.clone());
                event_stream(Endless { produced, ended })
            }
            Route::Wait => {
                self.arrived.notify_one();
                self.go_on.notified().await;
                empty(StatusCode::NO_CONTENT)
            }
            Route::Socket => {
                let (response, opening) = websocket::accept(&mut request)?;
                tokio::spawn(async move {
                    let mut socket = opening.open(LIMIT).await.unwrap();
                    while let Some(Ok(message)) = socket.next().await {
                        if message.is_text() {
                            let text = format!("echo {message}");
                            socket.send(Message::text(text)).await.unwrap();
                        }
                    }
                });
                response
            }
        })
    }
}

/// A stream that always has more.
struct Endless {
    produced: Arc<AtomicUsize>,
    ended: mpsc::UnboundedSender<()>,
}

const CHUNK: usize = 64 << 10;

impl Stream for Endless {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Bytes>> {
        // Without back-pressure, the end is reached at once.
        if self.produced.fetch_add(1, Ordering::Relaxed) * CHUNK > 1 << 30 {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Bytes::from_static(&[b':'; CHUNK])))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.ended.send(());
    }
}

impl Running {
    /// Sends a request and returns the status and the body.
    async fn ask(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let mut headers = vec![("authorization".to_owned(), "Bearer t".to_owned())];
        headers.extend(fields.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let url = format!("http://{}{path}", self.address);
        let body = match body {
            "" => WebBody::Empty,
            body => WebBody::Bytes(body.as_bytes().to_vec()),
        };
        let request = WebRequest { method: method.to_owned(), url, headers, body };
        let mut response = client().send(request).await.unwrap();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.unwrap() {
            bytes.extend_from_slice(&chunk);
        }
        (response.status, String::from_utf8(bytes).unwrap())
    }

    /// Opens a connection and sends the head of a `GET`.
    async fn raw(&self, path: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let head =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer t\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        socket
    }
}

fn client() -> WebClient {
    WebClient::new(Arc::new(|_: &str| None))
}

#[tokio::test]
async fn requests_pass_gate_routes_and_limits() {
    let server = start().await;
    let long = "x".repeat(LIMIT + 1);
    let cases: &[(&str, &str, &[(&str, &str)], &str, u16, &str)] = &[
        ("POST", "/echo/a", &[], "hello", 200, "a:hello"),
        ("POST", "/echo/a", &[("origin", "http://localhost:1")], "", 200, "a:"),
        ("POST", "/echo/a", &[("origin", "http://evil.example")], "", 403, "origin are refused"),
        ("POST", "/echo/a", &[("host", "evil.example")], "", 421, "Unknown host"),
        ("POST", "/echo/a", &[("authorization", "Bearer u")], "", 401, "token"),
        ("POST", "/echo/a", &[], &long, 413, "longer than 1000 bytes"),
        ("GET", "/echo/a", &[], "", 405, "Only POST is allowed"),
        ("GET", "/nothing", &[], "", 404, "Not found"),
        ("GET", "/socket", &[], "", 426, "handshake is required"),
    ];
    for (method, path, fields, body, status, text) in cases {
        let answer = server.ask(method, path, fields, body).await;
        assert!(answer.0 == *status && answer.1.contains(text), "{method} {path}: {answer:?}");
    }
}

#[tokio::test]
async fn a_body_without_a_length_is_bounded() {
    let server = start().await;
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /echo/a HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer t\r\n\
                transfer-encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("ff\r\n{}\r\n", "x".repeat(255));
    for _ in 0..5 {
        socket.write_all(chunk.as_bytes()).await.unwrap();
    }
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn a_stream_of_events_resumes_after_the_last_one() {
    let server = start().await;
    let (status, all) = server.ask("GET", "/resume", &[], "").await;
    assert_eq!((status, all.matches("data: x").count()), (200, 4));
    let (_, rest) = server.ask("GET", "/resume", &[("last-event-id", "2")], "").await;
    assert_eq!(rest, "id: 3\ndata: x\n\nid: 4\ndata: x\n\n");
}

#[tokio::test]
async fn a_slow_reader_holds_its_stream_back_and_its_end_drops_it() {
    let mut server = start().await;
    let mut slow = server.raw("/endless").await;
    let mut begin = [0; 15];
    slow.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200 OK");
    // Every round trip gives the connection of the slow reader a turn.
    for _ in 0..50 {
        assert_eq!(server.ask("POST", "/echo/a", &[], "x").await.0, 200);
    }
    let produced = server.app.produced.load(Ordering::Relaxed) * CHUNK;
    assert!(produced < 256 << 20, "{produced} bytes for a reader that read 15");
    assert!(server.ended.try_recv().is_err());
    drop(slow);
    assert_eq!(server.ended.recv().await, Some(()));
}

#[tokio::test]
async fn sockets_are_opened_by_an_independent_client() {
    let server = start().await;
    let connect = async |fields: &[(&'static str, &str)]| {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let mut request =
            tokio_tungstenite::tungstenite::client::IntoClientRequest::into_client_request(
                format!("ws://{}/socket", server.address),
            )
            .unwrap();
        for (name, value) in fields {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        tokio_tungstenite::client_async(request, stream).await
    };
    let token = ("authorization", "Bearer t");
    let (mut socket, _) = connect(&[token]).await.unwrap();
    for text in ["a", "", &"x".repeat(LIMIT)] {
        socket.send(Message::text(text)).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap().to_string(), format!("echo {text}"));
    }
    socket.send(Message::text("x".repeat(LIMIT + 1))).await.unwrap();
    assert!(!matches!(socket.next().await, Some(Ok(Message::Text(_)))), "the message is too long");

    for (fields, expected) in [
        (&[][..], 401),
        (&[token, ("origin", "https://evil.example")], 403),
        (&[token, ("sec-websocket-version", "12")], 426),
        (&[token, ("sec-websocket-key", "short")], 400),
    ] {
        let Err(SocketError::Http(response)) = connect(fields).await else { panic!("{fields:?}") };
        assert_eq!(response.status().as_u16(), expected, "{fields:?}");
    }
}

#[tokio::test]
async fn the_own_client_opens_sockets() {
    let server = start().await;
    let url = format!("http://{}/socket", server.address);
    let pool = client().upgradable_pool(&url, None).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer t".parse().unwrap());
    let handshake = Handshake::begin(&mut headers).unwrap();
    let response = pool.send(Method::GET, &url, headers, None).await.unwrap();
    let mut socket = handshake.finish(response).await.unwrap();
    socket.send(websocket::Message::text("a")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap().to_string(), "echo a");
}

#[tokio::test]
async fn a_stopped_server_ends_its_requests_and_closes_the_rest() {
    let server = start().await;
    let mut idle = TcpStream::connect(server.address).await.unwrap();
    let mut running = server.raw("/wait").await;
    server.app.arrived.notified().await;
    server.stop.cancel();
    // Closed before the running request has ended.
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap(), 0);
    server.app.go_on.notify_one();
    let mut answer = String::new();
    running.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    server.server.await.unwrap();
    let url = format!("http://{}/wait", server.address);
    let request =
        WebRequest { method: "GET".into(), url, headers: Vec::new(), body: WebBody::Empty };
    assert_eq!(client().send(request).await.unwrap_err().kind, WebErrorKind::Connect);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_end_does_not_keep_a_stopped_server() {
    let server = start().await;
    let _running = server.raw("/wait").await;
    server.app.arrived.notified().await;
    let stopped = tokio::time::Instant::now();
    server.stop.cancel();
    server.server.await.unwrap();
    assert!(stopped.elapsed() >= Limits::default().patience);
}
