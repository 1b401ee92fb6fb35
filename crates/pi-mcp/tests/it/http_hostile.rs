//! Servers over HTTP that are slow, broken or hostile: each costs its own requests only.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_mcp::BoxFuture;
use pi_mcp::client::{CallOptions, Client, ClientError, ConnectError};
use pi_mcp::protocol::Era;
use pi_mcp::transport::{Authorization, Challenge, Transport, Verdict};
use serde_json::{Map, json};

use crate::fake::{Notes, discovered, options};
use crate::http_legacy::{connect, http};
use crate::web::Web;

async fn modern(web: &mut Web) -> Client {
    let notes = Arc::new(Notes::default());
    let connecting = connect(web, options(&notes));
    web.next().await.answer(&discovered(&json!({ "tools": {} }))).await;
    connecting.await.expect("no panic").expect("connected")
}

#[tokio::test]
async fn other_origins_get_no_request() {
    let mut web = Web::start().await;
    let mut other = Web::start().await;
    let notes = Arc::new(Notes::default());
    let mut http = http(&web);
    http.headers = vec![("X-Key".to_owned(), "secret".to_owned())];
    let connecting = tokio::spawn(Client::connect(Transport::Http(http), options(&notes)));
    // Within the origin a redirect is followed.
    let request = web.next().await;
    assert_eq!(request.header("x-key"), Some("secret"));
    request.respond(307, &[("location", "/elsewhere")], "").await;
    let request = web.next().await;
    assert_eq!((request.path.as_str(), request.header("x-key")), ("/elsewhere", Some("secret")));
    let target = other.url.to_string();
    request.respond(308, &[("location", &target)], "").await;
    let error = connecting.await.expect("no panic").expect_err("refused");
    assert!(matches!(error, ConnectError::Failed(ClientError::Redirected(_))), "{error:?}");
    let asked = tokio::time::timeout(Duration::from_millis(50), other.next());
    assert!(asked.await.is_err());
}

#[tokio::test]
async fn a_connection_is_tried_again_but_a_call_is_not() {
    let mut web = Web::start().await;
    let notes = Arc::new(Notes::default());
    let connecting = connect(&web, options(&notes));
    web.next().await.status(503).await;
    web.next().await.status(429).await;
    web.next().await.answer(&discovered(&json!({ "tools": {} }))).await;
    let client = connecting.await.expect("no panic").expect("connected");
    let calling = {
        let client = client.clone();
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        )
    };
    web.next().await.respond(503, &[], "busy\u{1b}[31m").await;
    let error = calling.await.expect("no panic").expect_err("failed");
    assert_eq!(error, ClientError::Http { status: 503, body: "busy[31m".to_owned() });
    let listing = tokio::spawn(async move { client.list_tools().await });
    web.next().await.status(503).await;
    let request = web.next().await;
    assert_eq!(request.body["method"], "tools/list");
    request.answer(&json!({ "tools": [] })).await;
    assert!(listing.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn bodies_without_an_end_are_cut() {
    for kind in ["application/json", "text/event-stream"] {
        let mut web = Web::start().await;
        let client = modern(&mut web).await;
        let calling = tokio::spawn(async move {
            client.call_tool("t", Map::new(), &CallOptions::default()).await
        });
        let mut body = web.next().await.open(kind).await;
        assert!(body.write("data: \"").await);
        let block = "x".repeat(1 << 20);
        let mut written = 0;
        while body.write(&block).await {
            written += 1;
            assert!(written < 200, "the client reads without a limit");
        }
        let error = calling.await.expect("no panic").expect_err("too large");
        assert!(matches!(error, ClientError::TooLarge(_)), "{error:?}");
    }
}

#[tokio::test]
async fn endless_comments_are_no_answer() {
    let mut web = Web::start().await;
    let client = modern(&mut web).await;
    let call = CallOptions { timeout: Some(Duration::from_secs(5)), ..CallOptions::default() };
    let calling = tokio::spawn(async move { client.call_tool("t", Map::new(), &call).await });
    let mut body = web.next().await.open("text/event-stream").await;
    while body.write(": still here\n\n").await {
        tokio::task::yield_now().await;
    }
    let error = calling.await.expect("no panic").expect_err("late");
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error:?}");
}

#[tokio::test]
async fn wrong_and_broken_answers_are_errors_of_the_call() {
    let cases = [
        ("application/json", "{\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":{}}"),
        ("application/json", "{\"jsonrpc\""),
        ("application/json", ""),
        ("text/html", "<html>"),
        ("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":{}}\n\n"),
        ("text/event-stream", ""),
    ];
    for (kind, text) in cases {
        let mut web = Web::start().await;
        let client = modern(&mut web).await;
        let calling = tokio::spawn(async move {
            client.call_tool("t", Map::new(), &CallOptions::default()).await
        });
        let mut body = web.next().await.open(kind).await;
        assert!(body.write(text).await);
        drop(body);
        let error = calling.await.expect("no panic").expect_err(text);
        let is_expected = matches!(error, ClientError::Invalid { .. } | ClientError::Closed(_));
        assert!(is_expected, "{kind} {text}: {error:?}");
    }
}

/// Knows two tokens; the second permits more.
#[derive(Default)]
struct Tokens {
    refusals: Mutex<Vec<Challenge>>,
}

impl Authorization for Tokens {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
        let count = self.refusals.lock().expect("lock").len();
        Box::pin(async move { Ok((count > 0).then(|| format!("t{count}"))) })
    }

    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Verdict> {
        self.refusals.lock().expect("lock").push(challenge);
        Box::pin(async { Verdict::Retry })
    }
}

#[tokio::test]
async fn a_refused_token_is_replaced_but_not_for_ever() {
    let mut web = Web::start().await;
    let notes = Arc::new(Notes::default());
    let tokens = Arc::new(Tokens::default());
    let mut http = http(&web);
    http.authorization = Some(Arc::clone(&tokens) as Arc<dyn Authorization>);
    let connecting = tokio::spawn(Client::connect(Transport::Http(http), options(&notes)));
    let request = web.next().await;
    assert_eq!(request.header("authorization"), None);
    request.respond(401, &[("www-authenticate", "Bearer scope=\"a\"")], "").await;
    let request = web.next().await;
    assert_eq!(request.header("authorization"), Some("Bearer t1"));
    request.answer(&discovered(&json!({ "tools": {} }))).await;
    let client = connecting.await.expect("no panic").expect("connected");
    assert_eq!(client.facts().era, Era::Modern);
    let calling =
        tokio::spawn(
            async move { client.call_tool("t", Map::new(), &CallOptions::default()).await },
        );
    let more = [("www-authenticate", "Bearer error=\"insufficient_scope\", scope=\"b\"")];
    for _ in 0..3 {
        web.next().await.respond(403, &more, "").await;
    }
    let error = calling.await.expect("no panic").expect_err("refused");
    assert!(matches!(error, ClientError::Unauthorized(_)), "{error:?}");
    let refusals = tokens.refusals.lock().expect("lock");
    assert_eq!(refusals.len(), 3);
    assert_eq!((refusals[1].status, refusals[1].token.as_deref()), (403, Some("t1")));
}

#[tokio::test]
async fn a_server_that_needs_a_token_is_told_apart() {
    let mut web = Web::start().await;
    let notes = Arc::new(Notes::default());
    let connecting = connect(&web, options(&notes));
    web.next().await.status(401).await;
    let error = connecting.await.expect("no panic").expect_err("refused");
    assert!(matches!(error, ConnectError::Failed(ClientError::Unauthorized(_))), "{error:?}");
}
