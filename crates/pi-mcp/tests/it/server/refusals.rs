//! Requests over HTTP that are refused, each for its reason.

use pi_mcp::server::{HttpError, HttpOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::http::{modern_headers, start};
use super::{legacy, modern};

#[tokio::test]
async fn strangers_are_refused() {
    let options = HttpOptions { hosts: Vec::new(), token: Some("secret".to_owned()) };
    let http = start(options).await;
    let bearer = ("authorization", "Bearer secret");
    let body = modern(1, "server/discover", json!({}));
    let cases: &[(&[(&str, &str)], u16)] = &[
        (&[bearer], 200),
        (&[bearer, ("origin", "http://localhost:3000")], 200),
        (&[bearer, ("host", "evil.example")], 421),
        (&[bearer, ("host", "127.0.0.1.evil.example:80")], 421),
        (&[bearer, ("host", "")], 421),
        (&[bearer, ("origin", "http://evil.example")], 403),
        (&[bearer, ("origin", "null")], 403),
        (&[], 401),
        (&[("authorization", "Bearer secre")], 401),
        (&[("authorization", "Bearer secretx")], 401),
        (&[("authorization", "Basic secret")], 401),
        (&[bearer, ("content-type", "text/plain")], 415),
        (&[bearer, ("content-length", "99999999999")], 413),
    ];
    for (extra, status) in cases {
        let mut headers = modern_headers(&body);
        headers.extend(extra.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = http.send("POST", &headers, body.to_string().as_bytes()).await;
        assert_eq!(answer.status, *status, "{extra:?}");
    }
}

#[tokio::test]
async fn an_open_address_needs_a_token() {
    let (server, _) = super::server();
    let listener = TcpListener::bind("0.0.0.0:0").await.expect("bind");
    let refused = server.serve_http(listener, HttpOptions::default()).await;
    assert!(matches!(refused, Err(HttpError::TokenRequired(_))), "{refused:?}");
}

#[tokio::test]
async fn invalid_messages_are_errors() {
    let http = start(HttpOptions::default()).await;
    let list = legacy(3, "tools/list", json!({})).to_string();
    let unknown = [("mcp-session-id", "x")];
    let cases: &[(&str, &[(&str, &str)], &str, u16, i64)] = &[
        ("POST", &[], "{broken", 400, -32700),
        ("POST", &[], "[]", 400, -32600),
        ("POST", &[], r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, 400, -32600),
        ("POST", &[], &list, 400, -32600),
        ("POST", &unknown, &list, 404, -32600),
        ("POST", &[("mcp-protocol-version", "2020-01-01")], &list, 400, -32602),
        ("GET", &[], "", 400, -32600),
        ("GET", &[("accept", "application/json")], "", 406, -32600),
        ("DELETE", &unknown, "", 404, -32600),
        ("PUT", &[], "", 405, -32600),
    ];
    for (method, headers, body, status, code) in cases {
        let answer = http.send(method, headers, body.as_bytes()).await;
        let found = answer.status;
        let error = answer.json().await["error"]["code"].clone();
        assert_eq!((found, error), (*status, json!(code)), "{method} {headers:?} {body}");
    }
}

#[tokio::test]
async fn headers_must_say_the_same_as_the_body() {
    let http = start(HttpOptions::default()).await;
    let call = || modern(1, "tools/call", json!({ "name": "echo", "arguments": {} }));
    let cases: &[(&str, &str, u16, Value)] = &[
        ("mcp-method", "tools/list", 400, json!(-32020)),
        ("mcp-method", "", 400, json!(-32020)),
        ("mcp-name", "other", 400, json!(-32020)),
        ("mcp-name", "", 400, json!(-32020)),
        ("mcp-name", "=?base64?ZWNobw==?=", 200, Value::Null),
        ("mcp-protocol-version", "2025-11-25", 400, json!(-32020)),
        ("mcp-protocol-version", "", 400, json!(-32020)),
    ];
    for (header, value, status, code) in cases {
        let mut headers = modern_headers(&call());
        headers.retain(|(name, _)| name != header);
        headers.push((header, (*value).to_owned()));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = http.send("POST", &headers, call().to_string().as_bytes()).await;
        let found = answer.status;
        let error = answer.json().await["error"]["code"].clone();
        assert_eq!((found, error), (*status, code.clone()), "{header}: {value}");
    }
}

#[tokio::test]
async fn modern_requests_without_metadata_or_method_are_errors() {
    let http = start(HttpOptions::default()).await;
    let cases = [
        (legacy(1, "server/discover", json!({})), 400, -32602),
        (modern(2, "initialize", json!({})), 404, -32601),
        (modern(3, "tools/call", json!({ "name": "nothing" })), 200, -32602),
        (modern(4, "resources/read", json!({ "uri": "x:y" })), 400, -32020),
    ];
    for (request, status, code) in cases {
        let headers = modern_headers(&request);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = http.send("POST", &headers, request.to_string().as_bytes()).await;
        let found = answer.status;
        let error = answer.json().await;
        assert_eq!((found, &error["error"]["code"]), (status, &json!(code)), "{request}");
        assert_eq!(error["id"], request["id"]);
    }
}
