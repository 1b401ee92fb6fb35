//! Servers over pipes that are broken or hostile: each costs its own requests only.

use std::sync::Arc;

use pi_mcp::client::{CallOptions, ClientError};
use serde_json::{Map, Value, json};

use crate::fake::{Notes, legacy, modern};

#[tokio::test]
async fn noise_and_second_answers_do_not_disturb_a_call() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    for _ in 0..2 {
        let calling = {
            let client = client.clone();
            tokio::spawn(
                async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
            )
        };
        let request = fake.next().await;
        fake.send_text("Server is running!\n\n[1,2]\n\u{1b}[31m\n").await;
        fake.notify("notifications/progress", json!({ "progressToken": 77, "progress": 1 })).await;
        fake.notify("notifications/unknown", json!({})).await;
        fake.send(json!({ "jsonrpc": "2.0", "id": 4711, "result": {} })).await;
        fake.answer(&request, json!({ "content": [] })).await;
        fake.answer(&request, json!({ "content": [{ "type": "text", "text": "again" }] })).await;
        // Nothing is said about the noise: the next message is the next request.
        let result = calling.await.expect("no panic").expect("a result");
        assert!(result.content.is_empty());
    }
}

#[tokio::test]
async fn answers_of_the_wrong_shape_are_errors_of_the_call() {
    let cases = [json!(null), json!(7), json!([]), json!({ "content": 1 })];
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    for result in cases {
        let calling = {
            let client = client.clone();
            tokio::spawn(
                async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
            )
        };
        let request = fake.next().await;
        fake.answer(&request, result.clone()).await;
        let error = calling.await.expect("no panic").expect_err("invalid");
        assert!(matches!(error, ClientError::Invalid { .. }), "{result}: {error:?}");
    }
}

#[tokio::test]
async fn content_of_unknown_kinds_is_kept() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let calling =
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        );
    let request = fake.next().await;
    let content = json!([
        { "type": "hologram", "data": 1 },
        { "type": "text" },
        { "type": "image", "data": "AA==", "mimeType": "image/png", "annotations": { "x": 1 } },
        { "type": "resource_link", "uri": "a://b", "name": "b", "size": 3 },
        { "type": "resource", "resource": { "uri": "a://b", "blob": "AA==" } },
    ]);
    fake.answer(&request, json!({ "content": content, "structuredContent": [1], "x": 2 })).await;
    let result = calling.await.expect("no panic").expect("a result");
    let written: Value = serde_json::to_value(&result).expect("JSON");
    assert_eq!(written, json!({ "content": content, "structuredContent": [1], "x": 2 }));
}

#[tokio::test]
async fn an_answer_that_is_too_long_costs_its_call_only() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let calling = {
        let client = client.clone();
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        )
    };
    let request = fake.next().await;
    let start = json!({ "jsonrpc": "2.0", "id": request["id"], "result": "" }).to_string();
    fake.send_text(start.trim_end_matches("\"}")).await;
    let block = "x".repeat(1 << 20);
    for _ in 0..100 {
        fake.send_text(&block).await;
    }
    fake.send_text("\"}\n").await;
    let error = calling.await.expect("no panic").expect_err("too long");
    assert!(matches!(error, ClientError::TooLarge(_)), "{error:?}");
    let listing = tokio::spawn(async move { client.list_tools().await });
    let request = fake.next().await;
    fake.answer(&request, json!({ "tools": [] })).await;
    assert!(listing.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn a_schema_bomb_costs_its_list_only() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = modern(&notes, json!({ "tools": {} })).await;
    let listing = {
        let client = client.clone();
        tokio::spawn(async move { client.list_tools().await })
    };
    let request = fake.next().await;
    let depth = 100_000;
    let schema = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let tool = format!("{{\"name\":\"t\",\"inputSchema\":{schema}}}");
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"tools\":[{tool}]}}}}\n",
        request["id"]
    );
    fake.send_text(&line).await;
    let error = listing.await.expect("no panic").expect_err("no message");
    assert!(matches!(error, ClientError::Remote(_)), "{error:?}");
    assert!(!client.is_closed());
}
