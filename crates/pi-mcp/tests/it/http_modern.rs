//! Modern conversations over HTTP: headers, change streams, tasks.

use std::sync::Arc;

use pi_mcp::client::{CallOptions, Client, ClientError};
use pi_mcp::protocol::Era;
use serde_json::{Map, Value, json};

use crate::fake::{Notes, discovered, options};
use crate::http_legacy::connect;
use crate::web::Web;

async fn modern(notes: &Arc<Notes>, web: &mut Web, capabilities: Value) -> Client {
    let connecting = connect(web, options(notes));
    let probe = web.next().await;
    assert_eq!(probe.header("mcp-method"), Some("server/discover"));
    assert_eq!(probe.header("mcp-protocol-version"), Some("2026-07-28"));
    probe.answer(&discovered(&capabilities)).await;
    let client = connecting.await.expect("no panic").expect("connected");
    assert_eq!(client.facts().era, Era::Modern);
    client
}

fn arguments(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

#[tokio::test]
async fn headers_repeat_the_request() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = modern(&notes, &mut web, json!({ "tools": {}, "resources": {} })).await;
    let listing = {
        let client = client.clone();
        tokio::spawn(async move { client.list_tools().await })
    };
    let request = web.next().await;
    assert_eq!(request.header("mcp-method"), Some("tools/list"));
    assert_eq!(request.header("mcp-name"), None);
    assert_eq!(request.header("mcp-session-id"), None);
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let bad = json!({ "type": "number", "x-mcp-header": "Region" });
    let tools = json!({ "resultType": "complete", "tools": [
        { "name": "good ü", "inputSchema": { "type": "object", "properties": { "r": region } } },
        { "name": "bad", "inputSchema": { "type": "object", "properties": { "r": bad } } },
    ] });
    request.answer(&tools).await;
    let list = listing.await.expect("no panic").expect("a list");
    assert_eq!((list.items.len(), list.problems.len()), (1, 1));

    let calling = tokio::spawn(async move {
        client
            .call_tool("good ü", arguments(&json!({ "r": "west" })), &CallOptions::default())
            .await
    });
    let request = web.next().await;
    assert_eq!(request.header("mcp-name"), Some("=?base64?Z29vZCDDvA==?="));
    assert_eq!(request.header("mcp-param-region"), Some("west"));
    request.answer(&json!({ "resultType": "complete", "content": [] })).await;
    assert!(calling.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn outdated_headers_are_learned_again() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = modern(&notes, &mut web, json!({ "tools": {} })).await;
    let calling = tokio::spawn(async move {
        client.call_tool("t", arguments(&json!({ "r": "west" })), &CallOptions::default()).await
    });
    let request = web.next().await;
    assert_eq!(request.header("mcp-param-region"), None);
    request.fail(400, -32020).await;
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let tool = json!({ "name": "t", "inputSchema": { "properties": { "r": region } } });
    web.next().await.answer(&json!({ "tools": [tool] })).await;
    let request = web.next().await;
    assert_eq!(request.header("mcp-param-region"), Some("west"));
    request.answer(&json!({ "content": [] })).await;
    assert!(calling.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn a_modern_error_is_not_taken_for_a_legacy_server() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let connecting = connect(&web, options(&notes));
    web.next().await.fail(400, -32021).await;
    let error = connecting.await.expect("no panic").expect_err("refused");
    assert!(error.to_string().contains("-32021"), "{error}");
}

#[tokio::test]
async fn closing_the_stream_cancels_the_request() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = modern(&notes, &mut web, json!({ "tools": {} })).await;
    let cancel = pi_protocol::CancelToken::new();
    let call = CallOptions::cancelled_by(cancel.clone());
    let calling = tokio::spawn(async move { client.call_tool("t", Map::new(), &call).await });
    let body = web.next().await.open("text/event-stream").await;
    cancel.cancel();
    assert_eq!(calling.await.expect("no panic"), Err(ClientError::Cancelled));
    body.closed().await;
}

#[tokio::test]
async fn changes_come_on_a_stream_that_the_client_asks_for() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = modern(&notes, &mut web, json!({ "tools": { "listChanged": true } })).await;
    let request = web.next().await;
    assert_eq!(request.body["method"], "subscriptions/listen");
    assert_eq!(request.body["params"]["notifications"], json!({ "toolsListChanged": true }));
    let mut body = request.open("text/event-stream").await;
    body.event(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })).await;
    notes.wait_for("changed Tools").await;
    // Another wish opens another stream.
    client.subscribe("a://b").await.expect("subscribed");
    body.closed().await;
    let request = web.next().await;
    let wanted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a://b"] });
    assert_eq!(request.body["params"]["notifications"], wanted);
    let mut body = request.open("text/event-stream").await;
    let updated = json!({ "uri": "a://b" });
    body.event(&json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated",
        "params": updated }))
        .await;
    notes.wait_for("changed Resource(\"a://b\")").await;
    drop(client);
    body.closed().await;
}

#[tokio::test]
async fn a_task_is_followed_to_its_result() {
    let notes = Arc::new(Notes::default());
    let mut web = Web::start().await;
    let client = modern(&notes, &mut web, json!({ "tools": {} })).await;
    let calling =
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        );
    let state = |status: &str, more: Value| {
        let mut state = json!({ "resultType": "complete", "taskId": "k", "status": status,
            "createdAt": "", "lastUpdatedAt": "", "ttlMs": null, "pollIntervalMs": 1 });
        for (name, value) in more.as_object().into_iter().flatten() {
            state[name] = value.clone();
        }
        state
    };
    web.next().await.answer(&state("working", json!({ "resultType": "task" }))).await;
    let asked = json!({ "inputRequests": { "q": { "method": "roots/list" } } });
    let request = web.next().await;
    assert_eq!(request.header("mcp-name"), Some("k"));
    request.answer(&state("input_required", asked.clone())).await;
    let update = web.next().await;
    assert_eq!(update.body["method"], "tasks/update");
    assert!(update.body["params"]["inputResponses"]["q"]["roots"].is_array());
    update.answer(&json!({ "resultType": "complete" })).await;
    // The same question is answered once.
    web.next().await.answer(&state("input_required", asked)).await;
    let done = json!({ "result": { "content": [{ "type": "text", "text": "done" }] } });
    let request = web.next().await;
    assert_eq!(request.body["method"], "tasks/get");
    request.answer(&state("completed", done)).await;
    let result = calling.await.expect("no panic").expect("a result");
    assert_eq!(result.content[0].as_text(), Some("done"));
}
