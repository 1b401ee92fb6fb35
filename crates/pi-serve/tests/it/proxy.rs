//! `/api/stream` beside a scripted provider: the key of the server, the events that the client of
//! pi-agent-core reads, and what is refused.

use std::sync::{Arc, Mutex};

use pi_serve::entrance::Right;
use pi_web::client::{WebBody, WebClient, WebRequest};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::home::{Home, TestServer};

/// A provider of the format of chat completions, and the requests that it has got.
struct Provider {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Starts a provider that answers each request with these events.
async fn provider(events: Vec<Value>) -> Provider {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let known = Arc::clone(&requests);
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = Vec::new();
            let is_whole = |request: &[u8]| {
                let text = String::from_utf8_lossy(request).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
                let head = head.to_lowercase();
                let length =
                    head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                length.is_none_or(|length| body.len() >= length.trim().parse().unwrap())
            };
            while !is_whole(&request) {
                if socket.read_buf(&mut request).await.unwrap() == 0 {
                    break;
                }
            }
            known.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let answer = format!("{head}{events}data: [DONE]\n\n");
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    Provider { url, requests }
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    let usage = if finish.is_null() {
        Value::Null
    } else {
        json!({ "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 })
    };
    json!({ "id": "c", "object": "chat.completion.chunk", "model": "m", "usage": usage,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

fn answer() -> Vec<Value> {
    let call = json!({ "tool_calls": [{ "index": 0, "id": "call-1", "type": "function",
        "function": { "name": "weather", "arguments": "{\"city\":" } }] });
    let rest = json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "\"Wien\"}" } }] });
    vec![
        chunk(&json!({ "role": "assistant", "reasoning_content": "hm" }), &Value::Null),
        chunk(&json!({ "content": "Grüß " }), &Value::Null),
        chunk(&json!({ "content": "Gott" }), &Value::Null),
        chunk(&call, &Value::Null),
        chunk(&rest, &Value::Null),
        chunk(&json!({}), &"tool_calls".into()),
    ]
}

/// Writes a provider with a key into the files of the user.
fn configure(home: &Home, url: &str) {
    let models = json!({ "providers": { "scripted": {
        "baseUrl": url, "api": "openai-completions", "apiKey": "key-of-the-server",
        "models": [{ "id": "m", "name": "M", "reasoning": true, "input": ["text"], "contextWindow": 1000,
            "maxTokens": 100, "cost": { "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 } }],
    } } });
    std::fs::write(home.agent().join("models.json"), models.to_string()).unwrap();
}

fn request(model: &str) -> Value {
    json!({
        // What a client says about the model beside its name leads nowhere.
        "model": { "provider": "scripted", "id": model, "baseUrl": "http://127.0.0.1:1", "api": "x" },
        "context": { "messages": [{ "role": "user", "content": "hi", "timestamp": 1 }] },
        "options": { "temperature": 0.5, "samplingParams": { "model": "other", "top_k": 3 } },
    })
}

async fn post(server: &TestServer, token: &str, body: &Value) -> (u16, String) {
    let web = WebClient::new(Arc::new(|_: &str| None));
    let headers = [
        ("authorization", format!("Bearer {token}")),
        ("content-type", "application/json".to_owned()),
    ];
    let request = WebRequest {
        method: "POST".to_owned(),
        url: format!("http://{}/api/stream", server.address),
        headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        body: WebBody::Bytes(body.to_string().into_bytes()),
    };
    let mut response = web.send(request).await.unwrap();
    let mut text = Vec::new();
    while let Some(part) = response.chunk().await.unwrap() {
        text.extend_from_slice(&part);
    }
    (response.status, String::from_utf8(text).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_streamed_with_the_key_of_the_server() {
    let home = Home::new();
    let provider = provider(answer()).await;
    configure(&home, &provider.url);
    let server = home.serve().await;
    let token = server.token("program", Right::Drive, None);
    let (status, text) = post(&server, &token, &request("m")).await;
    assert_eq!(status, 200, "{text}");
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = [
        "start",
        "thinking_start",
        "thinking_delta",
        "text_start",
        "text_delta",
        "text_delta",
        "toolcall_start",
        "toolcall_delta",
        "toolcall_delta",
        "thinking_end",
        "text_end",
        "toolcall_end",
        "done",
    ];
    assert_eq!(kinds, expected, "{text}");
    assert!(events.iter().all(|event| event.get("partial").is_none()));
    assert_eq!(events[6]["toolName"], "weather");
    assert_eq!(events[11]["toolCall"]["arguments"], json!({ "city": "Wien" }));
    assert_eq!(events[12]["reason"], "toolUse");
    assert_eq!(events[12]["usage"]["output"], 3);
    let sent = provider.requests.lock().unwrap().pop().unwrap();
    assert!(sent.to_lowercase().contains("authorization: bearer key-of-the-server"), "{sent}");
    assert!(sent.contains("\"top_k\":3") && sent.contains("\"model\":\"m\""), "{sent}");
    assert!(!text.contains("key-of-the-server"));
    // The client of pi-agent-core shows the text in `error`.
    let (status, text) = post(&server, &token, &request("unknown")).await;
    assert_eq!(
        (status, text.as_str()),
        (404, r#"{"error":"this server cannot use the model scripted/unknown"}"#)
    );
    let (status, _) = post(&server, &token, &json!({ "model": {} })).await;
    assert_eq!(status, 400);
    let viewer = server.token("viewer", Right::View, None);
    assert_eq!(post(&server, &viewer, &request("m")).await.0, 403);
    let guest = server.token("guest", Right::Drive, Some("session"));
    assert_eq!(post(&server, &guest, &request("m")).await.0, 403);
    server.stop().await;
}

/// Reads an answer with the client of pi-agent-core and prints the message that it builds.
const CLIENT: &str = r#"
const [, directory, proxyUrl, authToken, id] = process.argv;
const { streamProxy } = await import(`${directory}/node_modules/@earendil-works/pi-agent-core/dist/proxy.js`);
const model = { provider: "scripted", id, api: "openai-completions" };
const context = { messages: [{ role: "user", content: "hi", timestamp: 1 }] };
const stream = streamProxy(model, context, { proxyUrl, authToken, temperature: 0.5 });
const kinds = [];
for await (const event of stream) kinds.push(event.type);
console.log(JSON.stringify({ kinds, message: await stream.result() }));
"#;

/// The directory has `node_modules` with pi-agent-core and pi-ai of npm, of which the client uses
/// the streams.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs node, and pi-agent-core of npm in PI_PEER_DIR"]
async fn the_client_of_pi_agent_core_builds_the_message() {
    let directory = std::env::var("PI_PEER_DIR").expect("a directory in PI_PEER_DIR");
    let home = Home::new();
    let provider = provider(answer()).await;
    configure(&home, &provider.url);
    let server = home.serve().await;
    let token = server.token("program", Right::Drive, None);
    let url = format!("http://{}", server.address);
    let run = async |model: &str| {
        let mut node = tokio::process::Command::new("node");
        node.args(["--input-type=module", "-e", CLIENT, &directory, &url, &token, model]);
        let output = node.output().await.unwrap();
        let problem = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice::<Value>(&output.stdout).expect(&problem)
    };
    let read = run("m").await;
    let message = &read["message"];
    assert_eq!(read["kinds"].as_array().unwrap().last().unwrap(), "done", "{read}");
    assert_eq!(message["stopReason"], "toolUse");
    assert_eq!(message["content"][0]["thinking"], "hm");
    assert_eq!(message["content"][1]["text"], "Grüß Gott");
    assert_eq!(message["content"][2]["arguments"], json!({ "city": "Wien" }));
    assert_eq!(message["usage"]["output"], 3);
    let refused = run("unknown").await;
    let expected = "Proxy error: this server cannot use the model scripted/unknown";
    assert_eq!(refused["message"]["errorMessage"], expected);
    server.stop().await;
}
