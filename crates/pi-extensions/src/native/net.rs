//! Sockets: TCP and Unix, clients and servers, and the connections of WebSockets.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use pi_base::lock;
use pi_protocol::CancelToken;
use pi_web::{WebBody, WebRequest};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Mutex;

use super::http::Web;
use crate::error::NativeError;
use crate::host::{Answer, Call, Natives, Thrown};
use crate::value::Plain;

/// Bytes of one read.
const CHUNK: usize = 64 << 10;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A connection or a listener.
struct Socket {
    cancel: CancelToken,
    kind: Kind,
}

enum Kind {
    Connection { reader: Mutex<Reader>, writer: Mutex<Writer> },
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The sockets by their numbers. `std` lock: held only for a look-up.
type Sockets = Arc<std::sync::Mutex<BTreeMap<u64, Arc<Socket>>>>;

/// Address of a connection or listener: a path, or host and port.
#[derive(Deserialize)]
struct Address {
    path: Option<String>,
    #[serde(default)]
    host: String,
    #[serde(default)]
    port: u16,
}

pub(super) const FUNCTIONS: Natives = &[
    ("connect", |call| {
        let address: Address = call.parse(0)?;
        match &address.path {
            Some(path) => call.host.access.write(Path::new(path))?,
            None => call.host.access.connect(&address.host, address.port)?,
        }
        let (all, id) = (Arc::clone(&call.host.area::<Sockets>()), call.host.number());
        call.promise(async move {
            let opened = connect(&address).await;
            let (socket, facts) = opened.map_err(|error| failure(&error, "connect", &address))?;
            Ok(insert(&all, id, socket, facts))
        })
    }),
    ("listen", |call| {
        let address: Address = call.parse(0)?;
        match &address.path {
            Some(path) => call.host.access.write(Path::new(path))?,
            None => call.host.access.listen(&address.host, address.port)?,
        }
        let (all, id) = (Arc::clone(&call.host.area::<Sockets>()), call.host.number());
        call.promise(async move {
            let opened = listen(&address).await;
            let (socket, facts) = opened.map_err(|error| failure(&error, "listen", &address))?;
            Ok(insert(&all, id, socket, facts))
        })
    }),
    ("accept", |call| {
        let (found, all) = (find(call)?, Arc::clone(&call.host.area::<Sockets>()));
        let id = call.host.number();
        call.promise(async move {
            let Some(found) = found else { return Ok(Plain::Nothing) };
            let accepted = tokio::select! {
                accepted = accept(&found.kind) => accepted,
                () = found.cancel.cancelled() => return Ok(Plain::Nothing),
            };
            let (socket, facts) = accepted.map_err(|error| plain_failure(&error, "accept"))?;
            Ok(insert(&all, id, socket, facts))
        })
    }),
    ("upgrade", upgrade),
    ("read", |call| {
        let found = find(call)?;
        call.promise(async move {
            let Some(socket) = found else { return Ok(Plain::Nothing) };
            let Kind::Connection { reader, .. } = &socket.kind else { return Ok(Plain::Nothing) };
            let mut buffer = vec![0; CHUNK];
            let mut reader = reader.lock().await;
            let count = tokio::select! {
                count = reader.read(&mut buffer) => count,
                () = socket.cancel.cancelled() => Ok(0),
            };
            buffer.truncate(count.map_err(|error| plain_failure(&error, "read"))?);
            Ok((!buffer.is_empty()).then_some(buffer).into())
        })
    }),
    ("write", |call| {
        let (found, bytes) = (find(call)?, call.bytes(1)?);
        call.promise(async move {
            let closed = || NativeError::new("write EPIPE").with("code", "EPIPE");
            let socket = found.ok_or_else(closed)?;
            let Kind::Connection { writer, .. } = &socket.kind else { return Err(closed()) };
            let mut writer = writer.lock().await;
            let written = tokio::select! {
                written = async {
                    writer.write_all(&bytes).await?;
                    writer.flush().await
                } => written,
                () = socket.cancel.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
            };
            Ok(written.map_err(|error| plain_failure(&error, "write"))?.into())
        })
    }),
    ("shutdown", |call| {
        let found = find(call)?;
        call.promise(async move {
            if let Some(Kind::Connection { writer, .. }) = found.as_ref().map(|one| &one.kind) {
                // The other side may have closed the connection already.
                let _ = writer.lock().await.shutdown().await;
            }
            Ok(Plain::Nothing)
        })
    }),
    ("close", |call| {
        let removed = lock(&call.host.area::<Sockets>()).remove(&call.handle(0)?);
        if let Some(socket) = removed {
            socket.cancel.cancel();
        }
        call.done()
    }),
];

/// `upgrade({url, host, port, headers})` opens a WebSocket and resolves with its socket.
fn upgrade<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    #[derive(Deserialize)]
    struct Options {
        url: String,
        host: String,
        port: u16,
        headers: Vec<(String, String)>,
    }
    let Options { url, host, port, headers } = call.parse(0)?;
    call.host.access.connect(&host, port)?;
    let client = call.host.area::<Web>().client(call.host);
    let (all, id) = (Arc::clone(&call.host.area::<Sockets>()), call.host.number());
    call.promise(async move {
        let method = "GET".to_owned();
        let request = WebRequest { method, url, headers, body: WebBody::Empty };
        let response = client.send(request).await?;
        if response.status != 101 {
            let status = response.status;
            let message = format!("Received network error or non-101 status code {status}");
            return Err(NativeError::new(message));
        }
        let headers = json!(response.headers);
        let (reader, writer) = tokio::io::split(response.upgrade().await?);
        let kind = connection(reader, writer);
        let socket = Socket { cancel: CancelToken::new(), kind };
        Ok(insert(&all, id, socket, json!({ "headers": headers })))
    })
}

fn find(call: &Call<'_, '_>) -> Result<Option<Arc<Socket>>, Thrown> {
    Ok(lock(&call.host.area::<Sockets>()).get(&call.handle(0)?).map(Arc::clone))
}

/// Adds a socket and returns its facts with its number.
fn insert(sockets: &Sockets, id: u64, socket: Socket, mut facts: Value) -> Plain {
    lock(sockets).insert(id, Arc::new(socket));
    if let Some(facts) = facts.as_object_mut() {
        facts.insert("id".to_owned(), json!(id));
    }
    facts.into()
}

fn connection(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Kind {
    Kind::Connection { reader: Mutex::new(Box::new(reader)), writer: Mutex::new(Box::new(writer)) }
}

fn tcp(stream: TcpStream) -> io::Result<(Socket, Value)> {
    let (local, remote) = (stream.local_addr()?, stream.peer_addr()?);
    let facts = json!({
        "localAddress": local.ip().to_string(),
        "localPort": local.port(),
        "remoteAddress": remote.ip().to_string(),
        "remotePort": remote.port(),
        "remoteFamily": if remote.is_ipv6() { "IPv6" } else { "IPv4" },
    });
    // Small messages of a protocol must not wait for each other.
    let _ = stream.set_nodelay(true);
    let (reader, writer) = stream.into_split();
    Ok((Socket { cancel: CancelToken::new(), kind: connection(reader, writer) }, facts))
}

fn unix(stream: UnixStream) -> (Socket, Value) {
    let (reader, writer) = stream.into_split();
    (Socket { cancel: CancelToken::new(), kind: connection(reader, writer) }, json!({}))
}

async fn connect(address: &Address) -> io::Result<(Socket, Value)> {
    match &address.path {
        Some(path) => Ok(unix(UnixStream::connect(path).await?)),
        None => tcp(TcpStream::connect((address.host.as_str(), address.port)).await?),
    }
}

async fn listen(address: &Address) -> io::Result<(Socket, Value)> {
    let (kind, facts) = match &address.path {
        Some(path) => (Kind::Unix(UnixListener::bind(path)?), json!({ "path": path })),
        None => {
            let listener = TcpListener::bind((address.host.as_str(), address.port)).await?;
            let local = listener.local_addr()?;
            let facts = json!({
                "address": local.ip().to_string(),
                "port": local.port(),
                "family": if local.is_ipv6() { "IPv6" } else { "IPv4" },
            });
            (Kind::Tcp(listener), facts)
        }
    };
    Ok((Socket { cancel: CancelToken::new(), kind }, facts))
}

async fn accept(kind: &Kind) -> io::Result<(Socket, Value)> {
    match kind {
        Kind::Tcp(listener) => tcp(listener.accept().await?.0),
        Kind::Unix(listener) => Ok(unix(listener.accept().await?.0)),
        Kind::Connection { .. } => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Describes an error in the shape of Node: `connect ECONNREFUSED 127.0.0.1:1`.
fn failure(error: &io::Error, call: &str, address: &Address) -> NativeError {
    let place = match &address.path {
        Some(path) => path.clone(),
        None => format!("{}:{}", address.host, address.port),
    };
    let (code, number) = code_of(error);
    let is_name = code == "ENOTFOUND";
    let call = if is_name { "getaddrinfo" } else { call };
    let message = match (call, &address.path) {
        ("getaddrinfo", _) => format!("getaddrinfo ENOTFOUND {}", address.host),
        ("listen", _) => format!("listen {code}: {} {place}", text_of(code)),
        _ => format!("{call} {code} {place}"),
    };
    let failed = NativeError::new(message)
        .with("errno", number)
        .with("code", code)
        .with("syscall", call.to_owned());
    match &address.path {
        Some(path) => failed.with("address", path.clone()),
        None if is_name => failed.with("hostname", address.host.clone()),
        None => failed.with("address", address.host.clone()).with("port", address.port),
    }
}

fn plain_failure(error: &io::Error, call: &str) -> NativeError {
    let (code, number) = code_of(error);
    NativeError::new(format!("{call} {code}"))
        .with("errno", number)
        .with("code", code)
        .with("syscall", call.to_owned())
}

fn text_of(code: &str) -> &str {
    match code {
        "EADDRINUSE" => "address already in use",
        "EACCES" => "permission denied",
        "EADDRNOTAVAIL" => "address not available",
        _ => "operation failed",
    }
}

/// Returns the name and the negative number of a system error.
fn code_of(error: &io::Error) -> (&'static str, i32) {
    let name = match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => "ECONNREFUSED",
        Some(libc::ECONNRESET) => "ECONNRESET",
        Some(libc::EPIPE) => "EPIPE",
        Some(libc::EADDRINUSE) => "EADDRINUSE",
        Some(libc::EADDRNOTAVAIL) => "EADDRNOTAVAIL",
        Some(libc::EACCES) => "EACCES",
        Some(libc::ENOENT) => "ENOENT",
        Some(libc::ETIMEDOUT) => "ETIMEDOUT",
        Some(libc::EHOSTUNREACH) => "EHOSTUNREACH",
        Some(libc::ENETUNREACH) => "ENETUNREACH",
        Some(libc::ENOTSOCK) => "ENOTSOCK",
        None if error.kind() == io::ErrorKind::BrokenPipe => "EPIPE",
        None if error.to_string().contains("lookup") => return ("ENOTFOUND", -3008),
        _ => "EIO",
    };
    (name, -error.raw_os_error().unwrap_or(libc::EIO))
}
