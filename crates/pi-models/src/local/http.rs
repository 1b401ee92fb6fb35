//! A minimal HTTP client: one JSON document from a server on this machine.
//!
//! The client of `pi-ai` streams, retries and supports TLS; its setup would cost more than the whole
//! request. HTTP/1.0 makes the server send the response in one piece and close the connection.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::ServerKind;

/// Size limit of a response, larger than any list of models.
const LIMIT: u64 = 4 * 1024 * 1024;

/// A server that is probed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Server {
    pub(super) kind: ServerKind,
    pub(super) address: SocketAddr,
    /// Time limit of one response.
    pub(super) timeout: Duration,
}

impl Server {
    /// Sends a `GET` request. Returns the response if it is successful, JSON and in time.
    pub(super) async fn get(self, path: &str) -> Option<Value> {
        let line = format!("GET {path} HTTP/1.0\r\n");
        timeout(self.timeout, exchange(self.address, &line, "")).await.ok()?
    }

    /// Sends a `POST` request with `body`.
    pub(super) async fn post(self, path: &str, body: &Value) -> Option<Value> {
        let line = format!("POST {path} HTTP/1.0\r\n");
        timeout(self.timeout, exchange(self.address, &line, &body.to_string())).await.ok()?
    }
}

async fn exchange(address: SocketAddr, first_line: &str, body: &str) -> Option<Value> {
    let mut socket = TcpStream::connect(address).await.ok()?;
    let mut request = format!("{first_line}Host: {address}\r\nAccept: application/json\r\n");
    if !body.is_empty() {
        let length = body.len();
        request
            .push_str(&format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"));
    }
    request.push_str("Connection: close\r\n\r\n");
    request.push_str(body);
    socket.write_all(request.as_bytes()).await.ok()?;
    let mut response = Vec::new();
    let mut limited = socket.take(LIMIT);
    // Some servers keep the connection open; the content length tells the end of their response.
    loop {
        let read = limited.read_buf(&mut response).await.ok()?;
        if read == 0 || is_complete(&response) {
            break;
        }
    }
    let (head, body) = split(&response)?;
    let status = head.lines().next()?.split(' ').nth(1)?;
    (status == "200").then(|| serde_json::from_slice(body).ok())?
}

fn split(response: &[u8]) -> Option<(&str, &[u8])> {
    let end = response.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((std::str::from_utf8(&response[..end]).ok()?, &response[end + 4..]))
}

/// Returns true if the body is as long as the header declares.
fn is_complete(response: &[u8]) -> bool {
    let Some((head, body)) = split(response) else { return false };
    let length = head.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_some_and(|length| body.len() >= length)
}
