//! Conversations over pipes, of both eras.

use std::sync::Arc;
use std::time::Duration;

use pi_mcp::client::{CallOptions, ClientError, ConnectError};
use pi_mcp::protocol::{Era, LoggingLevel};
use pi_protocol::CancelToken;
use serde_json::{Map, Value, json};

use crate::fake::{Notes, discovered, legacy, legacy_with, modern, options, start};

fn arguments(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

#[tokio::test]
async fn a_legacy_server_is_initialized_after_the_probe() {
    for (answer, text) in [(-32601, "Method not found"), (-32000, "Not initialized")] {
        let notes = Arc::new(Notes::default());
        let (connecting, mut fake) = start(options(&notes));
        let probe = fake.next().await;
        assert_eq!(probe["method"], "server/discover");
        let meta = &probe["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        fake.fail(&probe, answer, text).await;
        fake.initialize("2025-06-18", json!({ "tools": { "listChanged": true } })).await;
        let facts = connecting.await.expect("no panic").expect("connected").facts();
        assert_eq!((facts.era, facts.version.as_str()), (Era::Legacy, "2025-06-18"));
        assert_eq!(facts.server.expect("a name").name, "old");
        assert!(facts.capabilities.tools.expect("tools").list_changed);
    }
}

#[tokio::test]
async fn a_modern_server_needs_no_handshake() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = modern(&notes, json!({ "tools": {} })).await;
    let facts = client.facts();
    assert_eq!((facts.era, facts.version.as_str()), (Era::Modern, "2026-07-28"));
    assert_eq!(facts.server.expect("a name").name, "new");
    assert_eq!(facts.instructions.as_deref(), Some("Use it."));
    let listing = tokio::spawn(async move { client.list_tools().await });
    let request = fake.next().await;
    assert_eq!(request["method"], "tools/list");
    let meta = &request["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "test");
    let offered = &meta["io.modelcontextprotocol/clientCapabilities"];
    assert!(offered["elicitation"].is_object());
    assert!(offered["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    let page = json!({
        "resultType": "complete", "ttlMs": 5, "cacheScope": "public",
        "tools": [{ "name": "a", "inputSchema": { "type": "object" }, "icons": [1] }, { "x": 1 }],
    });
    fake.answer(&request, page).await;
    let list = listing.await.expect("no panic").expect("a list");
    assert_eq!(list.items.len(), 1);
    assert_eq!(list.items[0].extra["icons"], json!([1]));
    assert_eq!((list.ttl_ms, list.problems.len()), (Some(5), 1));
}

#[tokio::test]
async fn a_silent_server_is_asked_in_both_manners() {
    for is_modern in [false, true] {
        let notes = Arc::new(Notes::default());
        let mut options = options(&notes);
        options.probe_wait = Duration::from_millis(1);
        let (connecting, mut fake) = start(options);
        let probe = fake.next().await;
        if is_modern {
            assert_eq!(fake.next().await["method"], "initialize");
            fake.answer(&probe, discovered(&json!({}))).await;
        } else {
            fake.initialize("2024-11-05", json!({})).await;
        }
        let facts = connecting.await.expect("no panic").expect("connected").facts();
        assert_eq!(facts.era, if is_modern { Era::Modern } else { Era::Legacy });
    }
}

#[tokio::test]
async fn a_known_era_saves_the_probe_and_may_be_wrong() {
    let notes = Arc::new(Notes::default());
    let mut options = options(&notes);
    options.known_era = Some(Era::Legacy);
    let (connecting, mut fake) = start(options.clone());
    fake.initialize("2025-03-26", json!({})).await;
    assert_eq!(connecting.await.expect("no panic").expect("connected").facts().era, Era::Legacy);

    let (connecting, mut fake) = start(options);
    let handshake = fake.next().await;
    fake.fail(&handshake, -32601, "no").await;
    let probe = fake.next().await;
    fake.answer(&probe, discovered(&json!({}))).await;
    assert_eq!(connecting.await.expect("no panic").expect("connected").facts().era, Era::Modern);
}

#[tokio::test]
async fn unknown_versions_are_refused() {
    let notes = Arc::new(Notes::default());
    let (connecting, mut fake) = start(options(&notes));
    let probe = fake.next().await;
    fake.fail(&probe, -32601, "no").await;
    let request = fake.next().await;
    let result = json!({
        "protocolVersion": "1999-01-01", "capabilities": {},
        "serverInfo": { "name": "x", "version": "" },
    });
    fake.answer(&request, result).await;
    let error = connecting.await.expect("no panic").expect_err("refused");
    assert_eq!(error, ConnectError::Versions("1999-01-01".to_owned()));

    let (connecting, mut fake) = start(options(&notes));
    let probe = fake.next().await;
    let error = json!({ "code": -32022, "message": "no", "data": { "supported": ["2031-01-01"] } });
    fake.send(json!({ "jsonrpc": "2.0", "id": probe["id"], "error": error })).await;
    let error = connecting.await.expect("no panic").expect_err("refused");
    assert_eq!(error, ConnectError::Versions("2031-01-01".to_owned()));
}

#[tokio::test]
async fn a_server_that_ends_at_the_probe_is_told_apart() {
    let notes = Arc::new(Notes::default());
    let (connecting, mut fake) = start(options(&notes));
    fake.next().await;
    drop(fake);
    let error = connecting.await.expect("no panic").expect_err("ended");
    assert!(matches!(error, ConnectError::EndedAtProbe(_)), "{error:?}");
}

#[tokio::test]
async fn calls_report_progress_and_can_be_cancelled() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let seen = Arc::new(Notes::default());
    let cancel = CancelToken::new();
    let mut call = CallOptions::cancelled_by(cancel.clone());
    let on_progress = Arc::clone(&seen);
    call.on_progress = Some(Arc::new(move |progress| {
        pi_mcp::client::Handler::problem(&*on_progress, &progress.message.unwrap_or_default());
    }));
    let calling = {
        let (client, call) = (client.clone(), call.clone());
        tokio::spawn(
            async move { client.call_tool("t", arguments(&json!({ "a": 1 })), &call).await },
        )
    };
    let request = fake.next().await;
    assert_eq!(request["params"]["arguments"], json!({ "a": 1 }));
    assert_eq!(request["params"]["_meta"]["progressToken"], request["id"]);
    let progress =
        json!({ "progressToken": request["id"], "progress": 1, "total": 2, "message": "half" });
    fake.notify("notifications/progress", progress).await;
    seen.wait_for("problem half").await;
    fake.answer(&request, json!({ "content": [{ "type": "text", "text": "done" }] })).await;
    let result = calling.await.expect("no panic").expect("a result");
    assert_eq!(result.content[0].as_text(), Some("done"));

    let calling = tokio::spawn(async move { client.call_tool("t", Map::new(), &call).await });
    let request = fake.next().await;
    cancel.cancel();
    assert_eq!(calling.await.expect("no panic"), Err(ClientError::Cancelled));
    let cancelled = fake.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn a_call_without_an_answer_times_out() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let call = CallOptions { timeout: Some(Duration::from_millis(1)), ..CallOptions::default() };
    let error = client.call_tool("t", Map::new(), &call).await.expect_err("late");
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error:?}");
    let request = fake.next().await;
    assert_eq!(fake.next().await["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn questions_of_a_legacy_server_are_answered() {
    let notes = Arc::new(Notes::default());
    let (_client, mut fake) = legacy(&notes).await;
    let schema =
        json!({ "type": "object", "properties": { "n": { "type": "integer", "default": 3 } } });
    let cases = [
        ("ping", json!({}), json!({})),
        ("roots/list", json!({}), json!({ "roots": [{ "uri": "file:///work" }] })),
        (
            "sampling/createMessage",
            json!({ "maxTokens": 7, "messages": [
                { "role": "user", "content": { "type": "text", "text": "2+2" } } ] }),
            json!({ "role": "assistant", "content": { "type": "text", "text": "four" }, "model": "m" }),
        ),
        (
            "elicitation/create",
            json!({ "message": "how many", "requestedSchema": schema }),
            json!({ "action": "accept", "content": { "n": 3 } }),
        ),
    ];
    for (method, params, expected) in cases {
        fake.send(json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params }))
            .await;
        let answer = fake.next().await;
        assert_eq!(answer["id"], method);
        assert_eq!(answer["result"], expected, "{method}");
    }
    fake.send(json!({ "jsonrpc": "2.0", "id": 9, "method": "no/such" })).await;
    assert_eq!(fake.next().await["error"]["code"], -32601);
    fake.notify("notifications/elicitation/complete", json!({ "elicitationId": "e1" })).await;
    fake.notify("notifications/message", json!({ "level": "warning", "data": "hm" })).await;
    notes.wait_for("log warning \"hm\"").await;
    assert!(notes.all().contains(&"elicited e1".to_owned()));
}

#[tokio::test]
async fn a_question_can_be_withdrawn() {
    let notes = Arc::new(Notes::default());
    let (_client, mut fake) = legacy(&notes).await;
    let question = json!({ "message": "wait" });
    fake.send(
        json!({ "jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": question }),
    )
    .await;
    notes.wait_for("elicit wait").await;
    fake.notify("notifications/cancelled", json!({ "requestId": 5 })).await;
    let answer = fake.next().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(5), &json!(-32603)));
}

#[tokio::test]
async fn what_was_not_offered_is_refused() {
    let notes = Arc::new(Notes::default());
    let mut options = options(&notes);
    options.capabilities = pi_mcp::protocol::ClientCapabilities::default();
    let (_client, mut fake) = legacy_with(options, json!({})).await;
    for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
        fake.send(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} })).await;
        assert_eq!(fake.next().await["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn a_modern_server_asks_by_its_result() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = modern(&notes, json!({ "tools": {} })).await;
    let calling = tokio::spawn(async move {
        client.call_tool("t", arguments(&json!({ "a": 1 })), &CallOptions::default()).await
    });
    let first = fake.next().await;
    let questions = json!({
        "q1": { "method": "elicitation/create", "params": { "message": "who", "requestedSchema":
            { "type": "object", "properties": { "name": { "type": "string", "default": "x" } } } } },
        "q2": { "method": "roots/list" },
    });
    let required = json!({
        "resultType": "input_required", "inputRequests": questions, "requestState": "opaque",
    });
    fake.answer(&first, required).await;
    let second = fake.next().await;
    assert_ne!(second["id"], first["id"]);
    let params = &second["params"];
    assert_eq!(params["requestState"], "opaque");
    assert_eq!(params["arguments"], json!({ "a": 1 }));
    let answers = &params["inputResponses"];
    assert_eq!(answers["q1"], json!({ "action": "accept", "content": { "name": "x" } }));
    assert_eq!(answers["q2"]["roots"][0]["uri"], "file:///work");
    // The state of an earlier round is not repeated.
    fake.answer(
        &second,
        json!({ "resultType": "input_required", "inputRequests": {
        "q3": { "method": "roots/list" } } }),
    )
    .await;
    let third = fake.next().await;
    assert!(third["params"].get("requestState").is_none());
    assert!(third["params"]["inputResponses"].get("q1").is_none());
    fake.answer(&third, json!({ "resultType": "complete", "content": [] })).await;
    assert!(calling.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn endless_questions_end() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = modern(&notes, json!({ "tools": {} })).await;
    let calling =
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        );
    let asked = json!({ "resultType": "input_required", "inputRequests": {
        "q": { "method": "roots/list" } } });
    for _ in 0..21 {
        let request = fake.next().await;
        fake.answer(&request, asked.clone()).await;
    }
    let error = calling.await.expect("no panic").expect_err("too many");
    assert!(matches!(error, ClientError::Invalid { .. }), "{error:?}");
}

#[tokio::test]
async fn all_pages_are_read_but_not_for_ever() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let listing = {
        let client = client.clone();
        tokio::spawn(async move { client.list_prompts().await })
    };
    for (cursor, next) in [(None, Some("a")), (Some("a"), Some("b")), (Some("b"), None)] {
        let request = fake.next().await;
        assert_eq!(request["params"]["cursor"].as_str(), cursor);
        let mut page = json!({ "prompts": [{ "name": format!("p{cursor:?}") }] });
        if let Some(next) = next {
            page["nextCursor"] = json!(next);
        }
        fake.answer(&request, page).await;
    }
    assert_eq!(listing.await.expect("no panic").expect("a list").items.len(), 3);

    let listing = tokio::spawn(async move { client.list_resources().await });
    for _ in 0..2 {
        let request = fake.next().await;
        fake.answer(&request, json!({ "resources": [], "nextCursor": "same" })).await;
    }
    let error = listing.await.expect("no panic").expect_err("endless");
    assert!(matches!(error, ClientError::Invalid { .. }), "{error:?}");
}

#[tokio::test]
async fn a_storm_of_changes_is_one_change() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let storm =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n".repeat(5000);
    fake.send_text(&storm).await;
    fake.notify("notifications/message", json!({ "level": "info", "data": 1 })).await;
    notes.wait_for("log info 1").await;
    notes.wait_for("changed Tools").await;
    let reactions = notes.all().iter().filter(|note| *note == "changed Tools").count();
    assert!(reactions < 100, "{reactions}");
    client.close().await;
}

#[tokio::test]
async fn the_log_level_is_chosen_in_the_manner_of_the_era() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let setting = tokio::spawn(async move { client.set_log_level(LoggingLevel::Error).await });
    let request = fake.next().await;
    assert_eq!(request["method"], "logging/setLevel");
    assert_eq!(request["params"]["level"], "error");
    fake.answer(&request, json!({})).await;
    setting.await.expect("no panic").expect("set");

    let (client, mut fake) = modern(&notes, json!({})).await;
    client.set_log_level(LoggingLevel::Debug).await.expect("set");
    let reading =
        tokio::spawn(async move { client.read_resource("a://b", &CallOptions::default()).await });
    let request = fake.next().await;
    assert_eq!(request["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "debug");
    fake.answer(&request, json!({ "contents": [{ "uri": "a://b", "text": "t" }] })).await;
    let read = reading.await.expect("no panic").expect("read");
    assert_eq!(read.contents[0].text.as_deref(), Some("t"));
}

#[tokio::test]
async fn the_death_of_a_server_fails_its_calls_only() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let calling = {
        let client = client.clone();
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        )
    };
    fake.next().await;
    drop(fake);
    let error = calling.await.expect("no panic").expect_err("dead");
    assert!(matches!(error, ClientError::Closed(_)), "{error:?}");
    notes.wait_for("closed the other side closed the connection").await;
    assert!(client.is_closed());
}

#[tokio::test]
async fn a_tool_that_must_be_a_task_is_called_as_one() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let calling = tokio::spawn(async move {
        client.list_tools().await.expect("a list");
        client.call_tool("slow", Map::new(), &CallOptions::default()).await
    });
    let request = fake.next().await;
    let execution = json!({ "taskSupport": "required" });
    let tool = json!({ "name": "slow", "inputSchema": {}, "execution": execution });
    fake.answer(&request, json!({ "tools": [tool] })).await;
    let request = fake.next().await;
    assert_eq!(request["params"]["task"], json!({}));
    let state = |status: &str| {
        json!({ "taskId": "k", "status": status, "createdAt": "", "lastUpdatedAt": "",
            "ttl": null, "pollInterval": 1 })
    };
    fake.answer(&request, json!({ "task": state("working") })).await;
    for status in ["working", "completed"] {
        let request = fake.next().await;
        assert_eq!(
            (&request["method"], &request["params"]["taskId"]),
            (&json!("tasks/get"), &json!("k"))
        );
        fake.answer(&request, state(status)).await;
    }
    let request = fake.next().await;
    assert_eq!(request["method"], "tasks/result");
    fake.answer(&request, json!({ "content": [{ "type": "text", "text": "done" }] })).await;
    let result = calling.await.expect("no panic").expect("a result");
    assert_eq!(result.content[0].as_text(), Some("done"));
}

#[tokio::test]
async fn a_url_is_opened_before_a_call_is_repeated() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let calling =
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        );
    let request = fake.next().await;
    let url = json!({ "mode": "url", "message": "sign in", "url": "https://example.com/",
        "elicitationId": "e1" });
    let error = json!({ "code": -32042, "message": "first", "data": { "elicitations": [url] } });
    fake.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    notes.wait_for("elicit sign in").await;
    fake.notify("notifications/elicitation/complete", json!({ "elicitationId": "e1" })).await;
    let request = fake.next().await;
    assert_eq!(request["method"], "tools/call");
    let again = json!({ "code": -32042, "message": "again", "data": { "elicitations": [] } });
    fake.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": again })).await;
    let error = calling.await.expect("no panic").expect_err("refused");
    assert!(error.to_string().contains("again"), "{error}");
}
