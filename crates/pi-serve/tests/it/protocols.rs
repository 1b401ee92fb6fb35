//! The Agent Client Protocol and the Model Context Protocol on the listener of the server.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use pi_ai::faux::Reply;
use pi_mcp::BoxFuture;
use pi_mcp::server::{About, Context, Listing, Offers, Server, Service, text_result};
use pi_serve::entrance::Right;
use pi_web::client::{WebBody, WebClient, WebRequest};
use pi_web::http::{HeaderMap, Method};
use pi_web::websocket::{Handshake, Message, WebSocket};
use serde_json::{Map, Value, json};

use crate::home::{Home, TestServer};

fn web() -> WebClient {
    WebClient::new(Arc::new(|_: &str| None))
}

async fn socket(server: &TestServer, token: &str) -> Result<WebSocket, u16> {
    let url = format!("http://{}/acp", server.address);
    let pool = web().upgradable_pool(&url, None).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
    let handshake = Handshake::begin(&mut headers).unwrap();
    let response = pool.send(Method::GET, &url, headers, None).await.unwrap();
    match response.status().as_u16() {
        101 => Ok(handshake.finish(response).await.unwrap()),
        status => Err(status),
    }
}

/// Sends a request and returns its response; other messages are kept.
async fn call(socket: &mut WebSocket, seen: &mut Vec<Value>, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
    // A message may have line breaks.
    socket.send(Message::text(serde_json::to_string_pretty(&request).unwrap())).await.unwrap();
    loop {
        let Message::Text(text) = socket.next().await.unwrap().unwrap() else { continue };
        let message: Value = serde_json::from_str(text.as_str()).unwrap();
        if message["id"] == method {
            return message["result"].clone();
        }
        seen.push(message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_client_protocol_is_served_to_administrators() {
    let options = pi_acp::Options {
        version: "1.2.3".to_owned(),
        least_profile: None,
        client_files: false,
        client_terminal: false,
        sign_in_arguments: Vec::new(),
        sign_in_hint: "set a key".to_owned(),
    };
    let home = Home { acp: Some(options), ..Home::new() };
    let server = home.serve().await;
    let approver = server.token("approver", Right::Approve, None);
    assert_eq!(socket(&server, &approver).await.err(), Some(403));
    let mut socket = socket(&server, &server.token("admin", Right::Admin, None)).await.unwrap();
    let mut seen = Vec::new();
    let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    let started = call(&mut socket, &mut seen, "initialize", params).await;
    assert_eq!(started["protocolVersion"], 1);
    let params = json!({ "cwd": home.project(), "mcpServers": [] });
    let id = call(&mut socket, &mut seen, "session/new", params).await["sessionId"].clone();
    // A client of the other protocol sees what happens in the session.
    let mut viewer = server.client_with("viewer", Right::View).await;
    viewer.ask(json!({ "type": "attach", "sessionId": id })).await;
    home.model.push(Reply::new().text("line one\nline two"));
    let prompt = json!({ "sessionId": id, "prompt": [{ "type": "text", "text": "hi" }] });
    let end = call(&mut socket, &mut seen, "session/prompt", prompt).await;
    assert_eq!(end["stopReason"], "end_turn");
    let texts = seen.iter().filter_map(|one| one["params"]["update"]["content"]["text"].as_str());
    assert_eq!(texts.collect::<String>(), "line one\nline two");
    viewer.settled().await;
    socket.close(None).await.unwrap();
    while socket.next().await.is_some_and(|message| message.is_ok()) {}
    // No other client needs the session.
    viewer.until(|frame| frame["type"] == "session_state" && frame["state"] == "stored").await;
    server.stop().await;
}

struct Greeter;

impl Service for Greeter {
    fn about(&self) -> About {
        let offers = Offers { tools: true, ..Offers::default() };
        About { name: "greeter".to_owned(), version: "1".to_owned(), offers, ..About::default() }
    }

    fn list(&self, _: Listing) -> BoxFuture<'_, Result<Vec<Value>, pi_jsonrpc::Error>> {
        let tool = json!({ "name": "greet", "inputSchema": { "type": "object" } });
        Box::pin(std::future::ready(Ok(vec![tool])))
    }

    fn call_tool(
        &self,
        _: String,
        _: Map<String, Value>,
        _: Context,
    ) -> BoxFuture<'_, Result<Value, pi_jsonrpc::Error>> {
        Box::pin(std::future::ready(Ok(text_result("hello"))))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_context_protocol_is_behind_the_gate_of_the_server() {
    let mcp = Server::new(Arc::new(Greeter)).http_handler();
    let home = Home { mcp: Some(mcp), ..Home::new() };
    let server = home.serve().await;
    let post = async |token: &str, host: &str| {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" } },
        });
        let headers = [
            ("authorization", format!("Bearer {token}")),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("host", host.to_owned()),
        ];
        let request = WebRequest {
            method: "POST".to_owned(),
            url: format!("http://{}/mcp", server.address),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            body: WebBody::Bytes(body.to_string().into_bytes()),
        };
        let mut response = web().send(request).await.unwrap();
        let mut text = Vec::new();
        while let Some(part) = response.chunk().await.unwrap() {
            text.extend_from_slice(&part);
        }
        (response.status, String::from_utf8(text).unwrap())
    };
    let program = server.token("program", Right::Approve, None);
    let (status, text) = post(&program, "localhost").await;
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("\"greeter\""), "{text}");
    let driver = server.token("driver", Right::Drive, None);
    assert_eq!(post(&driver, "localhost").await.0, 403);
    assert_eq!(post(&program, "evil.example").await.0, 421);
    assert_eq!(post("wrong", "localhost").await.0, 401);
    server.stop().await;
    // A server without the services has no such addresses.
    let server = Home::new().serve().await;
    let admin = server.token("admin", Right::Admin, None);
    assert_eq!(socket(&server, &admin).await.err(), Some(404));
    server.stop().await;
}
