//! A token server that replaces the refresh token with each renewal and ends the login if an old
//! one is used again.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use pi_base::{lock, unpoisoned};

/// The state of the login at the server.
#[derive(Debug, Default, Clone)]
pub(crate) struct Grant {
    /// Number of the valid tokens.
    pub(crate) generation: usize,
    /// Number of renewals.
    pub(crate) renewals: usize,
    /// An old token was used, which ended the login.
    pub(crate) is_revoked: bool,
}

pub(crate) struct TokenServer {
    port: u16,
    closed: Arc<AtomicBool>,
    grant: Arc<Mutex<Grant>>,
    open: Arc<Open>,
}

/// The number of connections that are served.
#[derive(Default)]
struct Open {
    count: Mutex<usize>,
    ended: Condvar,
}

impl Open {}

impl TokenServer {
    /// Starts a server that takes this time to answer, and issues tokens of this lifetime in
    /// seconds.
    pub(crate) fn start(delay: Duration, lifetime: u64) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let closed = Arc::new(AtomicBool::new(false));
        let grant = Arc::new(Mutex::new(Grant::default()));
        let (theirs, shared) = (Arc::clone(&closed), Arc::clone(&grant));
        let open = Arc::new(Open::default());
        let counted = Arc::clone(&open);
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                if theirs.load(Ordering::Relaxed) {
                    return;
                }
                let (grant, open) = (Arc::clone(&shared), Arc::clone(&counted));
                *lock(&open.count) += 1;
                std::thread::spawn(move || {
                    // A client that was killed closes its connection early.
                    let _ = serve(socket, &grant, delay, lifetime);
                    *lock(&open.count) -= 1;
                    open.ended.notify_all();
                });
            }
        });
        Self { port, closed, grant, open }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/token", self.port)
    }

    pub(crate) fn grant(&self) -> Grant {
        lock(&self.grant).clone()
    }

    /// Waits until the server has served all connections that were made before.
    pub(crate) fn settle(&self) {
        // Connections are accepted in their order.
        let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        socket.read_to_end(&mut Vec::new()).unwrap();
        let count = lock(&self.open.count);
        let waited = self.open.ended.wait_while(count, |count| *count > 0);
        drop(unpoisoned(waited));
    }

    /// Begins a new login. Returns its tokens: access and refresh.
    pub(crate) fn sign_in(&self) -> (String, String) {
        let mut grant = lock(&self.grant);
        *grant = Grant { generation: grant.generation + 1, ..Grant::default() };
        tokens(grant.generation)
    }
}

impl Drop for TokenServer {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// Returns the tokens of a generation: access and refresh.
pub(crate) fn tokens(generation: usize) -> (String, String) {
    (format!("planted-access-{generation:06}-end"), format!("planted-refresh-{generation:06}-end"))
}

fn serve(
    mut socket: TcpStream,
    grant: &Mutex<Grant>,
    delay: Duration,
    lifetime: u64,
) -> io::Result<()> {
    let Some(body) = read_body(&socket)? else {
        return socket.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    };
    let (status, answer) = {
        let mut grant = lock(grant);
        let (_, valid) = tokens(grant.generation);
        let is_valid = body.split('&').any(|part| part == format!("refresh_token={valid}"));
        if is_valid && !grant.is_revoked {
            grant.generation += 1;
            grant.renewals += 1;
            let (access, refresh) = tokens(grant.generation);
            let answer = serde_json::json!({
                "access_token": access, "refresh_token": refresh, "token_type": "Bearer",
                "expires_in": lifetime,
            });
            ("200 OK", answer.to_string())
        } else {
            grant.is_revoked = true;
            let answer = r#"{"error":"invalid_grant","error_description":"the token was used"}"#;
            ("400 Bad Request", answer.to_owned())
        }
    };
    // The tokens are replaced already: this is the time in which a client must not be lost.
    std::thread::sleep(delay);
    let length = answer.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    socket.write_all(format!("{head}{answer}").as_bytes())
}

/// Reads a request and returns its body; `None` for a request without one.
fn read_body(socket: &TcpStream) -> io::Result<Option<String>> {
    let mut reader = BufReader::new(socket);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((length > 0).then(|| String::from_utf8_lossy(&body).into_owned()))
}
