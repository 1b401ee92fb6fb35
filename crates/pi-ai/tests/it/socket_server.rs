//! A scripted server for WebSockets and HTTP on one real socket: one script per connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use crate::server::read_request;

/// The script of a connection.
#[derive(Clone)]
pub(crate) enum Connection {
    /// Accepts a WebSocket, and answers each frame with the next list of actions.
    Socket(Vec<Vec<Action>>),
    /// Answers an HTTP request, also one for a WebSocket, with these bytes.
    Http(Vec<u8>),
    /// Reads nothing more and waits until the client has disconnected.
    Silent,
}

/// An action after a frame has arrived.
#[derive(Clone)]
pub(crate) enum Action {
    Send(Value),
    /// Sends a ping and waits for its answer.
    Ping,
    Close(u16, &'static str),
    /// Ends the connection without a closing handshake.
    Drop,
    /// Waits until the client has disconnected.
    UntilDisconnect,
}

/// Something that the server saw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    /// A WebSocket with these headers.
    Connect(Vec<(String, String)>),
    /// A frame, with the number of its connection.
    Frame(usize, Value),
    /// The answer to a ping.
    Pong(usize),
    /// An HTTP request, head and body.
    Http(String),
    /// The end of a connection.
    Disconnect(usize),
}

pub(crate) struct SocketServer {
    pub(crate) addr: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    events: mpsc::UnboundedReceiver<Seen>,
}

#[derive(Clone)]
struct Record {
    seen: Arc<Mutex<Vec<Seen>>>,
    events: mpsc::UnboundedSender<Seen>,
}

impl Record {
    fn push(&self, seen: Seen) {
        self.seen.lock().unwrap().push(seen.clone());
        let _ = self.events.send(seen);
    }
}

impl SocketServer {
    /// Starts a server that runs `scripts` in order, one per connection. Further connections are
    /// closed at once.
    pub(crate) async fn start(scripts: Vec<Connection>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (sender, events) = mpsc::unbounded_channel();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let record = Record { seen: Arc::clone(&seen), events: sender };
        tokio::spawn(async move {
            for (number, script) in scripts.into_iter().enumerate() {
                let Ok((socket, _)) = listener.accept().await else { return };
                tokio::spawn(serve(socket, number, script, record.clone()));
            }
        });
        Self { addr, seen, events }
    }

    /// Returns everything that was seen so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the frames so far, each with the number of its connection.
    pub(crate) fn frames(&self) -> Vec<(usize, Value)> {
        let frames = self.seen().into_iter().filter_map(|seen| match seen {
            Seen::Frame(connection, frame) => Some((connection, frame)),
            _ => None,
        });
        frames.collect()
    }

    /// Returns the number of HTTP requests with a body.
    pub(crate) fn posts(&self) -> usize {
        let is_post = |seen: &&Seen| matches!(seen, Seen::Http(text) if text.starts_with("POST "));
        self.seen().iter().filter(is_post).count()
    }

    /// Waits for an event that matches.
    pub(crate) async fn until(&mut self, matches: impl Fn(&Seen) -> bool) {
        while !matches(&self.events.recv().await.unwrap()) {}
    }
}

async fn serve(socket: TcpStream, number: usize, script: Connection, record: Record) {
    match script {
        Connection::Socket(answers) => websocket(socket, number, answers, &record).await,
        Connection::Http(response) => {
            let mut socket = socket;
            if let Some(request) = read_request(&mut socket).await {
                record.push(Seen::Http(request));
                let _ = socket.write_all(&response).await;
                let _ = socket.shutdown().await;
            }
        }
        Connection::Silent => {
            let mut socket = socket;
            let _ = tokio::io::copy(&mut socket, &mut tokio::io::sink()).await;
        }
    }
    record.push(Seen::Disconnect(number));
}

// The error of the callback is the type of the crate.
#[allow(clippy::result_large_err)]
async fn websocket(socket: TcpStream, number: usize, answers: Vec<Vec<Action>>, record: &Record) {
    let seen = record.clone();
    let accepted = tokio_tungstenite::accept_hdr_async(
        socket,
        move |request: &Request, response: Response| {
            let mut headers: Vec<(String, String)> = request
                .headers()
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
                .collect();
            headers.push((":path".to_owned(), request.uri().path().to_owned()));
            seen.push(Seen::Connect(headers));
            Ok(response)
        },
    )
    .await;
    let Ok(mut socket) = accepted else { return };
    for actions in answers {
        let frame = loop {
            match socket.next().await {
                Some(Ok(Message::Text(text))) => break text,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return,
            }
        };
        record.push(Seen::Frame(number, serde_json::from_str(&frame).unwrap()));
        for action in actions {
            match action {
                Action::Send(event) => {
                    if socket.send(Message::text(event.to_string())).await.is_err() {
                        return;
                    }
                }
                Action::Ping => {
                    socket.send(Message::Ping("are you there".into())).await.unwrap();
                    let answer = socket.next().await;
                    assert!(matches!(answer, Some(Ok(Message::Pong(_)))), "{answer:?}");
                    record.push(Seen::Pong(number));
                }
                Action::Close(code, reason) => {
                    let frame = CloseFrame { code: code.into(), reason: reason.into() };
                    let _ = socket.close(Some(frame)).await;
                    return;
                }
                Action::Drop => return,
                Action::UntilDisconnect => {
                    while let Some(Ok(_)) = socket.next().await {}
                    return;
                }
            }
        }
    }
    // Reads the closing handshake of the client.
    while let Some(Ok(_)) = socket.next().await {}
}

/// Returns the events of an answer with this text.
pub(crate) fn text_answer(response: &str, text: &str) -> Vec<Action> {
    let item = json!({
        "type": "message", "id": format!("msg_{response}"), "role": "assistant",
        "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}],
    });
    answer(response, &item)
}

/// Returns the events of an answer that calls a tool.
pub(crate) fn call_answer(response: &str) -> Vec<Action> {
    let item = json!({
        "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash",
        "arguments": "{\"command\": \"ls\"}", "status": "completed",
    });
    answer(response, &item)
}

fn answer(response: &str, item: &Value) -> Vec<Action> {
    [
        json!({"type": "response.created", "response": {"id": response}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {
            "id": response, "status": "completed", "output": [item],
            "usage": {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13},
        }}),
    ]
    .map(Action::Send)
    .to_vec()
}

/// Returns the frame of an error.
pub(crate) fn error(status: u16, code: &str) -> Action {
    Action::Send(json!({
        "type": "error", "status": status,
        "error": {"type": "invalid_request_error", "code": code, "message": "the message"},
    }))
}
