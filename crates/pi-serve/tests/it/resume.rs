//! Connections that are cut at any byte, clients that stall, servers that start again: every client
//! ends with exactly the entries of the file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pi_ai::faux::Reply;
use pi_serve::entrance::Right;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

use crate::home::{Client, Home, TestServer, View, entries};

/// A generator of numbers (xorshift), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A relay to a server. It cuts each connection after a random number of bytes.
struct Relay {
    address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
    cuts: Arc<AtomicUsize>,
}

impl Relay {
    async fn start(target: SocketAddr, seed: u64, most: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (target, cuts) = (Arc::new(Mutex::new(target)), Arc::<AtomicUsize>::default());
        let (to, counted) = (Arc::clone(&target), Arc::clone(&cuts));
        tokio::spawn(async move {
            let mut random = Random(seed);
            while let Ok((near, _)) = listener.accept().await {
                let (to, bytes) = (*to.lock().unwrap(), random.below(most));
                let counted = Arc::clone(&counted);
                tokio::spawn(async move {
                    if let Ok(far) = TcpStream::connect(to).await {
                        relay(near, far, bytes).await;
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        Self { address, target, cuts }
    }
}

/// Passes bytes on in both directions until the server has sent a number of them.
async fn relay(near: TcpStream, far: TcpStream, mut bytes: u64) {
    let (mut from_client, mut to_client) = near.into_split();
    let (mut from_server, mut to_server) = far.into_split();
    let down = async {
        let mut buffer = [0; 4096];
        while bytes > 0 {
            let Ok(read @ 1..) = from_server.read(&mut buffer).await else { return };
            let passed = read.min(usize::try_from(bytes).unwrap());
            if to_client.write_all(&buffer[..passed]).await.is_err() {
                return;
            }
            bytes -= passed as u64;
        }
    };
    tokio::select! {
        () = down => {}
        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
    }
}

/// Follows a session through a relay until it has `length` entries.
async fn follow(
    address: SocketAddr,
    token: String,
    session: String,
    mut length: watch::Receiver<Option<usize>>,
) -> View {
    let mut view = View::of(&session);
    let has_all = |view: &View, length: &watch::Receiver<Option<usize>>| {
        length.borrow().is_some_and(|length| view.entries.len() >= length)
    };
    while !has_all(&view, &length) {
        view.flight = None;
        let Ok(mut client) = Client::connect(address, &token).await else {
            // Cut in the handshake, or the server starts again.
            tokio::task::yield_now().await;
            continue;
        };
        if client.sender.send(&view.attach()).await.is_err() {
            continue;
        }
        while !has_all(&view, &length) {
            let frame = tokio::select! {
                frame = client.receiver.next() => frame,
                _ = length.changed() => continue,
            };
            let Some(Ok(frame)) = frame else { break };
            if frame["type"] == "response" {
                assert_eq!(frame["success"], true, "{frame}");
                assert!(frame["data"]["length"].as_u64().unwrap() >= view.entries.len() as u64);
                continue;
            }
            view.take(&frame);
        }
    }
    view
}

async fn work(home: &Home, server: &TestServer, driver: &str, session: &str, prompts: usize) {
    let mut client = server.client(driver).await;
    client.ask(json!({ "type": "attach", "sessionId": session, "plain": true })).await;
    for number in 0..prompts {
        let text = format!("wörd{number} ").repeat(150);
        home.model.push(Reply::new().thinking("hm").text(text).chunks_of(7));
        let prompt = json!({ "type": "prompt", "message": format!("question {number}") });
        client.ask(prompt).await;
        client.settled().await;
    }
}

fn file(server: &TestServer, session: &str) -> PathBuf {
    server.host.with_log(session).unwrap().session().unwrap().file().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_and_a_restart_lose_and_double_nothing() {
    let home = Home::new();
    let server = home.serve().await;
    let (driver, viewer) =
        (server.token("driver", Right::Drive, None), server.token("viewer", Right::View, None));
    let session = server.client(&driver).await.open().await;
    let (length, known) = watch::channel(None);
    let (mut relays, mut clients) = (Vec::new(), Vec::new());
    for (seed, most) in [(1, 8_000), (2, 12_000), (3, 20_000), (4, 60_000), (5, 200_000)] {
        let relay = Relay::start(server.address, 0x9e37_79b9 * seed, most).await;
        let following = follow(relay.address, viewer.clone(), session.clone(), known.clone());
        clients.push(tokio::spawn(following));
        relays.push(relay);
    }
    work(&home, &server, &driver, &session, 40).await;
    let path = file(&server, &session);
    // The clients reconnect to a server that has not opened the session yet.
    server.stop().await;
    let server = home.serve().await;
    for relay in &relays {
        *relay.target.lock().unwrap() = server.address;
    }
    work(&home, &server, &driver, &session, 40).await;
    let expected = entries(&path);
    length.send_replace(Some(expected.len()));
    let (mut whole, mut cuts) = (0, 0);
    for (client, relay) in clients.into_iter().zip(&relays) {
        let view = client.await.unwrap();
        assert_eq!(view.entries, expected);
        whole += view.whole;
        cuts += relay.cuts.load(Ordering::Relaxed);
    }
    assert!(cuts >= 200, "{cuts} cuts");
    assert!(whole > 0, "some messages were seen as they were written");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_waits_for_no_client_and_a_stalled_one_is_told() {
    let home = Home::new();
    let server = home.serve().await;
    let (driver, viewer) =
        (server.token("driver", Right::Drive, None), server.token("viewer", Right::View, None));
    let mut client = server.client(&driver).await;
    let session = client.open().await;
    client.ask(json!({ "type": "detach", "sessionId": session })).await;
    client.ask(json!({ "type": "attach", "sessionId": session, "plain": true })).await;
    // A connection that takes little before it is read.
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let (near_address, far_address) = (listener.local_addr().unwrap(), server.address);
    let (go_on, mut reading) = watch::channel(true);
    tokio::spawn(async move {
        let (near, _) = listener.accept().await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let far = socket.connect(far_address).await.unwrap();
        let (mut from_client, mut to_client) = near.into_split();
        let (mut from_server, mut to_server) = far.into_split();
        tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
        let mut buffer = [0; 4096];
        loop {
            reading.wait_for(|reads| *reads).await.unwrap();
            let Ok(read @ 1..) = from_server.read(&mut buffer).await else { return };
            to_client.write_all(&buffer[..read]).await.unwrap();
        }
    });
    let mut view = View::of(&session);
    let mut slow = Client::connect(near_address, &viewer).await.unwrap();
    slow.ask(view.attach()).await;
    go_on.send_replace(false);
    let text = "0123456789".repeat(4_000);
    home.model.push(Reply::new().text(text.clone()).chunks_of(2));
    home.model.push(Reply::new().text("short"));
    for _ in 0..2 {
        client.ask(json!({ "type": "prompt", "message": "go" })).await;
        client.settled().await;
    }
    go_on.send_replace(true);
    let expected = entries(&file(&server, &session));
    for frame in std::mem::take(&mut slow.frames) {
        view.take(&frame);
    }
    while view.entries.len() < expected.len() {
        let frame = slow.receive().await;
        view.take(&frame);
    }
    assert_eq!(view.entries, expected);
    assert!(view.lags > 0, "the client was told that it missed something");
    let answers: Vec<&Value> =
        expected.iter().filter(|entry| entry["message"]["role"] == "assistant").collect();
    assert_eq!(answers[0]["message"]["content"][0]["text"], text);
    server.stop().await;
}
