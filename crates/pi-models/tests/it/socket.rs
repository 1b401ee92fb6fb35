//! An HTTP server on a real socket with scripted responses.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The reaction of the server to a request.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Successful response with this body.
    Json(String),
    /// Sends bytes, then closes the connection.
    Raw(Vec<u8>),
    /// No response, with the connection left open.
    Silence,
    /// Response with an endless body.
    Endless,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server. `answer` gets the first line and the body of each request.
    pub(crate) async fn start(
        answer: impl Fn(&str, &str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (record, answer) = (Arc::clone(&requests), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (record, answer) = (Arc::clone(&record), Arc::clone(&answer));
                tokio::spawn(async move { serve(socket, &record, &*answer).await });
            }
        });
        Self { address, requests }
    }

    /// Returns the requests so far, with header and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Returns a response with the status 404.
pub(crate) fn not_found() -> Reply {
    Reply::Raw(b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found".to_vec())
}

async fn serve(
    mut socket: TcpStream,
    record: &Mutex<Vec<String>>,
    answer: &(dyn Fn(&str, &str) -> Reply + Send + Sync),
) {
    let mut bytes = Vec::new();
    let request = loop {
        if socket.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
        });
        if body.len() >= length.unwrap_or(0) {
            break text;
        }
    };
    record.lock().unwrap().push(request.clone());
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    match answer(head.lines().next().unwrap(), body) {
        Reply::Json(body) => {
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
        }
        Reply::Raw(bytes) => {
            let _ = socket.write_all(&bytes).await;
        }
        Reply::Silence => {
            // Waits until the client gives up.
            let _ = socket.read_buf(&mut Vec::new()).await;
        }
        Reply::Endless => {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            while socket.write_all(&[b' '; 65536]).await.is_ok() {}
        }
    }
}
