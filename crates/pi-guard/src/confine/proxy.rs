//! The way out for a command that may reach only some hosts: an HTTP proxy that asks about each.
//!
//! It listens on a Unix socket and runs outside of the confinement, so it is what holds: whoever
//! gets hold of the socket gets no further than the proxy lets them. It looks up names itself, so
//! that nothing inside has to, connects only to an address it has judged, and keeps what it
//! refused for whoever wants to explain it.
//!
//! What it cannot hold: in a tunnel, bytes are not looked at. A host that is allowed and passes
//! on what it gets (a proxy, or a server of many names that answers for one that was not asked
//! for) leads further.

mod address;
mod relay;
mod request;

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use relay::Pair;
use request::{Kind, LONGEST_HEAD, Request};

/// How many connections there can be at a time.
const MOST_CONNECTIONS: usize = 128;
/// How many refusals are kept.
const MOST_REFUSALS: usize = 64;
/// How long a client may take for the head of its request.
const FOR_A_HEAD: Duration = Duration::from_secs(15);
/// How long a server may take to let us in, for each of so many of its addresses.
const FOR_A_CONNECTION: Duration = Duration::from_secs(10);
const MOST_ADDRESSES: usize = 4;

/// Says whether a host (a name in lower case, or an address) may be reached at a port, and if
/// not, why. Of an address that is not an ordinary one of the Internet it must say yes only if
/// exactly that address is meant: it is asked about those also when a name leads there.
pub type HostFilter = Arc<dyn Fn(&str, u16) -> Result<(), String> + Send + Sync>;

/// A host that a command wanted and did not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedHost {
    /// The host as the command named it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Why not.
    pub reason: String,
}

/// Whether one of the patterns is for this host: `*.example.com` is for every name below (not for
/// `example.com` itself), `*` for every name, anything else for exactly that name or address.
pub fn host_matches(patterns: &[String], host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let address: Option<IpAddr> = host.parse().ok();
    patterns.iter().any(|pattern| match (pattern.strip_prefix('*'), address) {
        (None, Some(address)) => pattern.parse() == Ok(address),
        (Some(_), Some(_)) => false,
        // Everybody on the Internet is not this machine.
        (Some(""), None) => !host.eq_ignore_ascii_case("localhost"),
        (Some(end), None) => {
            let at = host.len().checked_sub(end.len()).filter(|at| *at > 0);
            let same = at.and_then(|at| host.get(at..));
            end.starts_with('.') && same.is_some_and(|same| same.eq_ignore_ascii_case(end))
        }
        (None, None) => pattern.eq_ignore_ascii_case(host),
    })
}

/// A proxy that runs until this is dropped.
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
    /// Listens on a socket in `directory`, which must be the caller's alone (mode 0700): whoever
    /// reaches the socket reaches what the proxy reaches.
    pub fn start(directory: &Path, decide: HostFilter) -> io::Result<Self> {
        Self::with(directory, decide, |host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }

    /// With another way to look up names.
    fn with(directory: &Path, decide: HostFilter, look_up: LookUp) -> io::Result<Self> {
        let socket = directory.join("proxy");
        let listener = UnixListener::bind(&socket)?;
        let shared = Arc::new(Shared {
            decide,
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

    /// Where it listens: for [`super::Confinement::proxy`].
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// What was refused since this was last asked; at most 64, each host and port once.
    pub fn take_refused(&self) -> Vec<RefusedHost> {
        std::mem::take(&mut *lock(&self.shared.refused))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // The one that accepts waits for somebody.
        let woken = UnixStream::connect(&self.socket).is_ok();
        let _ = fs::remove_file(&self.socket);
        for ends in lock(&self.shared.open).values() {
            ends.close();
        }
        if let Some(accepting) = self.accepting.take().filter(|_| woken) {
            let _ = accepting.join();
        }
    }
}

type LookUp = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// What all connections share.
struct Shared {
    decide: HostFilter,
    look_up: LookUp,
    ended: AtomicBool,
    refused: Mutex<Vec<RefusedHost>>,
    open: Mutex<HashMap<u64, Ends>>,
    next: AtomicU64,
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

/// Nothing is left half done by a thread that panics here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.ended.load(Ordering::SeqCst) {
            return;
        }
        let Ok(client) = client else {
            // Too many open files, as a rule: somebody has to close some first.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let Some(entry) = Entry::new(shared, &client) else {
            answer(&client, 503, "too many connections at a time");
            continue;
        };
        let started =
            thread::Builder::new().name("pi-proxy-connection".to_owned()).spawn(move || {
                if let Err(refusal) = serve(&entry, &client) {
                    answer(&client, refusal.code, &refusal.reason);
                }
            });
        // Without a thread the connection is closed, which says enough.
        drop(started);
    }
}

/// A connection's place among the open ones.
struct Entry {
    shared: Arc<Shared>,
    number: u64,
}

impl Entry {
    /// None if there are too many.
    fn new(shared: &Arc<Shared>, client: &UnixStream) -> Option<Self> {
        let client = client.try_clone().ok()?;
        let mut open = lock(&shared.open);
        // Whoever ends the proxy says so before closing what is open.
        if open.len() >= MOST_CONNECTIONS || shared.ended.load(Ordering::SeqCst) {
            return None;
        }
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Ends { client, server: None });
        Some(Self { shared: Arc::clone(shared), number })
    }

    /// Also closed when the proxy ends, or at once if it has ended.
    fn add(&self, server: &TcpStream) -> io::Result<()> {
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

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(ends) = lock(&self.shared.open).remove(&self.number) {
            ends.close();
        }
    }
}

/// What a client is told instead of what it wanted.
struct Refusal {
    code: u16,
    reason: String,
}

fn refusal(code: u16, reason: impl Into<String>) -> Refusal {
    Refusal { code, reason: reason.into() }
}

fn answer(mut client: &UnixStream, code: u16, reason: &str) {
    let name = match code {
        400 => "Bad Request",
        403 => "Forbidden",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        502 => "Bad Gateway",
        _ => "Service Unavailable",
    };
    let body = format!("pi: {reason}\n");
    let text = format!(
        "HTTP/1.1 {code} {name}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = client.set_write_timeout(Some(FOR_A_HEAD));
    // Who does not listen need not know.
    let _ = client.write_all(text.as_bytes()).and_then(|()| client.shutdown(Shutdown::Write));
}

/// One connection from beginning to end. Exactly one request: another one is another connection.
fn serve(entry: &Entry, client: &UnixStream) -> Result<(), Refusal> {
    let (head, rest) = read_head(client)?;
    let request = request::parse(&head).map_err(|wrong| refusal(400, wrong))?;
    let server = connect(&entry.shared, &request)?;
    let broken = |error: io::Error| refusal(502, format!("the connection broke: {error}"));
    entry.add(&server).map_err(broken)?;
    let client = client.try_clone().map_err(broken)?;
    let pair = Arc::new(Pair::new(client, server).map_err(broken)?);
    match &request.kind {
        Kind::Tunnel => (&pair.client).write_all(b"HTTP/1.1 200 Connected\r\n\r\n"),
        Kind::Plain { head, .. } => (&pair.server).write_all(head),
    }
    .map_err(broken)?;
    let tunnel = request.kind == Kind::Tunnel;
    let forward = Arc::clone(&pair);
    let towards = thread::Builder::new().name("pi-proxy-request".to_owned()).spawn(move || {
        let passed = match request.kind {
            Kind::Tunnel => forward.all(&rest),
            Kind::Plain { body, .. } => forward.one(rest, body),
        };
        if passed.is_err() {
            forward.close();
        }
    });
    // From here on the client hears the server, and nothing can be said in between.
    if let Ok(towards) = towards {
        // In a tunnel one side may be silent while the other still speaks.
        let half_closed = pair.answers().is_ok() && tunnel;
        if half_closed {
            let _ = towards.join();
        }
    }
    pair.close();
    Ok(())
}

/// The head, and what came after it already.
fn read_head(mut client: &UnixStream) -> Result<(Vec<u8>, Vec<u8>), Refusal> {
    let until = Instant::now() + FOR_A_HEAD;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let slow = || refusal(408, "the request took too long to arrive");
        if left.is_zero() || client.set_read_timeout(Some(left)).is_err() {
            return Err(slow());
        }
        let count = match client.read(&mut buffer) {
            Ok(0) => return Err(refusal(400, "the request ended in its head")),
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
            return Err(refusal(431, "the head of the request is too long"));
        }
    }
}

/// A connection to the host, if it may be reached and where its name leads is nobody's secret.
fn connect(shared: &Shared, request: &Request) -> Result<TcpStream, Refusal> {
    let Request { host, port, .. } = request;
    let forbidden = |reason: String| {
        let refused = RefusedHost { host: host.clone(), port: *port, reason };
        let said = format!("{host}:{port} cannot be reached from here: {}", refused.reason);
        let mut kept = lock(&shared.refused);
        let known = kept.iter().any(|other| other.host == *host && other.port == *port);
        if !known && kept.len() < MOST_REFUSALS {
            kept.push(refused);
        }
        refusal(403, said)
    };
    (shared.decide)(host, *port).map_err(forbidden)?;
    let addresses: Vec<(SocketAddr, bool)> = match host.parse::<IpAddr>() {
        Ok(address) => vec![(SocketAddr::new(address, *port), true)],
        Err(_) => {
            let found = (shared.look_up)(host, *port);
            let found = found
                .map_err(|error| refusal(502, format!("{host} cannot be looked up: {error}")))?;
            found.into_iter().map(|address| (address, meant(shared, host, address))).collect()
        }
    };
    if addresses.is_empty() {
        return Err(refusal(502, format!("{host} has no address")));
    }
    let mut problem = None;
    let mut ours = false;
    let reachable =
        |(address, meant): &&(SocketAddr, bool)| *meant || address::public(address.ip());
    for (address, meant) in addresses.iter().filter(reachable).take(MOST_ADDRESSES) {
        match TcpStream::connect_timeout(address, FOR_A_CONNECTION) {
            // Who talks from the address it talks to talks to itself, whatever the address.
            Ok(server)
                if !meant && server.local_addr().is_ok_and(|own| own.ip() == address.ip()) =>
            {
                ours = true;
            }
            Ok(server) => {
                let _ = server.set_nodelay(true);
                return Ok(server);
            }
            Err(error) => problem = Some(error),
        }
    }
    match problem {
        Some(error) if !ours => {
            Err(refusal(502, format!("{host}:{port} does not answer: {error}")))
        }
        _ => Err(forbidden(
            "the name leads to this machine or its own network; \
             name that address too if it is meant"
                .to_owned(),
        )),
    }
}

/// Whether an address that is not of the Internet was allowed as such.
fn meant(shared: &Shared, host: &str, address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    if address::public(ip) {
        return false;
    }
    let here = address::loopback(ip);
    (here && (host == "localhost" || (shared.decide)("localhost", address.port()).is_ok()))
        || (shared.decide)(&ip.to_string(), address.port()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let patterns: Vec<String> =
            ["*.example.com", "Exact.org", "127.0.0.1", "::1"].map(str::to_owned).into();
        for host in ["a.example.com", "A.B.EXAMPLE.com.", "exact.org", "127.0.0.1", "::1", "0:0::1"]
        {
            assert!(host_matches(&patterns, host), "{host}");
        }
        let others = [
            "example.com",
            ".example.com",
            "badexample.com",
            "a.example.com.evil",
            "an.exact.org",
            "127.0.0.2",
            "localhost",
            "",
        ];
        for host in others {
            assert!(!host_matches(&patterns, host), "{host}");
        }
        let everybody = ["*".to_owned()];
        assert!(host_matches(&everybody, "example.com"));
        // A pattern is about names: addresses and this machine must be named.
        assert!(!host_matches(&everybody, "127.0.0.1") && !host_matches(&everybody, "localhost"));
        assert!(!host_matches(&["*.0.0.1".to_owned(), "*x".to_owned()], "127.0.0.1"));
    }

    /// What a client is told that asks for a tunnel to this name, where only `allowed` are.
    fn asked(host: &str, port: u16, allowed: &[&str]) -> (String, Vec<RefusedHost>) {
        let folder = tempfile::tempdir().unwrap();
        let allowed: Vec<String> = allowed.iter().map(|host| (*host).to_owned()).collect();
        let decide: HostFilter =
            Arc::new(move |host: &str, _| match host_matches(&allowed, host) {
                true => Ok(()),
                false => Err("it is not on the list".to_owned()),
            });
        // Everything leads to this machine, whatever it is called.
        let look_up: LookUp = |host, port| {
            let mapped = "::ffff:127.0.0.1".parse().unwrap();
            let here = if host.starts_with("mapped") { mapped } else { [127, 0, 0, 1].into() };
            Ok(vec![SocketAddr::new(here, port)])
        };
        let proxy = Proxy::with(folder.path(), decide, look_up).unwrap();
        let mut client = UnixStream::connect(proxy.socket()).unwrap();
        client.write_all(format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).unwrap();
        (said, proxy.take_refused())
    }

    #[test]
    fn a_name_that_leads_here_is_not_enough() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || listener.incoming().for_each(drop));
        for host in ["rebound.test", "mapped.test", "printer"] {
            let (said, refused) = asked(host, port, &["*"]);
            assert!(said.starts_with("HTTP/1.1 403 "), "{host}: {said}");
            assert!(said.contains("leads to this machine"), "{host}: {said}");
            assert_eq!((refused.len(), refused[0].host.as_str()), (1, host));
        }
        // Not allowed at all: the name is not even looked up.
        let (said, refused) = asked("other.test", port, &["rebound.test"]);
        assert!(said.contains("it is not on the list"), "{said}");
        assert_eq!(refused[0].port, port);
        let meant = [
            ("localhost", &["localhost"][..]),
            ("rebound.test", &["rebound.test", "localhost"]),
            ("mapped.test", &["*.test", "127.0.0.1"]),
            ("127.0.0.1", &["127.0.0.1"]),
            ("[::ffff:127.0.0.1]", &["127.0.0.1"]),
        ];
        for (host, allowed) in meant {
            let (said, refused) = asked(host, port, allowed);
            assert!(said.starts_with("HTTP/1.1 200 "), "{host}: {said}");
            assert!(refused.is_empty(), "{host}");
        }
        for (host, allowed) in
            [("127.0.0.1", "localhost"), ("localhost", "127.0.0.1"), ("127.0.0.1", "*")]
        {
            assert!(asked(host, port, &[allowed]).0.starts_with("HTTP/1.1 403 "), "{host}");
        }
    }
}
