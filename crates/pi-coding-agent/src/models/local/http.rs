//! The smallest HTTP client: one JSON document from a server on this machine.
//!
//! The client of `pi-ai` streams, retries and speaks TLS; it would cost more to set up than the
//! whole question. HTTP/1.0 asks for an answer in one piece that ends with the connection.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Kind;

/// More than any list of models; what is longer is something else.
const LIMIT: u64 = 4 * 1024 * 1024;

/// A server to ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct Server {
    pub(super) kind: Kind,
    pub(super) address: SocketAddr,
    /// How long one answer may take.
    pub(super) patience: Duration,
}

impl Server {
    /// The answer to a `GET`, if it is a success and JSON and comes in time.
    pub(super) async fn get(self, path: &str) -> Option<Value> {
        let line = format!("GET {path} HTTP/1.0\r\n");
        timeout(self.patience, exchange(self.address, &line, "")).await.ok()?
    }

    /// The answer to a `POST` of `body`.
    pub(super) async fn post(self, path: &str, body: &Value) -> Option<Value> {
        let line = format!("POST {path} HTTP/1.0\r\n");
        timeout(self.patience, exchange(self.address, &line, &body.to_string())).await.ok()?
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
    let mut answer = Vec::new();
    let mut limited = socket.take(LIMIT);
    // Some servers keep the connection open in spite of all: their length says when to stop.
    loop {
        let read = limited.read_buf(&mut answer).await.ok()?;
        if read == 0 || is_whole(&answer) {
            break;
        }
    }
    let (head, body) = split(&answer)?;
    let status = head.lines().next()?.split(' ').nth(1)?;
    (status == "200").then(|| serde_json::from_slice(body).ok())?
}

fn split(answer: &[u8]) -> Option<(&str, &[u8])> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((std::str::from_utf8(&answer[..end]).ok()?, &answer[end + 4..]))
}

/// As much of the body is there as the head promised.
fn is_whole(answer: &[u8]) -> bool {
    let Some((head, body)) = split(answer) else { return false };
    let length = head.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_some_and(|length| body.len() >= length)
}
