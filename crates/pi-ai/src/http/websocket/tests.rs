//! The limits on the age and the waiting time of a socket, with a server that counts connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use pi_protocol::StreamOptions;
use pi_web::WebClient;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use super::cache::SocketCache;
use super::open;
use crate::http::HttpClient;
use crate::wire::socket::{SocketKey, SocketRequest};

const LONG: Duration = Duration::from_secs(3600);

/// Starts a server that ends every answer at once with the number of its connection, and reports the
/// end of each connection.
async fn serve() -> (SocketAddr, mpsc::UnboundedReceiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (ended, endings) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for number in 0.. {
            let (socket, _) = listener.accept().await.unwrap();
            let ended = ended.clone();
            tokio::spawn(async move {
                let mut socket = tokio_tungstenite::accept_async(socket).await.unwrap();
                while let Some(Ok(message)) = socket.next().await {
                    if message.is_text() {
                        let end = json!({
                            "type": "response.completed",
                            "response": {"id": format!("connection {number}")},
                        });
                        let _ = socket.send(Message::text(end.to_string())).await;
                    }
                }
                let _ = ended.send(number);
            });
        }
    });
    (addr, endings)
}

fn client(idle: Duration, age: Duration) -> HttpClient {
    let web = WebClient::new(Arc::new(|_: &str| None));
    HttpClient { web, sockets: SocketCache::with_limits(idle, age) }
}

/// Sends a request and returns the id of the response, which names the connection.
async fn ask(http: &HttpClient, addr: SocketAddr) -> String {
    let url = format!("http://{addr}/");
    let key = SocketKey { session: "s".to_owned(), account: "a".to_owned(), url: url.clone() };
    let body = json!({"input": []});
    let request = SocketRequest { url, headers: Default::default(), body, key: Some(key) };
    let Ok(body) = open(http, &request, &StreamOptions::default(), true).await else {
        panic!("no answer");
    };
    let id = body.recorded_id();
    body.keep();
    id
}

#[tokio::test]
async fn a_socket_is_used_again() {
    let (addr, _) = serve().await;
    let http = client(LONG, LONG);
    for _ in 0..3 {
        assert_eq!(ask(&http, addr).await, "connection 0");
    }
}

#[tokio::test]
async fn an_old_socket_is_replaced_and_closed() {
    let (addr, mut endings) = serve().await;
    let http = client(LONG, Duration::ZERO);
    assert_eq!(ask(&http, addr).await, "connection 0");
    assert_eq!(ask(&http, addr).await, "connection 1");
    assert_eq!(endings.recv().await, Some(0));
}

#[tokio::test]
async fn a_socket_that_waits_too_long_is_closed() {
    let (addr, mut endings) = serve().await;
    let http = client(Duration::from_millis(1), LONG);
    assert_eq!(ask(&http, addr).await, "connection 0");
    assert_eq!(endings.recv().await, Some(0));
    assert_eq!(ask(&http, addr).await, "connection 1");
}

#[tokio::test]
async fn the_last_client_closes_its_sockets() {
    let (addr, mut endings) = serve().await;
    let http = client(LONG, LONG);
    let clone = http.clone();
    assert_eq!(ask(&http, addr).await, "connection 0");
    drop(http);
    assert_eq!(ask(&clone, addr).await, "connection 0");
    drop(clone);
    assert_eq!(endings.recv().await, Some(0));
}
