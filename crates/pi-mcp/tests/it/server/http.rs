//! Clients of both eras over HTTP.

use pi_mcp::server::HttpOptions;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::{answer, initialize, legacy, modern, server};

/// A server on a port of its own.
pub(super) struct Running {
    pub(super) port: u16,
    pub(super) reports: tokio::sync::mpsc::UnboundedReceiver<&'static str>,
}

pub(super) async fn start(options: HttpOptions) -> Running {
    let (server, reports) = server();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("address").port();
    tokio::spawn(async move { server.serve_http(listener, options).await });
    Running { port, reports }
}

/// A response while it arrives.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: String,
    reader: BufReader<TcpStream>,
}

impl Running {
    /// Sends a request. HTTP/1.0: the body of the response ends with the connection.
    pub(super) async fn send(&self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("connect");
        let mut head = format!("{method} /mcp HTTP/1.0\r\n");
        let mut all = vec![("host", "127.0.0.1"), ("content-type", "application/json")];
        all.push(("accept", "application/json, text/event-stream"));
        all.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
        for (name, value) in all.iter().chain(headers).filter(|(_, value)| !value.is_empty()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !headers.iter().any(|(name, _)| *name == "content-length") {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.expect("write");
        stream.write_all(body).await.expect("write");
        let mut reader = BufReader::new(stream);
        let mut headers = String::new();
        while reader.read_line(&mut headers).await.expect("head") > 2 {}
        let status = headers.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer { status: status.expect("status"), headers, reader }
    }

    /// Sends a request of a modern client.
    async fn modern(&self, request: &Value) -> Answer {
        let headers = modern_headers(request);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.send("POST", &headers, request.to_string().as_bytes()).await
    }

    /// Sends a message of an old client.
    pub(super) async fn legacy(&self, session: &str, message: &Value) -> Answer {
        let headers = [("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")];
        self.send("POST", &headers, message.to_string().as_bytes()).await
    }

    pub(super) async fn session(&self) -> String {
        let answer = self.send("POST", &[], initialize("2025-11-25").to_string().as_bytes()).await;
        let id = answer.header("mcp-session-id");
        answer.json().await;
        id
    }
}

pub(super) fn modern_headers(request: &Value) -> Vec<(&'static str, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    vec![
        ("mcp-protocol-version", super::MODERN.to_owned()),
        ("mcp-method", text(&request["method"])),
        ("mcp-name", text(&request["params"]["name"])),
    ]
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> String {
        let mut lines = self.headers.lines();
        let value = lines.find_map(|line| line.strip_prefix(&format!("{name}: ")));
        value.unwrap_or_else(|| panic!("no {name} in {}", self.headers)).to_owned()
    }

    pub(super) async fn json(mut self) -> Value {
        let mut text = String::new();
        self.reader.read_to_string(&mut text).await.expect("body");
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{}{text}", self.headers))
    }

    /// Returns the next event with its id; `None` at the end.
    pub(super) async fn event(&mut self) -> Option<(String, Value)> {
        let (mut id, mut line) = (String::new(), String::new());
        loop {
            line.clear();
            if self.reader.read_line(&mut line).await.expect("event") == 0 {
                return None;
            }
            if let Some(value) = line.strip_prefix("id: ") {
                value.trim().clone_into(&mut id);
            }
            let data = line.strip_prefix("data: ").map(str::trim);
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                return Some((id, serde_json::from_str(data).expect("JSON")));
            }
        }
    }
}

#[tokio::test]
async fn a_modern_call_is_one_request() {
    let http = start(HttpOptions::default()).await;
    let request = modern(1, "tools/call", json!({ "name": "echo", "arguments": { "a": "b" } }));
    let answer = http.modern(&request).await;
    assert_eq!((answer.status, answer.header("content-type").as_str()), (200, "application/json"));
    assert_eq!(answer.json().await["result"]["content"][0]["text"], r#"{"a":"b"}"#);
}

#[tokio::test]
async fn a_modern_call_with_progress_is_a_stream_and_continues_with_answers() {
    let http = start(HttpOptions::default()).await;
    let mut request = modern(1, "tools/call", json!({ "name": "greet", "arguments": {} }));
    let mut stream = http.modern(&request).await;
    assert_eq!(stream.header("content-type"), "text/event-stream");
    let (_, progress) = stream.event().await.expect("progress");
    assert_eq!(progress["method"], "notifications/progress");
    let (_, asked) = stream.event().await.expect("result");
    assert_eq!(asked["result"]["resultType"], "input_required");
    assert!(stream.event().await.is_none());
    request["params"]["requestState"] = asked["result"]["requestState"].clone();
    request["params"]["inputResponses"] = json!({ "who": answer("Ada") });
    let done = http.modern(&request).await.json().await;
    assert_eq!(done["result"]["content"][0]["text"], "Hello, \"Ada\"");
}

#[tokio::test]
async fn a_modern_client_that_goes_away_cancels_its_call() {
    let mut http = start(HttpOptions::default()).await;
    let stream = http.modern(&modern(1, "tools/call", json!({ "name": "wait" }))).await;
    assert_eq!(http.reports.recv().await, Some("started"));
    drop(stream);
    assert_eq!(http.reports.recv().await, Some("cancelled"));
}

#[tokio::test]
async fn an_old_client_answers_questions_in_requests_of_its_own() {
    let http = start(HttpOptions::default()).await;
    let session = http.session().await;
    let call = legacy(2, "tools/call", json!({ "name": "greet" }));
    let mut stream = http.legacy(&session, &call).await;
    let (_, question) = stream.event().await.expect("question");
    assert_eq!(question["method"], "elicitation/create");
    let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer("Bob") });
    assert_eq!(http.legacy(&session, &reply).await.status, 202);
    let (_, done) = stream.event().await.expect("result");
    assert_eq!(done["result"]["content"][0]["text"], "Hello, \"Bob\"");
}

#[tokio::test]
async fn an_old_client_comes_back_for_the_rest_of_a_stream() {
    let http = start(HttpOptions::default()).await;
    let session = http.session().await;
    let call = legacy(2, "tools/call", json!({ "name": "greet" }));
    let mut stream = http.legacy(&session, &call).await;
    let (last, question) = stream.event().await.expect("question");
    drop(stream);
    let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer("Bob") });
    assert_eq!(http.legacy(&session, &reply).await.status, 202);
    let headers = [("mcp-session-id", session.as_str()), ("last-event-id", last.as_str())];
    let mut rest = http.send("GET", &headers, b"").await;
    let (_, done) = rest.event().await.expect("result");
    assert_eq!(done["result"]["content"][0]["text"], "Hello, \"Bob\"");
    assert!(rest.event().await.is_none());
}

#[tokio::test]
async fn an_old_client_hears_about_changes_and_cancels_calls() {
    let mut http = start(HttpOptions::default()).await;
    let session = http.session().await;
    let mut standing = http.send("GET", &[("mcp-session-id", session.as_str())], b"").await;
    assert_eq!(standing.status, 200);
    let change = legacy(2, "tools/call", json!({ "name": "change" }));
    assert_eq!(http.legacy(&session, &change).await.status, 200);
    let (_, notice) = standing.event().await.expect("notice");
    assert_eq!(notice["method"], "notifications/resources/list_changed");

    let mut call = legacy(3, "tools/call", json!({ "name": "wait" }));
    call["params"]["_meta"] = json!({ "progressToken": 1 });
    let mut stream = http.legacy(&session, &call).await;
    assert_eq!(http.reports.recv().await, Some("started"));
    let cancel = json!({ "requestId": 3 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel });
    assert_eq!(http.legacy(&session, &cancel).await.status, 202);
    assert_eq!(http.reports.recv().await, Some("cancelled"));
    while let Some((_, event)) = stream.event().await {
        assert!(event.get("result").is_none(), "{event}");
    }
}

#[tokio::test]
async fn a_deleted_session_is_gone() {
    let http = start(HttpOptions::default()).await;
    let session = http.session().await;
    let list = legacy(2, "tools/list", json!({}));
    assert_eq!(http.legacy(&session, &list).await.status, 200);
    let headers = [("mcp-session-id", session.as_str())];
    assert_eq!(http.send("DELETE", &headers, b"").await.status, 204);
    assert_eq!(http.legacy(&session, &list).await.status, 404);
    assert_eq!(http.send("DELETE", &headers, b"").await.status, 404);
}
