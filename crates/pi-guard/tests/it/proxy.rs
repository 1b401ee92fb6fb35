//! The proxy for named hosts, from the side of a client that has its socket.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use pi_guard::confine::{Proxy, host_matches};
use tempfile::TempDir;

/// A server that answers one request per connection and reports everything that it received.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) received: Receiver<String>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (report, received) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let report = report.clone();
                thread::spawn(move || answer(stream, &report));
            }
        });
        Self { port, received }
    }
}

fn answer(mut stream: TcpStream, report: &Sender<String>) {
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        received.extend_from_slice(&buffer[..count]);
        if is_complete(&String::from_utf8_lossy(&received)) {
            break;
        }
    }
    let first = String::from_utf8_lossy(&received).lines().next().unwrap_or_default().to_owned();
    let place = first.split(' ').nth(1).and_then(|path| path.strip_prefix("/to/")).map(|to| {
        format!("HTTP/1.1 302 Found\r\nLocation: http://{to}\r\nContent-Length: 0\r\n\r\n")
    });
    let plain = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n".to_owned();
    let _ = stream.write_all(place.unwrap_or(plain).as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        received.extend_from_slice(&buffer[..count]);
    }
    let _ = report.send(String::from_utf8_lossy(&received).into_owned());
}

/// Returns true if a request has arrived with its body.
fn is_complete(received: &str) -> bool {
    let Some((head, body)) = received.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    if head.contains("chunked") { body.ends_with("0\r\n\r\n") } else { body.len() >= length }
}

/// Starts a proxy that allows only these hosts.
pub(crate) fn proxy(allowed: &[&str]) -> (TempDir, Proxy) {
    let directory = tempfile::tempdir().unwrap();
    let allowed: Vec<String> = allowed.iter().map(|host| (*host).to_owned()).collect();
    let filter = move |host: &str, _| match host_matches(&allowed, host) {
        true => Ok(()),
        false => Err("it is not on the list".to_owned()),
    };
    let proxy = Proxy::start(directory.path(), Arc::new(filter)).unwrap();
    (directory, proxy)
}

/// Sends bytes to the proxy and returns the response.
fn send(proxy: &Proxy, bytes: &[u8]) -> String {
    let mut client = UnixStream::connect(proxy.socket()).unwrap();
    // The proxy may close the connection before it has read everything.
    let _ = client.write_all(bytes);
    let mut response = Vec::new();
    let _ = client.read_to_end(&mut response);
    String::from_utf8_lossy(&response).into_owned()
}

#[test]
fn an_allowed_request_arrives_in_its_plain_form() {
    let server = Server::start();
    let (_directory, proxy) = proxy(&["127.0.0.1", "localhost"]);
    for host in ["127.0.0.1", "localhost"] {
        let port = server.port;
        let head = format!(
            "GET http://{host}:{port}/a?b HTTP/1.1\r\nHost: other.test\r\nProxy-Connection: x\r\n\r\n"
        );
        let response = send(&proxy, head.as_bytes());
        assert!(response.ends_with("\r\n\r\nhello\n"), "{response}");
        let expected =
            format!("GET /a?b HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
        assert_eq!(server.received.recv().unwrap(), expected);
    }
    assert!(proxy.take_refused().is_empty());
}

#[test]
fn other_hosts_are_refused_and_reported_once() {
    let server = Server::start();
    let (_directory, proxy) = proxy(&["*.example.com", "localhost"]);
    let port = server.port;
    let heads = [
        format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: a.example.com\r\n\r\n"),
        format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"),
        format!("CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        "CONNECT Other.Test:443 HTTP/1.1\r\n\r\n".to_owned(),
    ];
    for head in &heads {
        let response = send(&proxy, head.as_bytes());
        assert!(response.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{head}: {response}");
        assert!(
            response.ends_with(" is denied by the sandbox: it is not on the list\n"),
            "{response}"
        );
    }
    let refused = proxy.take_refused();
    let named: Vec<_> = refused.iter().map(|one| (one.host.as_str(), one.port)).collect();
    assert_eq!(named, [("127.0.0.1", port), ("other.test", 443)]);
    assert_eq!(refused[0].reason, "it is not on the list");
    assert!(proxy.take_refused().is_empty());
    assert!(server.received.try_recv().is_err());
    for index in 0..200 {
        send(&proxy, format!("CONNECT h{index}.test:1 HTTP/1.1\r\n\r\n").as_bytes());
    }
    assert_eq!(proxy.take_refused().len(), 64);
}

#[test]
fn a_tunnel_can_be_closed_in_one_direction() {
    let server = Server::start();
    let (_directory, proxy) = proxy(&["localhost"]);
    let mut client = UnixStream::connect(proxy.socket()).unwrap();
    // The first bytes may arrive together with the request.
    let head = format!("CONNECT localhost:{} HTTP/1.1\r\n\r\nany", server.port);
    client.write_all(head.as_bytes()).unwrap();
    let mut connected = [0; 26];
    client.read_exact(&mut connected).unwrap();
    assert_eq!(&connected, b"HTTP/1.1 200 Connected\r\n\r\n");
    client.write_all(b"thing\r\n\r\n").unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).unwrap();
    assert!(response.ends_with("hello\n"), "{response}");
    client.write_all(b"and more").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.received.recv().unwrap(), "anything\r\n\r\nand more");
}

#[test]
fn a_second_request_is_not_passed_on() {
    let server = Server::start();
    let (_directory, proxy) = proxy(&["localhost"]);
    let line = format!("POST http://localhost:{}/ HTTP/1.1\r\n", server.port);
    let second = "GET /second HTTP/1.1\r\nHost: other.test\r\n\r\n";
    let cases = [
        ("\r\n", ""),
        ("Content-Length: 0\r\n\r\n", ""),
        ("Content-Length: 3\r\n\r\nabc", "abc"),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "0\r\n\r\n"),
        (
            "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
            "3\r\nabc\r\n0\r\n\r\n",
        ),
    ];
    for (rest, body) in cases {
        for after in ["", second] {
            let response = send(&proxy, format!("{line}{rest}{after}").as_bytes());
            assert!(response.matches("hello").count() <= 1, "{rest:?}: {response}");
            assert!(response.contains("hello") || !after.is_empty(), "{rest:?}: {response}");
            let received = server.received.recv().unwrap();
            let (_, received) = received.split_once("\r\n\r\n").unwrap();
            assert_eq!(received, body, "{rest:?}");
        }
    }
    // Ambiguous requests are refused.
    let unclear = [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 3\r\nContent-Length: 0\r\n\r\nabc",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "X: y\n\r\n\r\n",
    ];
    for rest in unclear {
        let response = send(&proxy, format!("{line}{rest}{second}").as_bytes());
        assert!(response.starts_with("HTTP/1.1 400 "), "{rest:?}: {response}");
    }
    let broken = ["\r\n", "g\r\n", "-1\r\n", "3\r\nabcd\r\n", "ffffffffffffffffff\r\n"];
    for chunk in broken {
        let rest = format!("Transfer-Encoding: chunked\r\n\r\n{chunk}{second}");
        send(&proxy, format!("{line}{rest}").as_bytes());
        let received = server.received.recv().unwrap();
        assert!(!received.contains("second"), "{chunk:?}: {received}");
    }
}

#[test]
fn heads_are_bounded_and_slow_clients_do_not_block_others() {
    let server = Server::start();
    let (_directory, proxy) = proxy(&["localhost"]);
    let good = format!("GET http://localhost:{}/ HTTP/1.1\r\n\r\n", server.port);
    let long = format!("GET http://localhost/ HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(70_000));
    assert!(send(&proxy, long.as_bytes()).starts_with("HTTP/1.1 431 "));
    let fits = format!("{}A: {}\r\n\r\n", &good[..good.len() - 2], "x".repeat(60_000));
    assert!(send(&proxy, fits.as_bytes()).ends_with("hello\n"));
    for invalid in [&b"\x16\x03\x01\x02\x00\r\n\r\n"[..], b"SSH-2.0-x\r\n\r\n", b"\xFF\r\n\r\n"] {
        assert!(send(&proxy, invalid).starts_with("HTTP/1.1 400 "));
    }
    let slow = || {
        let mut slow = UnixStream::connect(proxy.socket()).unwrap();
        slow.write_all(b"GET http://localhost").unwrap();
        slow
    };
    let mut waiting: Vec<_> = (0..100).map(|_| slow()).collect();
    assert!(send(&proxy, good.as_bytes()).ends_with("hello\n"));
    waiting.extend((0..28).map(|_| slow()));
    let response = send(&proxy, good.as_bytes());
    assert!(response.starts_with("HTTP/1.1 503 ") && response.contains("too many"), "{response}");
}

#[test]
fn dropping_the_proxy_closes_all_connections() {
    let server = Server::start();
    let (directory, proxy) = proxy(&["localhost"]);
    let socket = proxy.socket().to_owned();
    let mut tunnel = UnixStream::connect(&socket).unwrap();
    let head = format!("CONNECT localhost:{} HTTP/1.1\r\n\r\n", server.port);
    tunnel.write_all(head.as_bytes()).unwrap();
    tunnel.read_exact(&mut [0; 26]).unwrap();
    let mut waiting = UnixStream::connect(&socket).unwrap();
    drop(proxy);
    assert!(!socket.exists());
    assert!(UnixStream::connect(&socket).is_err());
    let mut response = Vec::new();
    tunnel.read_to_end(&mut response).unwrap();
    assert!(response.is_empty());
    // The waiting client is not left waiting, accepted or not.
    let _ = waiting.read_to_end(&mut response);
    assert_eq!(server.received.recv().unwrap(), "");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
