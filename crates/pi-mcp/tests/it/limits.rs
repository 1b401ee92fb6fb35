//! Limits of time and size that a server meets.

use std::sync::Arc;
use std::time::Duration;

use pi_mcp::client::{CallOptions, Client, ClientError, ConnectError};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::fake::{Notes, legacy, modern, options, start};

type Called = JoinHandle<Result<(), ClientError>>;

/// Calls a tool. A request waits 60 seconds.
fn call(client: &Client) -> Called {
    let client = client.clone();
    tokio::spawn(async move {
        client.call_tool("t", Map::new(), &CallOptions::default()).await.map(drop)
    })
}

/// The time in which the user answers a question is not time of the server.
#[tokio::test(start_paused = true)]
async fn a_question_suspends_the_limit_of_time() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let calling = call(&client);
    let request = fake.next().await;
    let question = json!({ "message": "wait", "requestedSchema": {} });
    fake.send(json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
        "params": question }))
        .await;
    notes.wait_for("elicit wait").await;
    tokio::time::advance(Duration::from_secs(3600)).await;
    fake.notify("notifications/cancelled", json!({ "requestId": "q" })).await;
    assert_eq!(fake.next().await["id"], "q");
    fake.answer(&request, json!({ "content": [] })).await;
    calling.await.expect("no panic").expect("a result");

    // Without a question the limit holds.
    let error = call(&client).await.expect("no panic").expect_err("silent");
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error:?}");
}

/// Progress extends a call, but not a list, for which others wait.
#[tokio::test(start_paused = true)]
async fn progress_does_not_extend_a_list() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let listing = tokio::spawn(async move { client.list_tools().await.map(drop) });
    let request = fake.next().await;
    let progress = json!({ "progressToken": request["id"], "progress": 1 });
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(40)).await;
        fake.notify("notifications/progress", progress.clone()).await;
        fake.notify("notifications/message", json!({ "level": "info", "data": 1 })).await;
        notes.wait_for("log info 1").await;
    }
    let error = listing.await.expect("no panic").expect_err("late");
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error:?}");
}

/// A server that starts slowly and ends at the first request is started again without it.
#[tokio::test(start_paused = true)]
async fn a_slow_server_that_ends_at_the_probe_is_told_apart() {
    let notes = Arc::new(Notes::default());
    let (connecting, mut fake) = start(options(&notes));
    assert_eq!(fake.next().await["method"], "server/discover");
    assert_eq!(fake.next().await["method"], "initialize");
    drop(fake);
    let error = connecting.await.expect("no panic").expect_err("ended");
    assert!(matches!(error, ConnectError::EndedAtProbe(_)), "{error:?}");
}

/// Over pipes, no error but the refusal of a version is a sign of the modern era.
#[tokio::test]
async fn errors_of_legacy_servers_are_not_taken_for_modern_ones() {
    for code in [-32021, -32020, -32050, -32099, -32000, 7] {
        let notes = Arc::new(Notes::default());
        let (connecting, mut fake) = start(options(&notes));
        let probe = fake.next().await;
        fake.fail(&probe, code, "what?").await;
        fake.initialize("2025-11-25", json!({})).await;
        assert!(connecting.await.expect("no panic").is_ok(), "{code}");
    }
}

/// The texts of errors are bounded, and have no control characters.
#[tokio::test]
async fn errors_do_not_quote_everything() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let long = format!("\u{1b}[2J{}", "x".repeat(1 << 20));
    let text = |long: &str| json!({ "content": long });
    for is_error in [true, false] {
        let calling = call(&client);
        let request = fake.next().await;
        match is_error {
            true => fake.fail(&request, -1, &long).await,
            false => fake.answer(&request, text(&long)).await,
        }
        let error = calling.await.expect("no panic").expect_err("failed").to_string();
        assert!(error.len() < 5_000 && !error.contains('\u{1b}'), "{}", error.len());
        assert!(error.contains("xxxx"), "{error}");
    }
    let listing = tokio::spawn(async move { client.list_tools().await });
    let request = fake.next().await;
    fake.answer(&request, json!({ "tools": [long] })).await;
    let problems = listing.await.expect("no panic").expect("a list").problems;
    assert!(problems.len() == 1 && problems[0].len() < 5_000, "{}", problems[0].len());
}

/// A message of many small values would take gigabytes.
#[tokio::test]
async fn a_message_of_millions_of_values_fails_its_call() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let calling = call(&client);
    let request = fake.next().await;
    let values = "0,".repeat(3_000_000);
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":[{values}0]}}\n", request["id"]);
    fake.send_text(&line).await;
    let error = calling.await.expect("no panic").expect_err("too many").to_string();
    assert!(error.contains("more than 2000000 values"), "{error}");
}

#[tokio::test]
async fn a_list_is_bounded_in_bytes() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    let listing = tokio::spawn(async move { client.list_prompts().await });
    let description = "x".repeat(10 << 20);
    for page in 0..4 {
        let request = fake.next().await;
        let prompt = json!({ "name": "p", "description": description });
        fake.answer(&request, json!({ "prompts": [prompt], "nextCursor": page.to_string() })).await;
    }
    let error = listing.await.expect("no panic").expect_err("too large");
    assert!(matches!(error, ClientError::TooLarge(_)), "{error:?}");
}

/// Many notices about resources cost neither memory nor the notice about tools.
#[tokio::test]
async fn notices_about_resources_are_bounded() {
    let notes = Arc::new(Notes::default());
    let (_client, mut fake) = legacy(&notes).await;
    let updated = |uri: &str| {
        let params = json!({ "uri": uri });
        let notice = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated",
            "params": params });
        format!("{notice}\n")
    };
    let mut all = updated(&"u".repeat(1 << 20));
    all.extend((0..2_000).map(|number| updated(&format!("a://{number}"))));
    all.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
    fake.send_text(&all).await;
    notes.wait_for("changed Tools").await;
    let notes = notes.all();
    assert!(notes.iter().all(|note| note.len() < 1_000));
    assert!(notes.contains(&"problem a notice about a resource without a usable URI".to_owned()));
}

/// The caller of a task may be gone when the task is to be cancelled.
#[tokio::test]
async fn a_task_is_cancelled_when_its_caller_is_gone() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = modern(&notes, json!({ "tools": {} })).await;
    let calling = call(&client);
    let request = fake.next().await;
    let task = json!({ "resultType": "task", "taskId": "k", "status": "working",
        "createdAt": "", "lastUpdatedAt": "", "ttlMs": null, "pollIntervalMs": 50 });
    fake.answer(&request, task).await;
    assert_eq!(fake.next().await["method"], "tasks/get");
    calling.abort();
    let methods: Vec<Value> = vec![fake.next().await, fake.next().await];
    let cancelled = methods.iter().find(|message| message["method"] == "tasks/cancel");
    assert_eq!(cancelled.expect("a cancellation")["params"]["taskId"], "k");
}

/// A server cannot ask without end while the user waits for one call.
#[tokio::test]
async fn the_questions_of_a_call_are_counted() {
    let notes = Arc::new(Notes::default());
    let (client, mut fake) = legacy(&notes).await;
    for _ in 0..2 {
        let calling = call(&client);
        let request = fake.next().await;
        let mut refused = 0;
        for id in 0..30 {
            let question = json!({ "message": "again?", "requestedSchema": {} });
            fake.send(json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create",
                "params": question }))
                .await;
            refused += usize::from(fake.next().await.get("error").is_some());
        }
        assert_eq!(refused, 5);
        fake.answer(&request, json!({ "content": [] })).await;
        assert!(calling.await.expect("no panic").is_ok());
    }
}
