//! A server that quotes the key it was sent, in different kinds of failures.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Behavior of the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Behavior {
    /// Answers 401 with the key in the message.
    Refuses,
    /// Answers every request with 500 and the whole header.
    Breaks,
    /// Sends invalid JSON.
    BadJson,
    /// Sends the key at the position where long bodies are truncated.
    AtTheCut,
    /// Sends the header in base64.
    Encoded,
    /// Redirects to a URL that contains the key.
    Redirects,
    /// Requests a very long pause.
    Pauses,
    /// Sends an error in the middle of a stream.
    InStream,
    /// Sends a stream of invalid JSON.
    BadStream,
    /// Ends a stream in the middle.
    HangsUp,
    /// Calls a tool that prints its environment and all processes.
    PrintsEnvironment,
}

pub(super) struct Server {
    port: u16,
    closed: Arc<AtomicBool>,
}

impl Server {
    pub(super) fn start(behavior: Behavior) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let closed = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&closed);
        std::thread::spawn(move || {
            let count = AtomicUsize::new(0);
            for socket in listener.incoming().map_while(Result::ok) {
                if theirs.load(Ordering::Relaxed) {
                    return;
                }
                // Errors of closed connections do not matter.
                let _ = serve(socket, behavior, count.fetch_add(1, Ordering::Relaxed));
            }
        });
        Self { port, closed }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn serve(mut socket: TcpStream, behavior: Behavior, count: usize) -> io::Result<()> {
    let header = read_header(&socket)?;
    let key = header.strip_prefix("Bearer ").unwrap_or(&header);
    let stream = |text: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n{text}"
        )
    };
    let status = |code: u16, more: &str, body: &str| {
        format!(
            "HTTP/1.1 {code} Scripted\r\nconnection: close\r\n{more}content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let said =
        "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Well\"}}]}\n\n";
    let answer = match behavior {
        Behavior::Refuses => {
            let body = serde_json::json!({"error": {"message": format!("Incorrect API key provided: {key}."), "code": 401}});
            status(401, "", &body.to_string())
        }
        Behavior::Breaks => status(500, "", &format!("no upstream for Authorization: {header}")),
        Behavior::BadJson => status(400, "", &format!("{{\"error\": {{\"message\": \"key {key}")),
        Behavior::AtTheCut => {
            status(400, "", &format!("{}{key}", "x".repeat(4000 - key.len() / 2)))
        }
        Behavior::Encoded => status(403, "", &format!("denied: {}", STANDARD.encode(&header))),
        Behavior::Redirects => {
            status(307, &format!("location: http://127.0.0.1:1/?key={key}\r\n"), "")
        }
        Behavior::Pauses => status(429, "retry-after: 99999\r\n", &format!("too much of {key}")),
        Behavior::InStream => stream(&format!(
            "{said}data: {{\"error\":{{\"message\":\"the key {key} was revoked\",\"code\":500}}}}\n\n"
        )),
        Behavior::BadStream => stream(&format!("{said}data: {{{key}\n\n")),
        Behavior::HangsUp => stream(&format!("{said}data: {{\"id\":\"{key}")),
        Behavior::PrintsEnvironment if count == 0 => {
            let command = "env; for p in /proc/[0-9]*; do echo; echo; echo \"${p#/proc/}\"; tr '\\0' ' ' < $p/cmdline; done > \"$TMPDIR/processes.txt\" 2>/dev/null; true";
            let arguments = serde_json::json!({"command": command}).to_string();
            let call = serde_json::json!({"id": "1", "choices": [{"index": 0, "delta": {"tool_calls": [
                {"index": 0, "id": "c1", "type": "function", "function": {"name": "bash", "arguments": arguments}}
            ]}, "finish_reason": "tool_calls"}]});
            stream(&format!("data: {call}\n\ndata: [DONE]\n\n"))
        }
        Behavior::PrintsEnvironment => stream(&format!(
            "{said}data: {{\"id\":\"1\",\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
        )),
    };
    socket.write_all(answer.as_bytes())
}

/// Reads a request and returns its `Authorization` header.
fn read_header(socket: &TcpStream) -> io::Result<String> {
    let mut reader = BufReader::new(socket);
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                authorization = value.trim().to_owned();
            }
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    Ok(authorization)
}
