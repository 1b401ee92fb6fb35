//! The server with the client of this crate, in both eras and over both transports.

use std::sync::Arc;

use pi_mcp::client::{CallOptions, Client, ClientError};
use pi_mcp::protocol::Era;
use pi_mcp::server::HttpOptions;
use pi_mcp::transport::{Http, Stdio, Transport};
use pi_protocol::CancelToken;
use pi_web::WebClient;
use serde_json::{Map, Value, json};
use tokio::io::split;
use tokio::sync::mpsc::UnboundedReceiver;

use super::http::start;
use super::server;
use crate::fake::{Notes, options};

/// Connects to a new server.
async fn connect(over_http: bool, era: Era) -> (Client, UnboundedReceiver<&'static str>) {
    let (transport, reports) = if over_http {
        let running = start(HttpOptions::default()).await;
        let url = format!("http://127.0.0.1:{}/mcp", running.port).parse().expect("a URL");
        let web = WebClient::new(Arc::new(|_| None));
        (Transport::Http(Http::new(url, web)), running.reports)
    } else {
        let (server, reports) = server();
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let (reader, writer) = split(far);
            server.serve_pipes(reader, writer).await;
        });
        let (reader, writer) = split(near);
        (Transport::Stdio(Stdio::new(reader, writer)), reports)
    };
    let mut options = options(&Arc::new(Notes::default()));
    options.known_era = Some(era);
    let client = Client::connect(transport, options).await.expect("connected");
    assert_eq!(client.facts().era, era);
    (client, reports)
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    let result = client.call_tool(tool, arguments, &CallOptions::default()).await;
    let result = serde_json::to_value(result.expect("a result")).expect("JSON");
    result["content"][0]["text"].as_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_conversation_works_in_both_eras() {
    for over_http in [false, true] {
        for era in [Era::Legacy, Era::Modern] {
            let (client, _reports) = connect(over_http, era).await;
            assert_eq!(client.facts().instructions.as_deref(), Some("Use it."));
            assert_eq!(client.list_tools().await.expect("tools").items.len(), 450);
            let echoed = text(&client, "echo", json!({ "a": 1 })).await;
            assert_eq!(echoed, r#"{"a":1}"#, "{over_http} {era:?}");
            let greeted = text(&client, "greet", json!({})).await;
            assert_eq!(greeted, "Hello, \"Ada\"", "{over_http} {era:?}");
            let none = client.call_tool("none", Map::new(), &CallOptions::default()).await;
            assert!(matches!(none, Err(ClientError::Remote(error)) if error.code == -32602));
            client.close().await;
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_at_the_server() {
    for over_http in [false, true] {
        for era in [Era::Legacy, Era::Modern] {
            let (client, mut reports) = connect(over_http, era).await;
            let cancel = CancelToken::new();
            let calling = {
                let (client, options) = (client.clone(), CallOptions::cancelled_by(cancel.clone()));
                tokio::spawn(async move { client.call_tool("wait", Map::new(), &options).await })
            };
            assert_eq!(reports.recv().await, Some("started"), "{over_http} {era:?}");
            cancel.cancel();
            assert_eq!(reports.recv().await, Some("cancelled"), "{over_http} {era:?}");
            assert!(calling.await.expect("no panic").is_err());
        }
    }
}
