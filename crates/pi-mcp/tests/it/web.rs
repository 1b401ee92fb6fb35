//! An HTTP server that a test plays by hand.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::fake::LIMIT;

/// The server: a queue of requests.
pub(crate) struct Web {
    pub(crate) url: url::Url,
    requests: mpsc::UnboundedReceiver<Exchange>,
}

/// A request that waits for its response.
pub(crate) struct Exchange {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
    stream: TcpStream,
}

impl Web {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let sender = sender.clone();
                tokio::spawn(async move {
                    if let Some(exchange) = read(stream).await {
                        let _ = sender.send(exchange);
                    }
                });
            }
        });
        Self { url: format!("http://{address}/mcp").parse().expect("a URL"), requests }
    }

    /// Waits for the next request.
    pub(crate) async fn next(&mut self) -> Exchange {
        timeout(LIMIT, self.requests.recv()).await.expect("a request in time").expect("a request")
    }

    /// Waits for the next request of a method of HTTP. Others get 405.
    pub(crate) async fn next_of(&mut self, method: &str) -> Exchange {
        loop {
            let exchange = self.next().await;
            if exchange.method == method {
                return exchange;
            }
            exchange.status(405).await;
        }
    }

    /// Answers the start of a legacy conversation, with a session.
    pub(crate) async fn initialize(&mut self, session: &str) {
        loop {
            let exchange = self.next_of("POST").await;
            match exchange.body["method"].as_str() {
                Some("server/discover") => exchange.status(400).await,
                Some("initialize") => {
                    let result = json!({
                        "protocolVersion": "2025-11-25",
                        "capabilities": { "tools": {} },
                        "serverInfo": { "name": "old", "version": "2" },
                    });
                    exchange.answer_with(&[("mcp-session-id", session)], &result).await;
                }
                Some("notifications/initialized") => {
                    assert_eq!(exchange.header("mcp-session-id"), Some(session));
                    exchange.status(202).await;
                    return;
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

impl Exchange {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// Responds without a body.
    pub(crate) async fn status(self, status: u16) {
        self.respond(status, &[], "").await;
    }

    /// Responds to the request in the body.
    pub(crate) async fn answer(self, result: &Value) {
        self.answer_with(&[], result).await;
    }

    pub(crate) async fn answer_with(self, headers: &[(&str, &str)], result: &Value) {
        let body = json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result });
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        self.respond(200, &all, &body.to_string()).await;
    }

    /// Responds to the request in the body with an error.
    pub(crate) async fn fail(self, status: u16, code: i64) {
        let error = json!({ "code": code, "message": "no" });
        let body = json!({ "jsonrpc": "2.0", "id": self.body["id"], "error": error });
        self.respond(status, &[("content-type", "application/json")], &body.to_string()).await;
    }

    pub(crate) async fn respond(mut self, status: u16, headers: &[(&str, &str)], body: &str) {
        let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        let _ = self.stream.write_all(head.as_bytes()).await;
    }

    /// Starts a body of unknown length.
    pub(crate) async fn open(mut self, kind: &str) -> Body {
        let head = format!("HTTP/1.1 200 X\r\nconnection: close\r\ncontent-type: {kind}\r\n\r\n");
        self.stream.write_all(head.as_bytes()).await.expect("written");
        Body(self.stream)
    }
}

/// A body that is being written. It ends with this value.
pub(crate) struct Body(TcpStream);

impl Body {
    /// Writes text. Returns false if the client closed the connection.
    pub(crate) async fn write(&mut self, text: &str) -> bool {
        self.0.write_all(text.as_bytes()).await.is_ok()
    }

    /// Sends a message as an event.
    pub(crate) async fn event(&mut self, message: &Value) {
        assert!(self.write(&format!("data: {message}\n\n")).await);
    }

    /// Waits until the client closes the connection.
    pub(crate) async fn closed(mut self) {
        let mut rest = [0; 64];
        let read = timeout(LIMIT, self.0.read(&mut rest)).await.expect("closed in time");
        assert!(matches!(read, Ok(0) | Err(_)));
    }
}

async fn read(stream: TcpStream) -> Option<Exchange> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).await.ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Exchange { method, path, headers, body, stream: reader.into_inner() })
}
