//! Input that no client should send.

use pi_ai::faux::Reply;
use serde_json::json;

use crate::client::Stage;

#[tokio::test]
async fn bad_input_is_answered_and_ends_nothing() {
    let stage = Stage::new();
    let mut client = stage.connect(1);
    client.send_line("not JSON").await;
    client.until(|frame| frame["error"]["code"] == -32700).await;
    client.send_line("[1, 2]").await;
    client.send_line("").await;
    client.send_line(r#"{"jsonrpc":"2.0","id":"x","result":{}}"#).await;
    let error = client.call("session/new", json!({ "cwd": "/", "mcpServers": [] })).await;
    assert_eq!(error.unwrap_err()["code"], -32600);
    let error = client.call("initialize", json!({ "protocolVersion": "one" })).await;
    assert_eq!(error.unwrap_err()["code"], -32602);
    let params = json!({ "protocolVersion": 1, "clientCapabilities": 7, "new": true });
    client.call("initialize", params).await.unwrap();
    client.notify("session/cancel", json!({ "sessionId": "none" })).await;
    client.notify("session/cancel", json!(["x"])).await;
    client.notify("$/cancel_request", json!({ "requestId": {} })).await;
    client.notify("_unknown", json!({})).await;
    let cwd = stage.project();
    let cases = [
        ("_x/unknown", json!({}), -32601),
        ("session/load", json!({ "sessionId": "none", "cwd": cwd, "mcpServers": [] }), -32002),
        ("session/new", json!({ "cwd": "relative", "mcpServers": [] }), -32602),
        ("session/new", json!({ "cwd": cwd.join("none"), "mcpServers": [] }), -32602),
        ("session/new", json!({}), -32602),
        ("session/new", json!({ "cwd": cwd, "mcpServers": [{ "name": "x" }] }), -32602),
        (
            "session/new",
            json!({ "cwd": cwd, "mcpServers": [
                { "type": "sse", "name": "x", "url": "http://a.example", "headers": [] },
            ] }),
            -32602,
        ),
        ("session/prompt", json!({ "sessionId": "none", "prompt": [] }), -32002),
        ("session/list", json!({ "cursor": "x" }), -32602),
        ("authenticate", json!({ "methodId": "none" }), -32602),
        ("authenticate", json!({ "methodId": "pi-credentials" }), -32000),
    ];
    for (method, params, code) in cases {
        let error = client.call(method, params.clone()).await.unwrap_err();
        assert_eq!(error["code"], code, "{method} {params}");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    client.call("logout", json!({})).await.unwrap();
    let session = client.new_session(&cwd).await;
    let audio = json!([{ "type": "audio", "data": "", "mimeType": "audio/wav" }]);
    let params = json!({ "sessionId": session, "prompt": audio });
    let error = client.call("session/prompt", params).await.unwrap_err();
    assert_eq!(error["code"], -32602);
    stage.model.push(Reply::new().text("Still here."));
    client.prompt(&session, "hello?").await.unwrap();
    assert_eq!(client.text("agent_message_chunk"), "Still here.");
}

#[tokio::test]
async fn a_client_that_asks_for_more_or_less_gets_what_there_is() {
    for (requested, given) in [(0, 1), (1, 1), (2, 2), (9, 2)] {
        let stage = Stage::new();
        let mut client = stage.connect(given);
        let params = json!({ "protocolVersion": requested, "clientInfo": null });
        let answer = client.call("initialize", params).await.unwrap();
        assert_eq!(answer["protocolVersion"], given);
    }
}

#[tokio::test]
async fn what_was_answered_before_the_end_of_the_input_is_saved() {
    let stage = Stage::new();
    stage.model.push(Reply::new().text("Kept."));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let prompt = json!([{ "type": "text", "text": "keep this" }]);
    client.start("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await;
    client.until(|frame| frame["params"]["update"]["content"]["text"] == "Kept.").await;
    client.close().await;
    let mut client = stage.client(1, json!({})).await;
    let params = json!({ "sessionId": session, "cwd": stage.project(), "mcpServers": [] });
    client.call("session/load", params).await.unwrap();
    assert_eq!(client.text("agent_message_chunk"), "Kept.");
}

#[tokio::test]
async fn invisible_characters_of_an_answer_do_not_reach_the_editor() {
    let stage = Stage::new();
    // Hidden letters and a change of direction; the joiner of the emoji stays.
    let text = "a\u{e0041}\u{e0042}b \u{202e}c\u{1b}[8m \u{1f468}\u{200d}\u{1f469}\n";
    stage.model.push(Reply::new().text(text));
    let mut client = stage.client(1, json!({})).await;
    let session = client.new_session(&stage.project()).await;
    let prompt = json!([{ "type": "text", "text": "say it" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    client.call("session/prompt", params).await.unwrap();
    let shown = "ab c[8m \u{1f468}\u{200d}\u{1f469}\n";
    assert_eq!(client.text("agent_message_chunk"), shown);
    client.close().await;
    let mut client = stage.client(1, json!({})).await;
    let params = json!({ "sessionId": session, "cwd": stage.project(), "mcpServers": [] });
    client.call("session/load", params).await.unwrap();
    assert_eq!(client.text("agent_message_chunk"), shown);
}
