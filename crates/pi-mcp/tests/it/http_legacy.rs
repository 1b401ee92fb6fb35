//! Legacy conversations over HTTP: sessions, streams, questions.

use std::sync::Arc;

use pi_mcp::client::{CallOptions, Client, ClientError, ClientOptions, ConnectError};
use pi_mcp::protocol::Era;
use pi_mcp::transport::{Http, Transport};
use pi_web::WebClient;
use serde_json::{Map, json};
use tokio::task::JoinHandle;

use crate::fake::{Notes, options};
use crate::web::Web;

pub(crate) fn http(web: &Web) -> Http {
    Http::new(web.url.clone(), WebClient::new(Arc::new(|_| None)))
}

pub(crate) fn connect(
    web: &Web,
    options: ClientOptions,
) -> JoinHandle<Result<Client, ConnectError>> {
    tokio::spawn(Client::connect(Transport::Http(http(web)), options))
}

/// A connected client with the session `one`.
async fn session(notes: &Arc<Notes>, web: &mut Web) -> Client {
    let connecting = connect(web, options(notes));
    web.initialize("one").await;
    web.next_of("GET").await.status(405).await;
    connecting.await.expect("no panic").expect("connected")
}

#[tokio::test]
async fn a_session_connects_the_requests_and_is_ended() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = session(&notes, &mut web).await;
    assert_eq!(client.facts().era, Era::Legacy);
    let listing = {
        let client = client.clone();
        tokio::spawn(async move { client.list_tools().await })
    };
    let request = web.next_of("POST").await;
    assert_eq!(request.header("mcp-session-id"), Some("one"));
    assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
    assert!(request.header("user-agent").is_some_and(|agent| agent == "test/1"));
    request.answer(&json!({ "tools": [{ "name": "t", "inputSchema": {} }] })).await;
    assert_eq!(listing.await.expect("no panic").expect("a list").items.len(), 1);
    let closing = tokio::spawn(async move { client.close().await });
    let end = web.next_of("DELETE").await;
    assert_eq!(end.header("mcp-session-id"), Some("one"));
    end.status(204).await;
    closing.await.expect("no panic");
}

#[tokio::test]
async fn a_stream_carries_progress_and_questions_before_the_answer() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = session(&notes, &mut web).await;
    let seen = Arc::new(Notes::default());
    let on_progress = Arc::clone(&seen);
    let call = CallOptions {
        on_progress: Some(Arc::new(move |progress| {
            pi_mcp::client::Handler::problem(&*on_progress, &progress.message.unwrap_or_default());
        })),
        ..CallOptions::default()
    };
    let calling = {
        let client = client.clone();
        tokio::spawn(async move { client.call_tool("t", Map::new(), &call).await })
    };
    let request = web.next_of("POST").await;
    let id = request.body["id"].clone();
    let mut body = request.open("text/event-stream; charset=utf-8").await;
    assert!(body.write(": hello\n\n").await);
    let progress = json!({ "progressToken": id, "progress": 1, "message": "half" });
    body.event(
        &json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress }),
    )
    .await;
    body.event(&json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list" })).await;
    let answer = web.next_of("POST").await;
    assert_eq!(answer.body["id"], "q");
    assert_eq!(answer.body["result"]["roots"][0]["uri"], "file:///work");
    answer.status(202).await;
    // Nonsense and foreign answers cost nothing.
    assert!(body.write("data: {nonsense\n\nevent: other\ndata: 1\n\n").await);
    body.event(&json!({ "jsonrpc": "2.0", "id": 999, "result": {} })).await;
    body.event(&json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } })).await;
    assert!(calling.await.expect("no panic").is_ok());
    assert_eq!(seen.all(), ["problem half"]);
    assert!(notes.all().contains(&"problem a response to no open request".to_owned()));
}

#[tokio::test]
async fn a_broken_stream_is_resumed() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = session(&notes, &mut web).await;
    let calling =
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        );
    let request = web.next_of("POST").await;
    let id = request.body["id"].clone();
    let mut body = request.open("text/event-stream").await;
    assert!(body.write("id: 7\nretry: 0\ndata:\n\n").await);
    drop(body);
    let resumed = web.next_of("GET").await;
    assert_eq!(resumed.header("last-event-id"), Some("7"));
    assert_eq!(resumed.header("mcp-session-id"), Some("one"));
    // The answer is cut off, and comes again whole.
    let mut body = resumed.open("text/event-stream").await;
    assert!(body.write("id: 8\n\nid: 9\ndata: {\"jsonrpc\":\"2.0\",\"id\"").await);
    drop(body);
    let resumed = web.next_of("GET").await;
    assert_eq!(resumed.header("last-event-id"), Some("8"));
    let mut body = resumed.open("text/event-stream").await;
    body.event(&json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } })).await;
    assert!(calling.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn what_the_server_sends_by_itself_comes_on_its_own_stream() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let connecting = connect(&web, options(&notes));
    web.initialize("one").await;
    let request = web.next_of("GET").await;
    assert_eq!(request.header("accept"), Some("text/event-stream"));
    let mut body = request.open("text/event-stream").await;
    let _client = connecting.await.expect("no panic").expect("connected");
    body.event(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })).await;
    notes.wait_for("changed Tools").await;
}

#[tokio::test]
async fn a_lost_session_is_renewed_once() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = session(&notes, &mut web).await;
    let calling = {
        let client = client.clone();
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        )
    };
    web.next_of("POST").await.status(404).await;
    web.initialize("two").await;
    let request = web.next_of("POST").await;
    assert_eq!(request.body["method"], "tools/call");
    assert_eq!(request.header("mcp-session-id"), Some("two"));
    request.status(404).await;
    assert_eq!(calling.await.expect("no panic"), Err(ClientError::SessionLost));
}

/// A request during the new handshake waits for it, and the stream of the old session ends.
#[tokio::test]
async fn a_new_session_replaces_the_old_one() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let connecting = connect(&web, options(&notes));
    web.initialize("one").await;
    let old_stream = web.next_of("GET").await.open("text/event-stream").await;
    let client = connecting.await.expect("no panic").expect("connected");
    let list = |client: &Client| {
        let client = client.clone();
        tokio::spawn(async move { client.list_tools().await })
    };
    let first = list(&client);
    web.next_of("POST").await.status(404).await;
    let handshake = web.next_of("POST").await;
    assert_eq!(handshake.body["method"], "initialize");
    let second = list(&client);
    // A request that does not wait would be sent before this task runs again.
    tokio::task::yield_now().await;
    let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "serverInfo": { "name": "old", "version": "2" } });
    handshake.answer_with(&[("mcp-session-id", "two")], &result).await;
    old_stream.closed().await;
    let initialized = web.next().await;
    assert_eq!(initialized.body["method"], "notifications/initialized");
    initialized.status(202).await;
    let stream = web.next().await;
    assert_eq!((stream.method.as_str(), stream.header("mcp-session-id")), ("GET", Some("two")));
    stream.status(405).await;
    for _ in 0..2 {
        let request = web.next_of("POST").await;
        assert_eq!(request.header("mcp-session-id"), Some("two"));
        request.answer(&json!({ "tools": [] })).await;
    }
    assert!(first.await.expect("no panic").is_ok() && second.await.expect("no panic").is_ok());
}

/// A handshake that fails leaves a session that the next request renews.
#[tokio::test]
async fn a_failed_renewal_is_repeated() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = session(&notes, &mut web).await;
    let list = |client: &Client| {
        let client = client.clone();
        tokio::spawn(async move { client.list_tools().await })
    };
    let listing = list(&client);
    web.next_of("POST").await.status(404).await;
    web.next_of("POST").await.status(400).await;
    assert!(listing.await.expect("no panic").is_err());
    let listing = list(&client);
    let request = web.next_of("POST").await;
    assert_eq!(request.header("mcp-session-id"), Some("one"));
    request.status(404).await;
    web.initialize("two").await;
    web.next_of("POST").await.answer(&json!({ "tools": [] })).await;
    assert!(listing.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn a_cancelled_call_is_announced() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = session(&notes, &mut web).await;
    let cancel = pi_protocol::CancelToken::new();
    let call = CallOptions::cancelled_by(cancel.clone());
    let calling = tokio::spawn(async move { client.call_tool("t", Map::new(), &call).await });
    let request = web.next_of("POST").await;
    cancel.cancel();
    assert_eq!(calling.await.expect("no panic"), Err(ClientError::Cancelled));
    let cancelled = web.next_of("POST").await;
    assert_eq!(cancelled.body["method"], "notifications/cancelled");
    assert_eq!(cancelled.body["params"]["requestId"], request.body["id"]);
}
