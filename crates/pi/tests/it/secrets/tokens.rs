//! A token server that quotes the tokens it was sent, in different kinds of failures.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Failure of a renewal. All of them quote the refresh token, or a new token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Failure {
    /// The token is not valid any more.
    Ended,
    /// The server is broken.
    Broken,
    /// Invalid JSON with new tokens.
    BadJson,
    /// New tokens of a type that cannot be used.
    BadTokens,
    /// Redirects to a URL that contains the token.
    Redirects,
    /// Ends the answer in the middle of a token.
    HangsUp,
}

pub(super) const FAILURES: [Failure; 6] = [
    Failure::Ended,
    Failure::Broken,
    Failure::BadJson,
    Failure::BadTokens,
    Failure::Redirects,
    Failure::HangsUp,
];

pub(super) struct TokenServer {
    port: u16,
    closed: Arc<AtomicBool>,
}

impl TokenServer {
    /// Starts a server. `token` is the refresh token, and `new` one that it issues.
    pub(super) fn start(failure: Failure, token: &str, new: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let closed = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&closed);
        let (token, new) = (token.to_owned(), new.to_owned());
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                if theirs.load(Ordering::Relaxed) {
                    return;
                }
                // Errors of closed connections do not matter.
                let _ = serve(socket, failure, &token, &new);
            }
        });
        Self { port, closed }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/token", self.port)
    }
}

impl Drop for TokenServer {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn serve(mut socket: TcpStream, failure: Failure, token: &str, new: &str) -> io::Result<()> {
    let body = read_body(&socket)?;
    let status = |code: u16, more: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {code} Scripted\r\nconnection: close\r\n{more}content-length: {length}\r\n\r\n{body}"
        )
    };
    let answer = match failure {
        Failure::Ended => {
            let description = format!("the token {token} was used: {body}");
            let body =
                serde_json::json!({"error": "invalid_grant", "error_description": description});
            status(400, "", &body.to_string())
        }
        Failure::Broken => status(500, "", &format!("no upstream for {token}: {body}")),
        Failure::BadJson => status(200, "", &format!("{{\"access_token\": \"{new}\", {token}")),
        Failure::BadTokens => {
            let body = serde_json::json!({"access_token": {"value": new}, "refresh_token": [new]});
            status(200, "", &body.to_string())
        }
        Failure::Redirects => {
            status(307, &format!("location: http://127.0.0.1:1/?token={token}\r\n"), token)
        }
        Failure::HangsUp => format!(
            "HTTP/1.1 200 Scripted\r\ncontent-length: 5000\r\n\r\n{{\"access_token\": \"{new}"
        ),
    };
    socket.write_all(answer.as_bytes())
}

fn read_body(socket: &TcpStream) -> io::Result<String> {
    let mut reader = BufReader::new(socket);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if line.trim_end().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}
