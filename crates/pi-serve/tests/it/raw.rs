//! Requests as bytes on a socket: what browsers and attackers send, without a client that would
//! mend it.

use std::net::SocketAddr;
use std::time::Duration;

use pi_ai::faux::Reply;
use pi_host::Directories;
use pi_protocol::CancelToken;
use pi_serve::entrance::Right;
use pi_serve::entrance::tokens::NewToken;
use pi_serve::{ServeOptions, Server};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::home::{Home, LIMIT};

/// A server with options of its own.
pub(crate) struct Raw {
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancelToken,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Raw {
    pub(crate) async fn new(home: &Home) -> Self {
        Self::with(home, |_| {}).await
    }

    pub(crate) async fn with(home: &Home, set: impl FnOnce(&mut ServeOptions)) -> Self {
        let directories = Directories::new(&[home.project()]).unwrap();
        let mut options = ServeOptions::new("1.2.3", home.agent().join("serve"), directories);
        set(&mut options);
        let server = Server::new(home.host(), options).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancelToken::new());
        let (serving, stopping) = (server.clone(), stop.clone());
        tokio::spawn(async move { serving.serve(listener, None, stopping).await.unwrap() });
        Self { server, address, stop }
    }

    pub(crate) fn token(&self, name: &str, right: Right) -> String {
        self.token_with(NewToken::new(name, right))
    }

    pub(crate) fn token_with(&self, new: NewToken) -> String {
        self.server.state().tokens.add(new).unwrap().expose_secret().to_owned()
    }

    /// Sends a request with headers and a body. `Host` is that of the server unless it is given.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        exchange(self.address, &self.request(method, path, headers, body)).await
    }

    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> String {
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("connection")) {
            request.push_str("Connection: close\r\n");
        }
        if !body.is_empty() {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        format!("{request}\r\n{body}")
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Answer {
        self.send("GET", path, &[("Authorization", &format!("Bearer {token}"))], "").await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        self.send("POST", path, &headers, &body.to_string()).await
    }

    pub(crate) async fn delete(&self, path: &str, token: &str) -> Answer {
        self.send("DELETE", path, &[("Authorization", &format!("Bearer {token}"))], "").await
    }

    /// Opens a stream of events.
    pub(crate) async fn events(&self, path: &str, token: &str, last: Option<&str>) -> Events {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("Authorization", bearer.as_str()), ("Connection", "keep-alive")];
        headers.extend(last.map(|last| ("Last-Event-ID", last)));
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = self.request("GET", path, &headers, "");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).await.unwrap(), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        Events { reader, head }
    }

    pub(crate) fn audit(&self) -> String {
        let path = self.server.state().options.directory.join("audit.jsonl");
        std::fs::read_to_string(path).unwrap_or_default()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Sends bytes and reads the answer to its end.
pub(crate) async fn exchange(address: SocketAddr, request: &str) -> Answer {
    let exchanging = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // A server may answer and close before it has read everything.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut bytes = Vec::new();
        while !is_whole(&bytes) {
            match stream.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let text = tokio::time::timeout(LIMIT, exchanging).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Returns true if an answer has come to the end that its head says.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, _)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
    });
    length.is_some_and(|length| bytes.len() >= head.len() + 4 + length)
}

/// A stream of events in chunks.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
    pub(crate) head: String,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentEvent {
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Events {
    /// Returns the next event but heartbeats; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<SentEvent> {
        loop {
            let event = self.any().await?;
            if event.data["type"] != "heartbeat" {
                return Some(event);
            }
        }
    }

    /// Returns the next event.
    pub(crate) async fn any(&mut self) -> Option<SentEvent> {
        let (mut id, mut data) = (None, String::new());
        loop {
            let mut line = String::new();
            let reading = self.reader.read_line(&mut line);
            let read = tokio::time::timeout(Duration::from_secs(60), reading).await.unwrap();
            if read.unwrap_or(0) == 0 {
                return None;
            }
            // The sizes of chunks stand on lines of their own, and no field looks like one.
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => id = Some(value.to_owned()),
                Some(("data", value)) => data.push_str(value),
                Some(_) => {}
                None if line.trim_end().is_empty() && !data.is_empty() => {
                    let data = serde_json::from_str(&data).unwrap();
                    return Some(SentEvent { id, data });
                }
                None => {}
            }
        }
    }

    /// Returns the next event of a type.
    pub(crate) async fn until(&mut self, kind: &str) -> SentEvent {
        loop {
            let event =
                self.next().await.unwrap_or_else(|| panic!("the stream ended before {kind}"));
            if event.data["type"] == kind {
                return event;
            }
        }
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Starts a session and lets it say something.
pub(crate) async fn session(home: &Home, raw: &Raw) -> String {
    let driver = raw.token("session-driver", Right::Drive);
    let created = raw.post("/api/v1/sessions", &driver, &json!({})).await;
    assert_eq!(created.status, 201, "{created:?}");
    let id = created.json()["id"].as_str().unwrap().to_owned();
    home.model.push(Reply::new().text("An answer."));
    let (_, live) = raw.server.state().live(&id).unwrap();
    let turn = live.turn("A question.".to_owned(), Default::default()).begin().await.unwrap();
    if let Some(run) = turn.into_run() {
        run.finish().await;
    }
    raw.server.state().tokens.revoke("session-driver").unwrap();
    id
}

/// Logs a browser in. Returns its cookie and CSRF value.
pub(crate) async fn log_in(raw: &Raw, token: &str) -> (String, String) {
    let body = json!({ "token": token }).to_string();
    let answer =
        raw.send("POST", "/api/v1/login", &[("Content-Type", "application/json")], &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    (cookie, answer.json()["csrf"].as_str().unwrap().to_owned())
}

/// The operations of the API: method, path, right.
pub(crate) fn operations() -> Vec<(String, String, Option<Right>)> {
    let document = pi_serve::openapi("1");
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| {
            let text = operation["description"].as_str().unwrap();
            let right = text.split('`').nth(1).and_then(Right::named);
            (method.to_uppercase(), path.clone(), right)
        })
    });
    operations.collect()
}
