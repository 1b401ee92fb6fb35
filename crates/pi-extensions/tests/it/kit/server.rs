//! The HTTP server that the kit talks to, on a loopback port.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Starts the server and returns its port. It ends with the runtime of the test.
pub(super) async fn start() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            // A client that ends a connection early is part of the checks.
            tokio::spawn(async move {
                let _ = serve(connection).await;
            });
        }
    });
    port
}

/// A request, as far as the answers depend on it.
#[derive(Default)]
struct Request {
    method: String,
    path: String,
    content_type: Option<String>,
    test: Option<String>,
    body: Vec<u8>,
}

async fn serve(connection: TcpStream) -> std::io::Result<()> {
    let mut connection = BufReader::new(connection);
    while let Some(request) = read(&mut connection).await? {
        answer(connection.get_mut(), &request).await?;
    }
    Ok(())
}

async fn read(connection: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if connection.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut request = Request {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        ..Request::default()
    };
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let value = value.trim().to_owned();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "transfer-encoding" => is_chunked = true,
            "content-type" => request.content_type = Some(value),
            "x-test" => request.test = Some(value),
            _ => {}
        }
    }
    if is_chunked {
        loop {
            let mut line = String::new();
            connection.read_line(&mut line).await?;
            let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            let mut chunk = vec![0; size + 2];
            connection.read_exact(&mut chunk).await?;
            request.body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    } else {
        request.body = vec![0; length];
        connection.read_exact(&mut request.body).await?;
    }
    Ok(Some(request))
}

async fn answer(connection: &mut TcpStream, request: &Request) -> std::io::Result<()> {
    let json = "Content-Type: application/json\r\n";
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/text") => {
            let headers = "Content-Type: text/plain; charset=utf-8\r\nX-Probe: yes\r\n";
            send(connection, "200 OK", headers, "plain text ü\n".as_bytes()).await
        }
        ("GET", "/json") => send(connection, "200 OK", json, br#"{"a":[1,2,{"b":null}]}"#).await,
        ("GET", "/bytes") => {
            let bytes: Vec<u8> = (0..=255).collect();
            send(connection, "200 OK", "Content-Type: application/octet-stream\r\n", &bytes).await
        }
        ("GET", "/redirect") => send(connection, "302 Found", "Location: /json\r\n", b"").await,
        ("GET", "/chunks") => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            connection.write_all(head.as_bytes()).await?;
            for number in 0..3 {
                connection.write_all(format!("9\r\ndata: {number}\n\n\r\n").as_bytes()).await?;
                connection.flush().await?;
                // The chunks must arrive one by one; this is what the check is about.
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
            connection.write_all(b"0\r\n\r\n").await
        }
        ("GET", "/slow") => {
            tokio::time::sleep(Duration::from_secs(3)).await;
            send(connection, "200 OK", "", b"slow").await
        }
        ("POST", "/echo") => {
            let body = String::from_utf8_lossy(&request.body);
            let echo = json!({
                "method": request.method, "body": body,
                "type": request.content_type, "x": request.test,
            });
            send(connection, "200 OK", json, echo.to_string().as_bytes()).await
        }
        _ => send(connection, "404 Not Found", json, br#"{"error":"no such page"}"#).await,
    }
}

async fn send(
    connection: &mut TcpStream,
    status: &str,
    headers: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(body).await?;
    connection.flush().await
}
