//! The proxy: its two sides against each other over a real socket, and against the protocol.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use pi_ai::faux::{Faux, Reply};
use pi_ai::proxy::{Proxy, ProxyDecoder, read_request, response_body};
use pi_ai::wire::Decoder as _;
use pi_ai::{
    AssistantMessage, CacheRetention, CancelToken, Context, MessageBuilder, Provider, Request,
    StopReason, ThinkingLevel, complete,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::{Server, response};

/// A proxy server in front of `provider`, for one request; returns what it was asked.
async fn serve(provider: Faux) -> (String, tokio::task::JoinHandle<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let body = loop {
            let mut buffer = [0; 4096];
            let count = socket.read(&mut buffer).await.unwrap();
            bytes.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n")
                && serde_json::from_str::<Value>(body).is_ok()
            {
                assert!(head.starts_with("POST /api/stream HTTP/1.1"), "{head}");
                assert!(head.contains("Bearer user-token"), "{head}");
                break body.to_owned();
            }
        };
        let request = read_request(body.as_bytes()).unwrap();
        let mut lines = response_body(provider.stream(request, CancelToken::new()));
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        while let Some(line) = std::future::poll_fn(|cx| Pin::new(&mut lines).poll_next(cx)).await {
            if socket.write_all(line.as_bytes()).await.is_err() {
                break;
            }
        }
        serde_json::from_str(&body).unwrap()
    });
    (url, task)
}

fn comparable(message: &AssistantMessage) -> Value {
    let mut value = serde_json::to_value(message).unwrap();
    for volatile in ["timestamp", "durationMs"] {
        value.as_object_mut().unwrap().shift_remove(volatile);
    }
    value
}

#[tokio::test]
async fn the_client_rebuilds_what_the_server_streams() {
    let replies = [
        Reply::new().thinking("hm").text("héllo 😀").chunks_of(2),
        Reply::new().text("a").tool_call("read", &json!({"path": "x", "n": [1, 2]})).chunks_of(3),
        Reply::new().raw_tool_call("c", "read", "{\"broken\""),
        Reply::new().text("cut").stop_reason(StopReason::Length),
        Reply::new().text("so far").fail("429 overloaded"),
        Reply::new().text("so far").aborted(),
        Reply::new(),
    ];
    for reply in replies {
        let faux = Faux::responding(move |_| reply.clone());
        let request = faux.request(Context::new().system("Be brief.").user("hi"));
        let direct = complete(&faux, request.clone(), CancelToken::new()).await;
        let (url, server) = serve(faux.clone()).await;
        let proxied = complete(&Proxy::new(&url, "user-token"), request, CancelToken::new()).await;
        assert_eq!(comparable(&proxied), comparable(&direct));
        server.await.unwrap();
    }
}

#[tokio::test]
async fn options_travel_and_keys_do_not() {
    let faux = Faux::responding(|_| Reply::new().text("ok"));
    let mut request = faux.request(Context::new().user("hi"));
    request.options.api_key = Some("never-sent".to_owned().into());
    request.options.reasoning = Some(ThinkingLevel::High);
    request.options.temperature = Some(0.5);
    request.options.cache_retention = Some(CacheRetention::Long);
    request.options.session_id = Some("s".to_owned());
    let (url, server) = serve(faux.clone()).await;
    complete(&Proxy::new(&url, "user-token"), request, CancelToken::new()).await;
    let body = server.await.unwrap();
    assert!(!body.to_string().contains("never-sent"));
    let expected = json!({
        "temperature": 0.5, "reasoning": "high", "cacheRetention": "long", "sessionId": "s",
    });
    assert_eq!(body["options"], expected);
    let seen = &faux.requests()[0].options;
    assert_eq!(
        (seen.reasoning, seen.session_id.as_deref()),
        (Some(ThinkingLevel::High), Some("s"))
    );
}

#[tokio::test]
async fn failures_of_the_proxy() {
    let cases = [
        (
            response("401 Unauthorized", &[], r#"{"error":"who are you"}"#),
            "Proxy error: who are you",
        ),
        (response("502 Bad Gateway", &[], "<html>"), "Proxy error: 502 Bad Gateway"),
        (
            response("200 OK", &[], "data: {\"type\":\"start\"}\n\n"),
            "Connection closed by proxy server before the response completed",
        ),
    ];
    for (bytes, expected) in cases {
        let server = Server::answer(bytes).await;
        let request: Request = Faux::new().request(Context::new().user("hi"));
        let message = complete(&Proxy::new(&server.url(), "t"), request, CancelToken::new()).await;
        assert_eq!(message.error_message.as_deref(), Some(expected));
    }
}

fn decode(body: &str) -> Arc<AssistantMessage> {
    let mut out = MessageBuilder::new(&Faux::model());
    let mut decoder = ProxyDecoder::new();
    for piece in body.as_bytes().chunks(5) {
        decoder.push(piece, &mut out);
    }
    decoder.finish(&mut out);
    Arc::new(out.into_message())
}

#[test]
fn the_protocol_line_by_line() {
    let done = r#"data: {"type":"done","reason":"stop","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{}},"providerThinkingLevel":"high"}"#;
    let body = format!(
        "event: ignored\nid: 7\ndata: {{\"type\":\"start\"}}\ndata: {{\"type\":\"text_start\",\"contentIndex\":0}}\n\
         data: {{\"type\":\"text_delta\",\"contentIndex\":0,\"delta\":\"x\"}}\n\
         data: {{\"type\":\"text_end\",\"contentIndex\":0,\"contentSignature\":\"sig\"}}\n{done}"
    );
    let message = decode(&body);
    assert_eq!(message.stop_reason, StopReason::Stop, "{message:?}");
    assert_eq!(message.usage.total_tokens, 3);
    assert_eq!(message.provider_thinking_level.as_deref(), Some("high"));
    assert_eq!(
        serde_json::to_value(&message.content).unwrap(),
        json!([{"type": "text", "text": "x", "textSignature": "sig"}])
    );

    let wrong = |event: &str| {
        let body =
            format!("data: {{\"type\":\"thinking_start\",\"contentIndex\":0}}\ndata: {event}\n");
        decode(&body).error_message.clone().unwrap()
    };
    assert_eq!(
        wrong(r#"{"type":"text_delta","contentIndex":0,"delta":"x"}"#),
        "Received text_delta for non-text content"
    );
    assert_eq!(
        wrong(r#"{"type":"toolcall_delta","contentIndex":9,"delta":"x"}"#),
        "Received toolcall_delta for non-toolCall content"
    );
    assert_eq!(
        wrong(r#"{"type":"text_start","contentIndex":5}"#),
        "The proxy server began content block 5 instead of 1"
    );
    assert!(wrong("{nope").contains("proxy event"));
}
