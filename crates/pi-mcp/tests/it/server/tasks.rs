//! Tasks of clients of both eras.

use std::time::Duration;

use pi_mcp::server::HttpOptions;
use serde_json::{Value, json};

use super::http::start;
use super::pipes::Pipe;
use super::{answer, initialize, legacy, modern};

#[tokio::test]
async fn a_task_goes_on_without_its_request() {
    let (mut pipe, _) = Pipe::new();
    let created = pipe.call(&modern(1, "tools/call", json!({ "name": "job" }))).await;
    assert_eq!(created["result"]["resultType"], "task");
    let task = json!({ "taskId": created["result"]["taskId"] });
    let asking = loop {
        let state = pipe.call(&modern(2, "tasks/get", task.clone())).await;
        if state["result"]["status"] == "input_required" {
            break state;
        }
    };
    assert_eq!(asking["result"]["inputRequests"]["who"]["method"], "elicitation/create");
    let mut update = task.clone();
    update["inputResponses"] = json!({ "who": answer("Eve") });
    let updated = pipe.call(&modern(3, "tasks/update", update)).await;
    assert_eq!(updated["result"]["resultType"], "complete");
    let done = loop {
        let state = pipe.call(&modern(4, "tasks/get", task.clone())).await;
        if state["result"]["status"] == "completed" {
            break state;
        }
    };
    assert_eq!(done["result"]["result"]["content"][0]["text"], "Done for \"Eve\"");
    let unknown = pipe.call(&modern(5, "tasks/get", json!({ "taskId": "x" }))).await;
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test]
async fn a_task_of_an_old_client_is_asked_for_and_waited_for() {
    let (mut pipe, _) = Pipe::new();
    pipe.call(&initialize("2025-11-25")).await;
    let refused = pipe.call(&legacy(2, "tools/call", json!({ "name": "job" }))).await;
    assert_eq!(refused["error"]["code"], -32601);
    let call = json!({ "name": "job", "task": { "ttl": 60_000 } });
    pipe.send(&legacy(3, "tools/call", call)).await;
    let (mut created, mut question) = (Value::Null, Value::Null);
    while created.is_null() || question.is_null() {
        let message = pipe.receive().await;
        match message.get("method") {
            Some(_) => question = message,
            None => created = message,
        }
    }
    assert_eq!(created["result"]["task"]["ttl"], 60_000);
    let task = json!({ "taskId": created["result"]["task"]["taskId"] });
    pipe.send(&legacy(4, "tasks/result", task)).await;
    let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer("Kim") });
    let done = pipe.call(&reply).await;
    assert_eq!(done["id"], 4);
    assert_eq!(done["result"]["content"][0]["text"], "Done for \"Kim\"");
    let listed = pipe.call(&legacy(5, "tasks/list", json!({}))).await;
    assert_eq!(listed["result"]["tasks"][0]["status"], "completed");
}

#[tokio::test]
async fn tasks_that_have_ended_make_room() {
    let (mut pipe, _) = Pipe::new();
    for number in 0..300 {
        let created = pipe.call(&modern(1, "tools/call", json!({ "name": "quick" }))).await;
        assert_eq!(created["result"]["resultType"], "task", "{number}: {created}");
        let task = json!({ "taskId": created["result"]["taskId"] });
        while pipe.call(&modern(2, "tasks/get", task.clone())).await["result"]["status"]
            != "completed"
        {}
    }
}

#[tokio::test]
async fn tasks_in_progress_make_no_room() {
    let (mut pipe, _) = Pipe::new();
    let call = modern(1, "tools/call", json!({ "name": "job" }));
    for _ in 0..256 {
        assert_eq!(pipe.call(&call).await["result"]["resultType"], "task");
    }
    assert_eq!(pipe.call(&call).await["error"]["code"], -32603);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_kept_long_enough_to_be_fetched() {
    let (mut pipe, _) = Pipe::new();
    pipe.call(&initialize("2025-11-25")).await;
    let call = json!({ "name": "quick", "task": { "ttl": 0 } });
    let created = pipe.call(&legacy(2, "tools/call", call)).await;
    assert_eq!(created["result"]["task"]["ttl"], 60_000);
    let task = json!({ "taskId": created["result"]["task"]["taskId"] });
    tokio::time::advance(Duration::from_secs(30)).await;
    let done = pipe.call(&legacy(3, "tasks/result", task.clone())).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
    tokio::time::advance(Duration::from_secs(60)).await;
    let gone = pipe.call(&legacy(4, "tasks/get", task)).await;
    assert_eq!(gone["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_task_works_on_after_a_question_without_an_answer() {
    let (mut pipe, mut reports) = Pipe::new();
    let created = pipe.call(&modern(1, "tools/call", json!({ "name": "impatient" }))).await;
    let task = json!({ "taskId": created["result"]["taskId"] });
    assert_eq!(reports.recv().await, Some("timed out"));
    let state = loop {
        let state = pipe.call(&modern(2, "tasks/get", task.clone())).await;
        if state["result"]["status"] != "input_required" {
            break state;
        }
    };
    assert_eq!(state["result"]["status"], "working");
    assert!(state["result"].get("inputRequests").is_none(), "{state}");
}

#[tokio::test]
async fn questions_reach_an_old_client_that_waits_for_the_result() {
    let http = start(HttpOptions::default()).await;
    let session = http.session().await;
    let call = legacy(2, "tools/call", json!({ "name": "job", "task": {} }));
    let created = http.legacy(&session, &call).await.json().await;
    let task = json!({ "taskId": created["result"]["task"]["taskId"] });
    let get = legacy(3, "tasks/get", task.clone());
    while http.legacy(&session, &get).await.json().await["result"]["status"] != "input_required" {}

    // Each request that waits gets the question: the earlier one may have lost it.
    let mut first = http.legacy(&session, &legacy(4, "tasks/result", task.clone())).await;
    let (_, question) = first.event().await.expect("question");
    assert_eq!(question["method"], "elicitation/create");
    let related = &question["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(*related, task);
    let mut second = http.legacy(&session, &legacy(5, "tasks/result", task.clone())).await;
    let (_, question) = second.event().await.expect("question");
    let cancel = json!({ "requestId": 4 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel });
    assert_eq!(http.legacy(&session, &cancel).await.status, 202);
    let mut last = Value::Null;
    while let Some((_, event)) = first.event().await {
        last = event;
    }
    assert_eq!((&last["id"], &last["error"]["code"]), (&json!(4), &json!(-32800)));

    let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer("Bob") });
    assert_eq!(http.legacy(&session, &reply).await.status, 202);
    let (_, done) = second.event().await.expect("result");
    assert_eq!(done["result"]["content"][0]["text"], "Done for \"Bob\"");
}
