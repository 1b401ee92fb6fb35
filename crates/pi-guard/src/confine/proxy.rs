//! An HTTP proxy that gives a command access to some hosts and checks each of them.
//!
//! The proxy listens on a Unix socket and runs outside of the sandbox, so it enforces the limit: a
//! process that gets hold of the socket reaches only what the proxy allows. The proxy looks up
//! names itself, so that nothing inside has to, connects only to addresses that it has checked, and
//! keeps the refused hosts for an explanation.
//!
//! The bytes in a tunnel are not inspected. An allowed host that forwards what it receives (a
//! proxy, or a server that answers for other names) leads further.

mod address;
mod connect;
mod pattern;
mod relay;
mod request;

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use connect::{ConnectError, LookUp, connect, look_up};
use pi_base::lock;
use relay::Pair;
use request::{Kind, LONGEST_HEAD};

pub use pattern::host_matches;

/// The number of connections at a time.
const MOST_CONNECTIONS: usize = 128;
/// The number of refused hosts that are kept.
const MOST_REFUSED: usize = 64;
/// The time that a client may take for the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);

/// A function that allows a host (a name in lower case, or an address) at a port, or returns the
/// reason why not. An address that is not public must be allowed only if exactly that address is
/// meant: the function is also called for such addresses if a name leads there.
pub type HostFilter = Arc<dyn Fn(&str, u16) -> Result<(), String> + Send + Sync>;

/// A host that a command tried to reach in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedHost {
    /// The host as the command named it.
    pub host: String,
    /// The port of the host.
    pub port: u16,
    /// The reason for the refusal.
    pub reason: String,
}

/// A proxy that runs until it is dropped.
pub struct Proxy {
    socket: PathBuf,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl Proxy {
    /// Starts a proxy with a socket in `directory`, which only the caller may access (mode 0700):
    /// access to the socket is access to the allowed hosts.
    pub fn start(directory: &Path, filter: HostFilter) -> io::Result<Self> {
        Self::start_with(directory, filter, look_up)
    }

    fn start_with(directory: &Path, filter: HostFilter, look_up: LookUp) -> io::Result<Self> {
        let socket = directory.join("proxy");
        let listener = UnixListener::bind(&socket)?;
        let shared = Arc::new(Shared {
            filter,
            look_up,
            ended: AtomicBool::new(false),
            refused: Mutex::default(),
            open: Mutex::default(),
            next: AtomicU64::new(0),
        });
        let for_thread = Arc::clone(&shared);
        let accepting = thread::Builder::new()
            .name("pi-proxy".to_owned())
            .spawn(move || accept(&listener, &for_thread))?;
        Ok(Self { socket, shared, accepting: Some(accepting) })
    }

    /// The path of the socket, for [`super::Confinement::proxy`].
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the hosts that were refused since the last call: at most 64, each host and port
    /// once.
    pub fn take_refused(&self) -> Vec<RefusedHost> {
        std::mem::take(&mut *lock(&self.shared.refused))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // The accepting thread waits for a connection.
        let woken = UnixStream::connect(&self.socket).is_ok();
        let _ = fs::remove_file(&self.socket);
        for ends in lock(&self.shared.open).values() {
            ends.close();
        }
        if let (Some(accepting), true) = (self.accepting.take(), woken) {
            let _ = accepting.join();
        }
    }
}

/// The state that all connections share.
struct Shared {
    filter: HostFilter,
    look_up: LookUp,
    ended: AtomicBool,
    refused: Mutex<Vec<RefusedHost>>,
    open: Mutex<HashMap<u64, Ends>>,
    next: AtomicU64,
}

impl Shared {
    fn note_refused(&self, refused: &RefusedHost) {
        let mut kept = lock(&self.refused);
        let is_same =
            |other: &RefusedHost| other.host == refused.host && other.port == refused.port;
        if kept.len() < MOST_REFUSED && !kept.iter().any(is_same) {
            kept.push(refused.clone());
        }
    }
}

/// Second handles of a connection, to close it.
struct Ends {
    client: UnixStream,
    server: Option<TcpStream>,
}

impl Ends {
    fn close(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        if let Some(server) = &self.server {
            let _ = server.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.ended.load(Ordering::SeqCst) {
            return;
        }
        let Ok(client) = client else {
            // Usually too many open files: wait until some are closed.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let Some(connection) = Connection::register(shared, &client) else {
            reject(&client, &Rejection::new(503, "too many connections"));
            continue;
        };
        let started =
            thread::Builder::new().name("pi-proxy-connection".to_owned()).spawn(move || {
                if let Err(rejection) = serve(&connection, &client) {
                    reject(&client, &rejection);
                }
            });
        // Without a thread the connection is closed.
        drop(started);
    }
}

/// An open connection in the registry, which closes it when the proxy ends.
struct Connection {
    shared: Arc<Shared>,
    number: u64,
}

impl Connection {
    /// Registers a connection. Returns none if there are too many, or if the proxy has ended.
    fn register(shared: &Arc<Shared>, client: &UnixStream) -> Option<Self> {
        let client = client.try_clone().ok()?;
        let mut open = lock(&shared.open);
        // The proxy sets `ended` before it closes the open connections.
        if open.len() >= MOST_CONNECTIONS || shared.ended.load(Ordering::SeqCst) {
            return None;
        }
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Ends { client, server: None });
        Some(Self { shared: Arc::clone(shared), number })
    }

    /// Adds the other end, which is closed at once if the proxy has ended.
    fn add_server(&self, server: &TcpStream) -> io::Result<()> {
        let server = server.try_clone()?;
        if let Some(ends) = lock(&self.shared.open).get_mut(&self.number) {
            ends.server = Some(server);
            if self.shared.ended.load(Ordering::SeqCst) {
                ends.close();
            }
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(ends) = lock(&self.shared.open).remove(&self.number) {
            ends.close();
        }
    }
}

/// An error response to a client.
struct Rejection {
    status: u16,
    reason: String,
}

impl Rejection {
    fn new(status: u16, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }
}

fn reject(mut client: &UnixStream, rejection: &Rejection) {
    let Rejection { status, reason } = rejection;
    let name = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        502 => "Bad Gateway",
        _ => "Service Unavailable",
    };
    let body = format!("pi: {reason}\n");
    let text = format!(
        "HTTP/1.1 {status} {name}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = client.set_write_timeout(Some(HEAD_TIMEOUT));
    // A client that has closed the connection needs no response.
    let _ = client.write_all(text.as_bytes()).and_then(|()| client.shutdown(Shutdown::Write));
}

/// Serves one connection with exactly one request.
fn serve(connection: &Connection, client: &UnixStream) -> Result<(), Rejection> {
    let (head, rest) = read_head(client)?;
    let request = request::parse(&head).map_err(|reason| Rejection::new(400, reason))?;
    let shared = &connection.shared;
    let server = connect(&shared.filter, shared.look_up, &request).map_err(|error| {
        if let ConnectError::Refused(refused) = &error {
            shared.note_refused(refused);
        }
        Rejection::from(error)
    })?;
    let failed = |error: io::Error| Rejection::new(502, format!("the connection failed: {error}"));
    connection.add_server(&server).map_err(failed)?;
    let client = client.try_clone().map_err(failed)?;
    let pair = Arc::new(Pair::new(client, server).map_err(failed)?);
    match &request.kind {
        Kind::Tunnel => (&pair.client).write_all(b"HTTP/1.1 200 Connected\r\n\r\n"),
        Kind::Plain { head, .. } => (&pair.server).write_all(head),
    }
    .map_err(failed)?;
    let is_tunnel = request.kind == Kind::Tunnel;
    let forward = Arc::clone(&pair);
    let sending = thread::Builder::new().name("pi-proxy-request".to_owned()).spawn(move || {
        let sent = match request.kind {
            Kind::Tunnel => forward.send_all(&rest),
            Kind::Plain { body, .. } => forward.send_body(rest, body),
        };
        if sent.is_err() {
            forward.close();
        }
    });
    // From here on the response of the server is passed on, so no error can be reported.
    if let Ok(sending) = sending {
        let received = pair.receive_all();
        // In a tunnel the client may still send after the server has finished.
        if is_tunnel && received.is_ok() {
            let _ = sending.join();
        }
    }
    pair.close();
    Ok(())
}

/// Reads the head of a request. Returns it with the bytes that have arrived after it.
fn read_head(mut client: &UnixStream) -> Result<(Vec<u8>, Vec<u8>), Rejection> {
    let until = Instant::now() + HEAD_TIMEOUT;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let slow = || Rejection::new(408, "the request took too long to arrive");
        if left.is_zero() || client.set_read_timeout(Some(left)).is_err() {
            return Err(slow());
        }
        let count = match client.read(&mut buffer) {
            Ok(0) => return Err(Rejection::new(400, "the head of the request is incomplete")),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(slow()),
        };
        let seen = bytes.len();
        bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if let Some(end) = request::end_of_head(&bytes, seen) {
            let rest = bytes.split_off(end);
            return Ok((bytes, rest));
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(Rejection::new(431, "the head of the request is too long"));
        }
    }
}
