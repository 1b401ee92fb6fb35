//! A client over a pipe.

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf,
};
use tokio::io::{WriteHalf, split};

use super::{answer, initialize, legacy, modern, server};

pub(super) struct Pipe {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Pipe {
    pub(super) fn new() -> (Self, tokio::sync::mpsc::UnboundedReceiver<&'static str>) {
        let (server, reports) = server();
        let (own, other) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let (reader, writer) = split(other);
            server.serve_pipes(reader, writer).await;
        });
        let (reader, writer) = split(own);
        (Self { lines: BufReader::new(reader).lines(), writer }, reports)
    }

    pub(super) async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(super) async fn send_text(&mut self, text: &str) {
        self.writer.write_all(format!("{text}\n").as_bytes()).await.expect("write");
    }

    pub(super) async fn receive(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("read").expect("a message");
        serde_json::from_str(&line).expect("JSON")
    }

    pub(super) async fn call(&mut self, message: &Value) -> Value {
        self.send(message).await;
        self.receive().await
    }
}

#[tokio::test]
async fn old_clients_get_a_version_that_both_know() {
    for (asked, given) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let (mut pipe, _) = Pipe::new();
        let response = pipe.call(&initialize(asked)).await;
        assert_eq!(response["result"]["protocolVersion"], given, "{asked}");
        assert_eq!(response["result"]["serverInfo"]["name"], "fixture");
        assert_eq!(response["result"]["capabilities"]["tools"]["listChanged"], true);
        assert!(response["result"]["capabilities"].get("prompts").is_none());
    }
}

#[tokio::test]
async fn modern_clients_discover_the_server_without_a_handshake() {
    let (mut pipe, _) = Pipe::new();
    let response = pipe.call(&modern(1, "server/discover", json!({}))).await;
    let result = &response["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"][0], super::MODERN);
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fixture");
    assert_eq!(result["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"], json!({}));
}

#[tokio::test]
async fn requests_that_cannot_be_served_are_errors() {
    let (mut pipe, _) = Pipe::new();
    let mut other = modern(3, "server/discover", json!({}));
    other["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let without = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" });
    let cases = [
        (modern(1, "no/such", json!({})), -32601),
        (modern(2, "ping", json!({})), -32601),
        (other, -32022),
        (modern(4, "tools/call", json!({})), -32602),
        (modern(5, "tools/call", json!({ "name": "nothing" })), -32602),
        (modern(6, "tools/list", json!({ "cursor": "x" })), -32602),
        (without, -32602),
        (modern(8, "tools/call", json!({ "name": "greet", "requestState": "guess" })), -32602),
        (modern(9, "prompts/list", json!({})), -32601),
    ];
    for (request, code) in cases {
        let response = pipe.call(&request).await;
        assert_eq!(response["error"]["code"], code, "{request}: {response}");
        assert_eq!(response["id"], request["id"]);
    }
    pipe.send_text("{broken").await;
    assert_eq!(pipe.receive().await["error"]["code"], -32700);
}

#[tokio::test]
async fn lists_have_pages() {
    let (mut pipe, _) = Pipe::new();
    let mut names = Vec::new();
    let mut params = json!({});
    loop {
        let response = pipe.call(&modern(1, "tools/list", params.clone())).await;
        let result = &response["result"];
        assert_eq!(result["cacheScope"], "private");
        names.extend(
            result["tools"].as_array().expect("tools").iter().map(|tool| tool["name"].clone()),
        );
        let Some(cursor) = result.get("nextCursor") else { break };
        params["cursor"] = cursor.clone();
    }
    assert_eq!(names.len(), 450);
    assert_eq!(names[449], "tool_449");
}

#[tokio::test]
async fn a_question_reaches_clients_of_both_eras() {
    let (mut pipe, _) = Pipe::new();
    let call = json!({ "name": "greet", "arguments": {} });
    pipe.send(&modern(1, "tools/call", call.clone())).await;
    let progress = pipe.receive().await;
    assert_eq!(progress["params"]["message"], "asking");
    let asked = pipe.receive().await;
    assert_eq!(asked["result"]["resultType"], "input_required");
    assert_eq!(asked["result"]["inputRequests"]["who"]["method"], "elicitation/create");
    let state = asked["result"]["requestState"].clone();
    // The state belongs to its request, and works once.
    let mut stolen = json!({ "name": "job", "arguments": {}, "requestState": state });
    let refused = pipe.call(&modern(2, "tools/call", stolen.clone())).await;
    assert_eq!(refused["error"]["code"], -32602);
    stolen["name"] = json!("greet");
    let again = pipe.call(&modern(3, "tools/call", stolen.clone())).await;
    let state = again["result"]["requestState"].clone();
    assert_ne!(state, stolen["requestState"]);
    let mut answered = call.clone();
    answered["requestState"] = state;
    answered["inputResponses"] = json!({ "who": answer("Ada") });
    let done = pipe.call(&modern(4, "tools/call", answered.clone())).await;
    assert_eq!(done["result"]["content"][0]["text"], "Hello, \"Ada\"");
    let used = pipe.call(&modern(5, "tools/call", answered)).await;
    assert_eq!(used["error"]["code"], -32602);

    pipe.call(&initialize("2025-11-25")).await;
    pipe.send(&legacy(6, "tools/call", call)).await;
    let question = pipe.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    let reply = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer("Bob") });
    let done = pipe.call(&reply).await;
    assert_eq!(done["id"], 6);
    assert_eq!(done["result"]["content"][0]["text"], "Hello, \"Bob\"");
}

#[tokio::test]
async fn a_question_needs_the_capability() {
    let (mut pipe, _) = Pipe::new();
    let mut request = modern(1, "tools/call", json!({ "name": "greet" }));
    request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    request["params"]["_meta"]["progressToken"] = Value::Null;
    let refused = pipe.call(&request).await;
    assert_eq!(refused["error"]["code"], -32021);
    let required = &refused["error"]["data"]["requiredCapabilities"];
    assert_eq!(required["elicitation"], json!({}));
}

#[tokio::test]
async fn a_cancelled_call_is_told_so() {
    let (mut pipe, mut reports) = Pipe::new();
    pipe.call(&initialize("2025-06-18")).await;
    pipe.send(&legacy(2, "tools/call", json!({ "name": "wait" }))).await;
    assert_eq!(reports.recv().await, Some("started"));
    let params = json!({ "requestId": 2 });
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    pipe.send(&cancelled).await;
    assert_eq!(reports.recv().await, Some("cancelled"));
}

#[tokio::test]
async fn a_cancellation_right_after_its_request_counts() {
    let (mut pipe, _) = Pipe::new();
    pipe.call(&initialize("2025-06-18")).await;
    let call = legacy(2, "tools/call", json!({ "name": "wait" }));
    let params = json!({ "requestId": 2 });
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    pipe.send_text(&format!("{call}\n{cancelled}")).await;
    let response = pipe.receive().await;
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(2), &json!(-32800)));
}

#[tokio::test]
async fn changes_are_told_as_asked_for() {
    let (mut pipe, _) = Pipe::new();
    let filter =
        json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": true } });
    let acknowledged = pipe.call(&modern(1, "subscriptions/listen", filter)).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({ "toolsListChanged": true }));
    pipe.send(&modern(2, "tools/call", json!({ "name": "change" }))).await;
    let (mut seen, mut answered) = (Vec::new(), false);
    while seen.is_empty() || !answered {
        let message = pipe.receive().await;
        match message.get("method") {
            Some(_) => seen.push(message),
            None => answered = true,
        }
    }
    assert_eq!(seen[0]["method"], "notifications/tools/list_changed");
    assert_eq!(seen[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
}

#[tokio::test]
async fn requests_before_the_end_of_the_input_are_answered() {
    let (mut pipe, _) = Pipe::new();
    pipe.send(&initialize("2025-11-25")).await;
    pipe.send(&legacy(2, "tools/call", json!({ "name": "echo", "arguments": { "a": 1 } }))).await;
    pipe.writer.shutdown().await.expect("shutdown");
    let mut ids = vec![pipe.receive().await["id"].clone(), pipe.receive().await["id"].clone()];
    ids.sort_by_key(|id| id.as_u64());
    assert_eq!(ids, [json!(1), json!(2)]);
    assert_eq!(pipe.lines.next_line().await.expect("end"), None);
}
