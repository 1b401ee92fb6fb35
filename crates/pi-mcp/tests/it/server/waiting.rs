//! Calls that wait for answers, and clients that do not come back.

use serde_json::json;

use super::pipes::Pipe;
use super::{answer, initialize, legacy, modern};

#[tokio::test]
async fn progress_follows_the_request_that_the_client_waits_for() {
    let (mut pipe, _) = Pipe::new();
    let mut request = modern(1, "tools/call", json!({ "name": "steps" }));
    let asked = pipe.call(&request).await;
    request["id"] = json!(2);
    request["params"]["requestState"] = asked["result"]["requestState"].clone();
    request["params"]["inputResponses"] = json!({ "who": answer("Ada") });
    request["params"]["_meta"]["progressToken"] = json!("q");
    let progress = pipe.call(&request).await;
    assert_eq!(progress["params"]["message"], "answered", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "q");
    assert_eq!(pipe.receive().await["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_parked_call_ends_if_its_client_does_not_come_back() {
    let (mut pipe, mut reports) = Pipe::new();
    let mut request = modern(1, "tools/call", json!({ "name": "patient" }));
    let asked = pipe.call(&request).await;
    assert_eq!(asked["result"]["resultType"], "input_required");
    assert_eq!(reports.recv().await, Some("given up"));
    request["params"]["requestState"] = asked["result"]["requestState"].clone();
    assert_eq!(pipe.call(&request).await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn an_old_client_is_told_that_a_question_is_withdrawn() {
    let (mut pipe, mut reports) = Pipe::new();
    pipe.call(&initialize("2025-11-25")).await;
    let question = pipe.call(&legacy(2, "tools/call", json!({ "name": "impatient" }))).await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(reports.recv().await, Some("timed out"));
    let withdrawn = pipe.receive().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
}
