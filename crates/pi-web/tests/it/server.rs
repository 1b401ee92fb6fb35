//! A scripted server on a real socket: one script per connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// A step of the server after it has read a request.
#[derive(Clone)]
pub(crate) enum Step {
    Send(Vec<u8>),
    /// Waits until the client has disconnected, and reports it.
    UntilDisconnect,
    /// Ends the connection with a reset instead of a close.
    Reset,
}

pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    disconnected: mpsc::UnboundedReceiver<()>,
}

impl Server {
    /// Starts a server that runs `scripts` in order, one per connection. Further connections are
    /// closed at once.
    pub(crate) async fn scripted(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (report, disconnected) = mpsc::unbounded_channel();
        let record = Arc::clone(&requests);
        tokio::spawn(async move {
            let mut scripts = scripts.into_iter();
            while let Ok((socket, _)) = listener.accept().await {
                let script = scripts.next().unwrap_or_default();
                tokio::spawn(serve(socket, script, Arc::clone(&record), report.clone()));
            }
        });
        Self { addr, requests, disconnected }
    }

    /// Starts a server that answers the first connection with this response.
    pub(crate) async fn responding(response: Vec<u8>) -> Self {
        Self::scripted(vec![vec![Step::Send(response)]]).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns the requests so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until the client of an `UntilDisconnect` step has disconnected.
    pub(crate) async fn client_disconnected(&mut self) {
        self.disconnected.recv().await.unwrap();
    }
}

async fn serve(
    mut socket: TcpStream,
    script: Vec<Step>,
    record: Arc<Mutex<Vec<String>>>,
    disconnected: mpsc::UnboundedSender<()>,
) {
    let Some(request) = read_request(&mut socket).await else { return };
    record.lock().unwrap().push(request);
    for step in script {
        match step {
            Step::Send(bytes) => {
                // In some tests the client disconnects early.
                if socket.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Step::UntilDisconnect => {
                let mut rest = Vec::new();
                let _ = socket.read_to_end(&mut rest).await;
                let _ = disconnected.send(());
            }
            Step::Reset => {
                socket.set_zero_linger().unwrap();
                return;
            }
        }
    }
    let _ = socket.shutdown().await;
}

pub(crate) async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = socket.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.trim().parse::<usize>().ok())
            .unwrap_or(0);
        if body.len() >= length {
            return Some(text);
        }
    }
}

/// Returns a response with a body of known length.
pub(crate) fn response(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = head(status, headers, Some(body.len()));
    bytes.extend_from_slice(body);
    bytes
}

/// Returns the head of an event stream that ends with the connection.
pub(crate) fn stream_head() -> Vec<u8> {
    head("200 OK", &[("content-type", "text/event-stream")], None)
}

fn head(status: &str, headers: &[(&str, &str)], length: Option<usize>) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(length) = length {
        text.push_str(&format!("content-length: {length}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}
