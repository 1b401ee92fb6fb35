//! Servers that misbehave, over real sockets. In every case one terminal event comes, the error
//! describes the problem, and the content so far is kept.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use pi_ai::{
    AssistantEvent, AssistantMessage, Client, Context, Model, ProviderConfig, RetryOptions,
    StopReason, StreamOptions, Timeouts, is_context_overflow, is_retryable,
};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::server::{Server, Step, response, stream_head};

pub(crate) const APIS: &[&str] =
    &["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"];

pub(crate) fn client() -> Client {
    Client::new(|_| None).with_provider(ProviderConfig::new("local").with_api_key("secret-key"))
}

pub(crate) fn model(api: &str, base_url: &str) -> Arc<Model> {
    let model = json!({
        "id": "m", "api": api, "provider": "local", "baseUrl": base_url, "input": ["text"],
        "contextWindow": 100_000, "maxTokens": 1000,
    });
    Arc::new(serde_json::from_value(model).unwrap())
}

async fn ask_with(
    api: &str,
    url: &str,
    options: StreamOptions,
) -> (Vec<AssistantEvent>, Arc<AssistantMessage>) {
    let mut stream = client().stream(&model(api, url), Context::new().user("hi"), options);
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    let terminals = events.iter().filter(|event| event.is_terminal()).count();
    assert_eq!(terminals, 1, "{events:?}");
    (events, stream.finished().unwrap())
}

async fn ask(api: &str, url: &str) -> Arc<AssistantMessage> {
    ask_with(api, url, StreamOptions::default()).await.1
}

fn error(message: &AssistantMessage) -> &str {
    assert_eq!(message.stop_reason, StopReason::Error, "{message:?}");
    message.error_message.as_deref().unwrap()
}

/// Returns the beginning of an answer in each format, with the text "Hel".
pub(crate) fn beginning(api: &str) -> &'static str {
    match api {
        "anthropic-messages" => concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"1\",\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hel\"}}\n\n",
        ),
        "openai-completions" => {
            "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n"
        }
        "openai-responses" => concat!(
            "data: {\"type\":\"response.created\",\"response\":{\"id\":\"1\"}}\n\n",
            "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_1\",\"content\":[]}}\n\n",
            "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"item_id\":\"msg_1\",\"delta\":\"Hel\"}\n\n",
        ),
        _ => "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hel\"}]}}]}\r\n\r\n",
    }
}

/// Returns the rest of that answer: "lo", and the end.
fn rest(api: &str) -> &'static str {
    match api {
        "anthropic-messages" => concat!(
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"lo\"}}\n\n",
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        "openai-completions" => concat!(
            "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\n\n",
            "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n",
        ),
        "openai-responses" => concat!(
            "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"item_id\":\"msg_1\",\"delta\":\"lo\"}\n\n",
            "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_1\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello\"}]}}\n\n",
            "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"1\",\"status\":\"completed\"}}\n\n",
        ),
        _ => {
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n"
        }
    }
}

fn whole(api: &str) -> String {
    format!("{}{}", beginning(api), rest(api))
}

#[tokio::test]
async fn a_complete_answer_is_decoded() {
    for api in APIS {
        let server = Server::responding(response(
            "200 OK",
            &[("content-type", "text/event-stream")],
            whole(api),
        ))
        .await;
        let (events, message) = ask_with(api, &server.url(), StreamOptions::default()).await;
        assert_eq!(
            (message.text().as_str(), &message.stop_reason),
            ("Hello", &StopReason::Stop),
            "{api}"
        );
        assert_eq!(events.first(), Some(&AssistantEvent::Start), "{api}");
    }
}

#[tokio::test]
async fn an_error_status_is_reported_with_its_body() {
    let json = r#"{"error":{"message":"no such thing","type":"invalid_request_error"}}"#;
    let html = "<html><body><h1>Bad Gateway</h1></body></html>";
    for api in APIS {
        for (status, body) in [
            ("400 Bad Request", json),
            ("401 Unauthorized", json),
            ("404 Not Found", json),
            ("429 Too Many Requests", json),
            ("500 Internal Server Error", html),
            ("502 Bad Gateway", html),
            ("503 Service Unavailable", ""),
            ("418 I'm a teapot", "just text"),
        ] {
            let server = Server::responding(response(status, &[], body)).await;
            let (events, message) = ask_with(api, &server.url(), StreamOptions::default()).await;
            let text = error(&message);
            assert_eq!(events, [AssistantEvent::Error { reason: StopReason::Error }], "{api}");
            let code = &status[..3];
            match body {
                "" => assert!(text.contains(code), "{api} {status}: {text}"),
                json if json.starts_with('{') => {
                    assert!(text.contains("no such thing"), "{api} {status}: {text}");
                }
                html if html.starts_with('<') => {
                    assert!(
                        text.contains("Bad Gateway") && text.contains(code),
                        "{api} {status}: {text}"
                    );
                }
                other => assert!(text.contains(other), "{api} {status}: {text}"),
            }
            if code.starts_with('5') {
                assert!(is_retryable(&message), "{api} {status}: {text}");
            }
        }
        let server = Server::responding(response("413 Payload Too Large", &[], "")).await;
        let message = ask(api, &server.url()).await;
        assert!(is_context_overflow(&message, None), "{api}: {}", error(&message));
    }
}

#[tokio::test]
async fn an_error_event_ends_the_answer() {
    for api in APIS {
        let event = match *api {
            "anthropic-messages" => {
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
            }
            "openai-responses" => {
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"code\":\"server_error\",\"message\":\"Overloaded\"}}\n\n"
            }
            _ => "data: {\"error\":{\"code\":503,\"message\":\"Overloaded\"}}\n\n",
        };
        let body = format!("{}{event}", beginning(api));
        let server = Server::responding(response("200 OK", &[], body)).await;
        let message = ask(api, &server.url()).await;
        assert!(error(&message).contains("Overloaded"), "{api}: {}", error(&message));
        assert_eq!(message.text(), "Hel", "{api}: what came before is kept");
    }
}

#[tokio::test]
async fn a_response_that_is_not_a_stream_is_an_error() {
    let cases = [
        ("text/html", "<html>sign in to the network</html>", "sign in to the network"),
        (
            "application/json",
            r#"{"error":{"message":"stream not supported"}}"#,
            "stream not supported",
        ),
        ("application/json", r#"[{"error":{"message":"quota"}}]"#, "quota"),
        ("text/plain", "nothing of the kind", "ended"),
        ("text/event-stream", "", "ended"),
        ("text/event-stream", ": only comments\n\n", "ended"),
    ];
    for api in APIS {
        for (content_type, body, expected) in cases {
            let server =
                Server::responding(response("200 OK", &[("content-type", content_type)], body))
                    .await;
            let message = ask(api, &server.url()).await;
            assert!(error(&message).contains(expected), "{api} {body}: {}", error(&message));
        }
        // The header claims an event stream; the body is JSON.
        let server = Server::responding(response(
            "200 OK",
            &[("content-type", "application/json")],
            whole(api),
        ))
        .await;
        assert_eq!(ask(api, &server.url()).await.text(), "Hello", "{api}");
    }
}

#[tokio::test]
async fn a_broken_connection_is_a_retryable_error() {
    for api in APIS {
        let truncated = &whole(api).into_bytes()[..beginning(api).len() + 20];
        for ending in [vec![], vec![Step::Reset]] {
            let mut script = vec![Step::Send(stream_head()), Step::Send(truncated.to_vec())];
            script.extend(ending);
            let server = Server::scripted(vec![script]).await;
            let message = ask(api, &server.url()).await;
            assert!(is_retryable(&message), "{api}: {}", error(&message));
            assert_eq!(message.text(), "Hel", "{api}");
        }
        // The body is shorter than its content length.
        let mut short = response("200 OK", &[], whole(api));
        short.truncate(short.len() - 30);
        let server = Server::responding(short).await;
        let message = ask(api, &server.url()).await;
        assert!(is_retryable(&message), "{api}: {}", error(&message));
        // A server that closes the connection during the TLS handshake, and no server at all.
        let message = ask(api, &format!("https://{}", closing_server().await)).await;
        assert!(error(&message).starts_with("Connection error: "), "{api}: {}", error(&message));
        let message = ask(api, "http://127.0.0.1:1").await;
        assert!(error(&message).contains("refused"), "{api}: {}", error(&message));
        assert!(is_retryable(&message), "{api}");
    }
}

/// Starts a server that closes every connection after the first bytes.
async fn closing_server() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.read(&mut [0; 64]).await;
        }
    });
    addr
}

fn with_timeouts(change: impl FnOnce(&mut Timeouts)) -> StreamOptions {
    let mut options = StreamOptions::default();
    change(&mut options.timeouts);
    options
}

#[tokio::test]
async fn a_time_out_is_named_and_retryable() {
    let quick = Some(Duration::from_millis(30));
    for api in APIS {
        let silent = Server::scripted(vec![vec![Step::UntilDisconnect]]).await;
        let options = with_timeouts(|timeouts| timeouts.first_byte = quick);
        let (_, message) = ask_with(api, &silent.url(), options.clone()).await;
        assert_eq!(error(&message), "Request timed out: no answer within 0.03 s", "{api}");
        assert!(is_retryable(&message));

        let headers_only = vec![Step::Send(stream_head()), Step::UntilDisconnect];
        let server = Server::scripted(vec![headers_only]).await;
        let (_, message) = ask_with(api, &server.url(), options).await;
        assert_eq!(error(&message), "Request timed out: no answer within 0.03 s", "{api}");

        let stalls = vec![
            Step::Send(stream_head()),
            Step::Send(beginning(api).as_bytes().to_vec()),
            Step::UntilDisconnect,
        ];
        let mut server = Server::scripted(vec![stalls]).await;
        let options = with_timeouts(|timeouts| timeouts.idle = quick);
        let (_, message) = ask_with(api, &server.url(), options).await;
        assert_eq!(
            error(&message),
            "Stream timed out: the server sent nothing for 0.03 s",
            "{api}"
        );
        assert!(is_retryable(&message));
        assert_eq!(message.text(), "Hel", "{api}");
        server.client_disconnected().await;
    }
}

#[tokio::test]
async fn a_host_that_does_not_accept_the_connection_times_out() {
    // A listener with a full queue does not accept further connections.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let addr = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(addr)).await
    {
        queued.push(stream);
    }
    let options = with_timeouts(|timeouts| timeouts.connect = Some(Duration::from_millis(50)));
    let (_, message) = ask_with("openai-completions", &format!("http://{addr}"), options).await;
    let expected = format!("Connection timed out: {addr} could not be reached within 0.05 s");
    assert_eq!(error(&message), expected);
    assert!(is_retryable(&message));
}

#[tokio::test]
async fn an_endless_line_is_an_error() {
    let mut flood = stream_head();
    flood.extend_from_slice(b"data: ");
    flood.resize(66 << 20, b'x');
    let server = Server::scripted(vec![vec![Step::Send(flood), Step::UntilDisconnect]]).await;
    let message = ask("openai-completions", &server.url()).await;
    assert!(error(&message).contains("more than 64 MiB"), "{}", error(&message));
}

#[tokio::test]
async fn invalid_utf8_is_replaced() {
    for api in APIS {
        let body = whole(api).into_bytes();
        let at = body.windows(3).position(|window| window == b"Hel").unwrap();
        let mut body = body;
        body[at] = 0xff;
        let server = Server::responding(response("200 OK", &[], body)).await;
        let message = ask(api, &server.url()).await;
        let text = message.text();
        // The format that repeats the whole text at the end replaces the damaged text.
        let expected = if *api == "openai-responses" { "Hello" } else { "\u{fffd}ello" };
        assert_eq!(text, expected, "{api}");
    }
}

#[tokio::test]
async fn compressed_responses_are_decoded() {
    for api in APIS {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(whole(api).as_bytes()).unwrap();
        let gzip = encoder.finish().unwrap();
        let head = |encoding: &str, length: usize| {
            format!("HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n").into_bytes()
        };
        let mut script = vec![Step::Send(head("gzip", gzip.len()))];
        script.extend(gzip.chunks(7).map(|piece| Step::Send(piece.to_vec())));
        let server = Server::scripted(vec![script]).await;
        assert_eq!(ask(api, &server.url()).await.text(), "Hello", "{api}");

        let server = Server::responding([head("gzip", 4), b"nope".to_vec()].concat()).await;
        let message = ask(api, &server.url()).await;
        assert!(error(&message).contains("damaged"), "{api}: {}", error(&message));

        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(br#"{"error":{"message":"prompt is too long"}}"#).unwrap();
        let refusal = encoder.finish().unwrap();
        let headers = [("content-encoding", "gzip")];
        let server = Server::responding(response("400 Bad Request", &headers, refusal)).await;
        let message = ask(api, &server.url()).await;
        assert!(error(&message).contains("prompt is too long"), "{api}: {}", error(&message));

        let server = Server::responding([head("br", 4), b"nope".to_vec()].concat()).await;
        let message = ask(api, &server.url()).await;
        assert!(error(&message).contains("\"br\""), "{api}: {}", error(&message));
    }
}

#[tokio::test]
async fn keys_are_not_sent_to_another_host_by_a_redirect() {
    for api in APIS {
        for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
        {
            let other = Server::responding(response("200 OK", &[], whole(api))).await;
            // `localhost` is another origin than `127.0.0.1`, and reachable.
            let target = format!("http://localhost:{}/elsewhere", other.addr.port());
            let server = Server::responding(response(status, &[("location", &target)], "")).await;
            let message = ask(api, &server.url()).await;
            assert!(error(&message).contains(&target), "{api} {status}: {}", error(&message));
            assert!(other.requests().is_empty(), "{api} {status}: {:?}", other.requests());
        }
        // A redirect at the same origin that keeps the method is followed.
        let moved = response("307 Temporary Redirect", &[("location", "/v2/here")], "");
        let good = response("200 OK", &[], whole(api));
        let server = Server::scripted(vec![vec![Step::Send(moved)], vec![Step::Send(good)]]).await;
        assert_eq!(ask(api, &server.url()).await.text(), "Hello", "{api}");
        let requests = server.requests();
        assert!(requests[1].starts_with("POST /v2/here "), "{}", requests[1]);
        assert!(requests[1].contains("secret-key"), "{api}: the key goes along at home");
    }
}

#[tokio::test]
async fn retries_follow_the_hints_of_the_server() {
    let retrying = |max_retries| {
        let mut options = StreamOptions::default();
        options.retry = RetryOptions::new(max_retries, Duration::from_secs(60));
        options
    };
    let ask_for = |header: (&'static str, &'static str), status: &'static str, retries| async move {
        let api = "openai-completions";
        let refusal = response(status, &[header], r#"{"error":{"message":"slow down"}}"#);
        let good = response("200 OK", &[], whole(api));
        let server =
            Server::scripted(vec![vec![Step::Send(refusal)], vec![Step::Send(good)]]).await;
        let (_, message) = ask_with(api, &server.url(), retrying(retries)).await;
        (message, server.requests().len())
    };
    let past = "Sun, 06 Nov 1994 08:49:37 GMT";
    for header in [
        ("retry-after", "0"),
        ("retry-after", "0.01"),
        ("retry-after", past),
        ("retry-after-ms", "5"),
    ] {
        let (message, requests) = ask_for(header, "429 Too Many Requests", 1).await;
        assert_eq!((message.text().as_str(), requests), ("Hello", 2), "{header:?}");
    }
    for (header, asked) in [("retry-after", "120"), ("retry-after-ms", "120000")] {
        let (message, requests) = ask_for((header, asked), "429 Too Many Requests", 3).await;
        assert_eq!(requests, 1, "{header}");
        let text = error(&message);
        assert!(text.starts_with("Server requested 120s retry delay (max: 60s). 429"), "{text}");
        assert!(text.contains("slow down"), "{text}");
    }
    let (message, requests) = ask_for(("retry-after", "0"), "429 Too Many Requests", 0).await;
    assert_eq!((error(&message).contains("slow down"), requests), (true, 1), "no retries wanted");
    let (_, requests) = ask_for(("retry-after", "0"), "400 Bad Request", 3).await;
    assert_eq!(requests, 1, "a bad request stays bad");
    let (message, requests) = ask_for(("x-should-retry", "true"), "400 Bad Request", 1).await;
    assert_eq!((message.text().as_str(), requests), ("Hello", 2), "unless the server knows better");
}

#[tokio::test]
async fn invalid_requests_fail_with_a_clear_error() {
    let keyless = Client::new(|_| None);
    let cases = [
        (
            keyless.model("anthropic", "claude-sonnet-4-5").unwrap(),
            "No API key for provider: anthropic. Set ANTHROPIC_API_KEY, or pass a key with the request.",
        ),
        (
            model("carrier-pigeon", "http://127.0.0.1:1"),
            "Provider local has no API implementation for \"carrier-pigeon\"",
        ),
        (
            keyless.models("cloudflare-workers-ai").into_iter().next().map(Arc::new).unwrap(),
            "Provider is not configured: cloudflare-workers-ai. Set CLOUDFLARE_ACCOUNT_ID, which is part of its base URL.",
        ),
        (
            model("openai-completions", "not a url"),
            "\"not a url/chat/completions\" is not a valid URL: relative URL without a base",
        ),
    ];
    for (model, expected) in cases {
        let client = if model.provider == "local" { client() } else { keyless.clone() };
        let message =
            client.complete(&model, Context::new().user("hi"), StreamOptions::default()).await;
        assert_eq!(error(&message), expected);
        assert_eq!(message.content, []);
    }
    assert_eq!(keyless.model("unknown", "x").unwrap_err().to_string(), "Unknown provider: unknown");
    assert_eq!(
        keyless.model("openai", "x").unwrap_err().to_string(),
        "Provider openai has no model \"x\""
    );
}
