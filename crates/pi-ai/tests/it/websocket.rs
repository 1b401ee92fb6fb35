//! The WebSocket transport: continuation, replacement of sockets, fallback to HTTP, cancellation.

use std::sync::Arc;

use pi_ai::{
    AssistantMessage, Client, Context, Message, Model, StopReason, StreamOptions, Transport,
    UserBlock, is_retryable,
};
use pi_web::Authorization;
use serde_json::{Value, json};

use crate::server::response;
use crate::socket_server::{
    Action, Connection, Seen, SocketServer, call_answer, error, text_answer,
};

/// A token of the account `acc-1`.
const TOKEN: &str =
    "h.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjLTEifX0.s";

fn model(server: &SocketServer) -> Arc<Model> {
    let model = json!({
        "id": "gpt", "api": "openai-codex-responses", "provider": "openai-codex",
        "baseUrl": format!("http://{}/backend-api", server.addr), "reasoning": true,
    });
    Arc::new(serde_json::from_value(model).unwrap())
}

fn client() -> Client {
    Client::new(|_| None).with_key("openai-codex", TOKEN)
}

fn options(transport: Transport) -> StreamOptions {
    let mut options = StreamOptions::default();
    options.session_id = Some("session-1".to_owned());
    options.transport = transport;
    options
}

/// A conversation that grows with every answer.
struct Talk {
    client: Client,
    model: Arc<Model>,
    context: Context,
    options: StreamOptions,
}

impl Talk {
    fn new(server: &SocketServer, transport: Transport) -> Self {
        let (client, model) = (client(), model(server));
        Self { client, model, context: Context::new(), options: options(transport) }
    }

    async fn say(&mut self, text: &str) -> Arc<AssistantMessage> {
        self.context = self.context.clone().user(text);
        self.answer().await
    }

    async fn answer(&mut self) -> Arc<AssistantMessage> {
        let (context, options) = (self.context.clone(), self.options.clone());
        let answer = self.client.complete(&self.model, context, options).await;
        self.context = self.context.clone().message(Message::Assistant(Arc::clone(&answer)));
        answer
    }

    /// Answers the calls of the last message.
    fn results(&mut self, message: &AssistantMessage) {
        for call in message.tool_calls() {
            let result = Message::tool_result(call, vec![UserBlock::text("a.txt")], false);
            self.context = self.context.clone().message(result);
        }
    }
}

#[track_caller]
fn assert_answer(message: &Arc<AssistantMessage>, text: &str) {
    assert_eq!(message.stop_reason, StopReason::Stop, "{message:?}");
    assert_eq!(message.text(), text);
    assert!(message.diagnostics.is_empty(), "{message:?}");
}

/// Returns the kinds and texts of the input of a frame.
fn input(frame: &Value) -> Vec<&str> {
    let items = frame["input"].as_array().unwrap().iter();
    items
        .map(|item| item["type"].as_str().or(item["content"][0]["text"].as_str()).unwrap())
        .collect()
}

/// Returns a body of server-sent events with this text.
fn http_answer(text: &str) -> Connection {
    let mut body = String::new();
    for action in text_answer("resp_http", text) {
        let Action::Send(event) = action else { continue };
        body.push_str(&format!("data: {event}\n\n"));
    }
    Connection::Http(response("200 OK", &[("content-type", "text/event-stream")], body))
}

#[tokio::test]
async fn later_requests_send_only_what_is_new_over_the_same_socket() {
    for transport in [Transport::Auto, Transport::WebsocketCached] {
        let answers =
            vec![call_answer("r1"), text_answer("r2", "Done."), text_answer("r3", "Bye.")];
        let server = SocketServer::start(vec![Connection::Socket(answers)]).await;
        let mut talk = Talk::new(&server, transport);
        talk.context = talk.context.system("Be brief.");
        let call = talk.say("list").await;
        assert_eq!(call.stop_reason, StopReason::ToolUse);
        talk.results(&call);
        assert_answer(&talk.answer().await, "Done.");
        assert_answer(&talk.say("bye").await, "Bye.");
        let frames = server.frames();
        let frame = |index: usize| &frames[index].1;
        assert_eq!(frames.len(), 3);
        assert_eq!(frame(0)["type"], "response.create");
        assert_eq!(frame(0)["previous_response_id"], Value::Null);
        assert_eq!(input(frame(0)), ["list"]);
        assert_eq!(frame(1)["previous_response_id"], "r1");
        assert_eq!(input(frame(1)), ["function_call_output"]);
        assert_eq!(frame(2)["previous_response_id"], "r2");
        assert_eq!(input(frame(2)), ["bye"]);
        for (_, frame) in &frames {
            assert_eq!(frame["instructions"], "Be brief.");
            assert_eq!(frame["store"], false);
        }
        let Some(Seen::Connect(headers)) = server.seen().into_iter().next() else { panic!() };
        let header = |name: &str| {
            let found = headers.iter().find(|(key, _)| key == name);
            found.map_or_else(String::new, |(_, value)| value.clone())
        };
        assert_eq!(header(":path"), "/backend-api/codex/responses");
        assert_eq!(header("authorization"), format!("Bearer {TOKEN}"));
        assert_eq!(header("chatgpt-account-id"), "acc-1");
        assert_eq!(header("openai-beta"), "responses_websockets=2026-02-06");
        assert_eq!(header("originator"), "pi");
        assert_eq!(header("session-id"), "session-1");
        assert_eq!(header("x-client-request-id"), "session-1");
        assert!(header("user-agent").starts_with("pi/"));
        assert_eq!(header("content-type"), "");
    }
}

#[tokio::test]
async fn the_plain_transport_repeats_the_conversation() {
    let answers = vec![text_answer("r1", "One."), text_answer("r2", "Two.")];
    let server = SocketServer::start(vec![Connection::Socket(answers)]).await;
    let mut talk = Talk::new(&server, Transport::Websocket);
    talk.say("1").await;
    assert_answer(&talk.say("2").await, "Two.");
    let (_, second) = server.frames().remove(1);
    assert_eq!(second["previous_response_id"], Value::Null);
    assert_eq!(input(&second), ["1", "message", "2"]);
}

#[tokio::test]
async fn server_sent_events_need_no_socket() {
    let server = SocketServer::start(vec![http_answer("Over HTTP.")]).await;
    assert_answer(&Talk::new(&server, Transport::Sse).say("hi").await, "Over HTTP.");
    assert_eq!(server.posts(), 1);
}

#[tokio::test]
async fn an_edited_conversation_is_sent_whole() {
    let answers = vec![text_answer("r1", "One."), text_answer("r2", "Two.")];
    let server = SocketServer::start(vec![Connection::Socket(answers)]).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    talk.say("1").await;
    talk.context = Context::new();
    assert_answer(&talk.say("another branch").await, "Two.");
    let (connection, second) = server.frames().remove(1);
    assert_eq!(connection, 0);
    assert_eq!(second["previous_response_id"], Value::Null);
    assert_eq!(input(&second), ["another branch"]);
}

#[tokio::test]
async fn a_forgotten_response_is_sent_whole_once() {
    let forgotten = || vec![error(400, "previous_response_not_found")];
    let answers = vec![text_answer("r1", "One."), forgotten(), text_answer("r2", "Two.")];
    let server = SocketServer::start(vec![Connection::Socket(answers)]).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    talk.say("1").await;
    assert_answer(&talk.say("2").await, "Two.");
    let frames = server.frames();
    assert_eq!(frames[1].1["previous_response_id"], "r1");
    assert_eq!(frames[2].1["previous_response_id"], Value::Null);
    assert_eq!(input(&frames[2].1), ["1", "message", "2"]);

    let answers = vec![text_answer("r1", "One."), forgotten(), forgotten()];
    let server = SocketServer::start(vec![Connection::Socket(answers)]).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    talk.say("1").await;
    let failed = talk.say("2").await;
    assert_eq!(failed.stop_reason, StopReason::Error);
    let text = failed.error_message.as_deref().unwrap();
    assert!(text.contains("(400)") && text.contains("previous_response_not_found"), "{text}");
    assert_eq!(server.frames().len(), 3);
}

#[tokio::test]
async fn a_socket_at_its_limit_is_replaced_once() {
    let limit = || Connection::Socket(vec![vec![error(429, "websocket_connection_limit_reached")]]);
    let full = Connection::Socket(vec![
        text_answer("r1", "One."),
        vec![error(429, "websocket_connection_limit_reached")],
    ]);
    let next = Connection::Socket(vec![text_answer("r2", "Two."), text_answer("r3", "Three.")]);
    let server = SocketServer::start(vec![full, next]).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    talk.say("1").await;
    assert_answer(&talk.say("2").await, "Two.");
    assert_answer(&talk.say("3").await, "Three.");
    let frames = server.frames();
    assert_eq!(frames[2].0, 1);
    assert_eq!(input(&frames[2].1), ["1", "message", "2"]);
    assert_eq!(frames[3].1["previous_response_id"], "r2");

    let server = SocketServer::start(vec![limit(), limit()]).await;
    let failed = Talk::new(&server, Transport::Auto).say("1").await;
    let text = failed.error_message.as_deref().unwrap();
    assert!(text.contains("(429)"), "{text}");
    assert_eq!(server.frames().len(), 2);
}

#[tokio::test]
async fn without_sockets_a_session_uses_http() {
    let refusals = [
        ("a refused handshake", Connection::Http(response("426 Upgrade Required", &[], ""))),
        ("a page in place of a handshake", Connection::Http(response("200 OK", &[], "<html>"))),
        ("a socket that is closed at once", Connection::Socket(vec![vec![Action::Drop]])),
        ("a socket that is closed with a reason", {
            Connection::Socket(vec![vec![Action::Close(1011, "out of order")]])
        }),
    ];
    for (what, refusal) in refusals {
        let scripts = vec![refusal, http_answer("First."), http_answer("Second.")];
        let server = SocketServer::start(scripts).await;
        let mut talk = Talk::new(&server, Transport::Auto);
        let first = talk.say("1").await;
        assert_eq!(first.stop_reason, StopReason::Stop, "{what}");
        assert_eq!(first.text(), "First.", "{what}");
        let diagnostic = serde_json::to_value(&first.diagnostics).unwrap()[0].clone();
        assert_eq!(diagnostic["type"], "provider_transport_failure", "{what}");
        let text = diagnostic["error"]["message"].as_str().unwrap();
        assert!(text.starts_with("WebSocket "), "{what}: {text}");
        let details = &diagnostic["details"];
        assert_eq!(details["configuredTransport"], "auto");
        assert_eq!(details["fallbackTransport"], "sse");
        assert_eq!(details["eventsEmitted"], false);
        assert!(details["requestBytes"].as_u64().unwrap() > 200);
        assert_answer(&talk.say("2").await, "Second.");
        assert_eq!(server.posts(), 2, "{what}");
    }
}

#[tokio::test]
async fn another_session_tries_a_socket_again() {
    let scripts = vec![
        Connection::Http(response("503 Service Unavailable", &[], "")),
        http_answer("Over HTTP."),
        Connection::Socket(vec![text_answer("r1", "Over a socket.")]),
    ];
    let server = SocketServer::start(scripts).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    assert_eq!(talk.say("1").await.text(), "Over HTTP.");
    talk.options.session_id = Some("session-2".to_owned());
    assert_answer(&talk.say("2").await, "Over a socket.");
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_given_up() {
    let server = SocketServer::start(vec![Connection::Silent, http_answer("Over HTTP.")]).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    talk.options.timeouts.websocket_connect = Some(std::time::Duration::from_millis(50));
    let answer = talk.say("1").await;
    assert_eq!(answer.text(), "Over HTTP.");
    let text = answer.diagnostics[0].error.as_ref().unwrap().message.clone();
    assert!(text.starts_with("WebSocket connection timed out"), "{text}");
}

#[tokio::test]
async fn a_socket_that_is_closed_in_mid_stream_is_an_error() {
    let beginning = || {
        let mut actions = text_answer("r1", "Hello");
        actions.truncate(2);
        actions
    };
    for (end, expected) in [
        (Action::Close(1011, "keepalive ping timeout"), "(code 1011: keepalive ping timeout)"),
        (Action::Close(1000, ""), "(code 1000)"),
        (Action::Drop, "WebSocket "),
    ] {
        let mut actions = beginning();
        actions.push(end);
        let scripts = vec![Connection::Socket(vec![actions]), http_answer("Over HTTP.")];
        let server = SocketServer::start(scripts).await;
        let mut talk = Talk::new(&server, Transport::Auto);
        let answer = talk.say("1").await;
        assert_eq!(answer.stop_reason, StopReason::Error);
        assert_eq!(answer.text(), "Hello");
        let text = answer.error_message.as_deref().unwrap();
        assert!(text.starts_with("WebSocket ") && text.contains(expected), "{text}");
        assert!(is_retryable(&answer), "{text}");
        assert_eq!(server.posts(), 0);
        let diagnostic = serde_json::to_value(&answer.diagnostics).unwrap()[0].clone();
        assert_eq!(diagnostic["type"], "provider_transport_failure");
        assert_eq!(diagnostic["details"]["phase"], "after_message_stream_start");
        assert_eq!(diagnostic["details"]["eventsEmitted"], true);
        talk.context = Context::new();
        assert_answer(&talk.say("1").await, "Over HTTP.");
    }
}

#[tokio::test]
async fn a_socket_that_was_closed_while_it_waited_is_replaced() {
    let mut first = text_answer("r1", "One.");
    first.push(Action::Close(1001, "going away"));
    let second = Connection::Socket(vec![text_answer("r2", "Two.")]);
    let mut server = SocketServer::start(vec![Connection::Socket(vec![first]), second]).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    talk.say("1").await;
    server.until(|seen| *seen == Seen::Disconnect(0)).await;
    assert_answer(&talk.say("2").await, "Two.");
    let frames = server.frames();
    assert_eq!(input(&frames[1].1), ["1", "message", "2"]);
}

#[tokio::test]
async fn pings_are_answered_while_a_socket_waits() {
    let mut first = text_answer("r1", "One.");
    first.push(Action::Ping);
    let answers = vec![first, text_answer("r2", "Two.")];
    let mut server = SocketServer::start(vec![Connection::Socket(answers)]).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    talk.say("1").await;
    server.until(|seen| *seen == Seen::Pong(0)).await;
    assert_answer(&talk.say("2").await, "Two.");
    assert_eq!(server.frames()[1].0, 0);
}

#[tokio::test]
async fn a_second_request_at_the_same_time_has_a_socket_of_its_own() {
    // Of the first answer, only the first event.
    let mut halted = text_answer("r1", "One.");
    let rest = halted.split_off(1);
    assert_eq!(rest.len(), 2);
    halted.push(Action::UntilDisconnect);
    let scripts =
        vec![Connection::Socket(vec![halted]), Connection::Socket(vec![text_answer("r2", "Two.")])];
    let mut server = SocketServer::start(scripts).await;
    let talk = Talk::new(&server, Transport::Auto);
    let (context, options) = (Context::new().user("1"), talk.options.clone());
    let mut running = talk.client.stream(&talk.model, context, options.clone());
    running.next().await.unwrap();
    let second = talk.client.complete(&talk.model, Context::new().user("2"), options).await;
    assert_answer(&second, "Two.");
    // Closed after its answer, while the first is still open.
    server.until(|seen| *seen == Seen::Disconnect(1)).await;
    assert!(!server.seen().contains(&Seen::Disconnect(0)));
    drop(running);
    server.until(|seen| *seen == Seen::Disconnect(0)).await;
}

#[tokio::test]
async fn cancellation_closes_the_socket() {
    let mut halted = text_answer("r1", "One.");
    halted.truncate(1);
    halted.push(Action::UntilDisconnect);
    let scripts =
        vec![Connection::Socket(vec![halted]), Connection::Socket(vec![text_answer("r2", "Two.")])];
    let mut server = SocketServer::start(scripts).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    let context = Context::new().user("1");
    let mut stream = talk.client.stream(&talk.model, context, talk.options.clone());
    stream.next().await.unwrap();
    stream.cancel();
    let message = stream.result().await;
    assert_eq!(message.stop_reason, StopReason::Aborted);
    server.until(|seen| *seen == Seen::Disconnect(0)).await;
    assert_answer(&talk.say("2").await, "Two.");
}

#[tokio::test]
async fn a_rejected_token_is_renewed() {
    let refused = r#"{"error":{"code":"token_expired","message":"expired"}}"#;
    let scripts = [
        vec![Connection::Http(response("401 Unauthorized", &[], refused))],
        vec![Connection::Socket(vec![vec![error(401, "token_expired")]])],
    ];
    for mut scripts in scripts {
        scripts.push(Connection::Socket(vec![text_answer("r1", "Renewed.")]));
        let server = SocketServer::start(scripts).await;
        let client = Client::new(|_| None).with_authorization(|request| {
            Box::pin(async move {
                // The renewed token has another signature.
                let suffix = if request.rejected.is_some() { "2" } else { "" };
                let mut authorization = Authorization::new(format!("{TOKEN}{suffix}"));
                authorization.is_renewable = true;
                Ok(authorization)
            })
        });
        let mut talk = Talk::new(&server, Transport::Auto);
        talk.client = client;
        assert_answer(&talk.say("1").await, "Renewed.");
        assert_eq!(server.posts(), 0);
    }
}

#[tokio::test]
async fn limits_of_the_subscription_are_no_failure_of_the_socket() {
    let limit = json!({
        "type": "error", "status": 429,
        "error": {"type": "usage_limit_reached", "plan_type": "plus", "resets_in_seconds": 90},
    });
    let expected = "You have hit your ChatGPT usage limit (plus plan). Try again in ~2 min.";
    let mut late = text_answer("r1", "Hello");
    late.truncate(2);
    late.push(Action::Send(limit.clone()));
    let body = limit.to_string();
    for script in [
        Connection::Socket(vec![vec![Action::Send(limit)]]),
        Connection::Socket(vec![late]),
        Connection::Http(response("429 Too Many Requests", &[], body)),
    ] {
        let server = SocketServer::start(vec![script]).await;
        let answer = Talk::new(&server, Transport::Auto).say("1").await;
        assert_eq!(answer.error_message.as_deref(), Some(expected));
        assert!(!is_retryable(&answer));
        assert!(answer.diagnostics.is_empty());
    }
}

#[tokio::test]
async fn sockets_go_through_a_proxy() {
    let answers = vec![text_answer("r1", "One."), text_answer("r2", "Two.")];
    let server = SocketServer::start(vec![Connection::Socket(answers)]).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    talk.client = client().with_proxy(Some(format!("http://{}", server.addr)));
    // A name that does not resolve, so that only a proxy can reach it.
    Arc::make_mut(&mut talk.model).base_url = "http://chat.invalid/backend-api".to_owned();
    assert_answer(&talk.say("1").await, "One.");
    assert_answer(&talk.say("2").await, "Two.");
}

#[tokio::test]
async fn requests_without_a_session_close_their_socket() {
    let answers = vec![text_answer("r1", "One."), text_answer("r2", "never")];
    let scripts =
        vec![Connection::Socket(answers), Connection::Socket(vec![text_answer("r3", "Two.")])];
    let mut server = SocketServer::start(scripts).await;
    let mut talk = Talk::new(&server, Transport::Auto);
    talk.options.session_id = None;
    assert_answer(&talk.say("1").await, "One.");
    server.until(|seen| *seen == Seen::Disconnect(0)).await;
    assert_answer(&talk.say("2").await, "Two.");
}
