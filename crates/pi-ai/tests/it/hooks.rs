//! Hooks of a request, over a real socket: order, changes, panics and cancellation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_ai::{
    AssistantEvent, AssistantMessage, CacheRetention, CancelToken, Client, Context, HookFuture,
    Model, Provider, Request, RequestHooks, StopReason, StreamOptions, is_retryable,
};
use serde_json::json;

use crate::client::{COMPLETE, header};
use crate::hostile::{client, model};
use crate::server::{Server, Step, response};

const API: &str = "openai-completions";

type Log = Arc<Mutex<Vec<String>>>;

fn with_hooks(hooks: RequestHooks) -> StreamOptions {
    let mut options = StreamOptions::default();
    options.hooks = hooks;
    options.cache_retention = Some(CacheRetention::None);
    options
}

async fn complete(model: &Arc<Model>, options: StreamOptions) -> Arc<AssistantMessage> {
    client().complete(model, Context::new().user("hi"), options).await
}

async fn ok_server() -> Server {
    Server::responding(response("200 OK", &[("X-Request-Id", "r1")], COMPLETE)).await
}

#[tokio::test]
async fn hooks_are_awaited_in_order() {
    let server = Server::scripted(vec![
        vec![Step::Send(response("503 Service Unavailable", &[("retry-after-ms", "1")], ""))],
        vec![Step::Send(response("200 OK", &[("X-Request-Id", "r1")], COMPLETE))],
    ])
    .await;
    let log = Log::default();
    let note = |log: &Log, line: String| log.lock().unwrap().push(line);
    // Each hook suspends before it logs: a driver that does not wait for it changes the order.
    let pause = || tokio::time::sleep(Duration::from_millis(5));
    let (headers, payload, responses, events) =
        (Arc::clone(&log), Arc::clone(&log), Arc::clone(&log), Arc::clone(&log));
    let hooks = RequestHooks::default()
        .with_headers(move |added, model| {
            let log = Arc::clone(&headers);
            async move {
                pause().await;
                note(&log, format!("headers of {}: {added:?}", model.id));
                added
            }
        })
        .with_payload(move |mut body, model| {
            let log = Arc::clone(&payload);
            async move {
                pause().await;
                note(&log, "payload".to_owned());
                body["seen"] = json!(model.id);
                body
            }
        })
        .with_response(move |info| {
            let log = Arc::clone(&responses);
            async move {
                pause().await;
                note(&log, format!("response {} {:?}", info.status, info.header("x-request-id")));
            }
        })
        .with_provider_event(move |data| note(&events, format!("event {}", &data[..2])));
    let mut options = with_hooks(hooks);
    options.retry.max_retries = 1;
    let message = complete(&model(API, &server.url()), options).await;
    assert_eq!(message.text(), "ok", "{message:?}");
    assert_eq!(
        *log.lock().unwrap(),
        [
            "headers of m: {}",
            "payload",
            "response 503 None",
            "response 200 Some(\"r1\")",
            "event {\"",
            "event [D",
        ]
    );
    for request in server.requests() {
        assert!(request.contains("\"seen\":\"m\""), "{request}");
    }
}

#[tokio::test]
async fn the_header_hook_receives_added_headers_and_can_remove_any() {
    let server = ok_server().await;
    let seen = Arc::new(Mutex::new(BTreeMap::new()));
    let log = Arc::clone(&seen);
    let hooks = RequestHooks::default().with_headers(move |mut headers, _| {
        *log.lock().unwrap() = headers.clone();
        headers.remove("x-model");
        headers.insert("X-Option".to_owned(), None);
        headers.insert("AUTHORIZATION".to_owned(), None);
        headers.insert("x-new".to_owned(), Some("new".to_owned()));
        std::future::ready(headers)
    });
    let mut options = with_hooks(hooks);
    options.headers = BTreeMap::from([
        ("X-Option".to_owned(), Some("option".to_owned())),
        ("X-Both".to_owned(), Some("option".to_owned())),
        ("user-agent".to_owned(), None),
    ]);
    let mut model = (*model(API, &server.url())).clone();
    model.headers = BTreeMap::from([
        ("x-model".to_owned(), "model".to_owned()),
        ("x-kept".to_owned(), "model".to_owned()),
        ("x-both".to_owned(), "model".to_owned()),
    ]);
    complete(&Arc::new(model), options).await;
    let expected = [
        ("X-Both", Some("option")),
        ("X-Option", Some("option")),
        ("user-agent", None),
        ("x-kept", Some("model")),
        ("x-model", Some("model")),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)));
    assert_eq!(*seen.lock().unwrap(), BTreeMap::from(expected));
    let request = server.requests().remove(0);
    for (name, value) in [
        ("x-model", None),
        ("x-option", None),
        ("authorization", None),
        ("user-agent", None),
        ("x-kept", Some("model")),
        ("x-both", Some("option")),
        ("x-new", Some("new")),
        ("content-type", Some("application/json")),
    ] {
        assert_eq!(header(&request, name).as_deref(), value, "{name} in {request}");
    }
}

#[tokio::test]
async fn a_header_of_the_hook_replaces_the_key() {
    let server = ok_server().await;
    let hooks = RequestHooks::default().with_headers(|mut headers, _| async move {
        headers.insert("Authorization".to_owned(), Some("Bearer from-hook".to_owned()));
        headers
    });
    let mut model = (*model(API, &server.url())).clone();
    model.provider = "groq".to_owned();
    let without_key = Client::new(|_| None);
    let context = Context::new().user("hi");
    let message = without_key.complete(&Arc::new(model), context, with_hooks(hooks)).await;
    assert_eq!(message.text(), "ok", "{message:?}");
    let request = server.requests().remove(0);
    assert_eq!(header(&request, "authorization").as_deref(), Some("Bearer from-hook"));
}

/// Hooks of each kind that panic when awaited, and one that panics when called.
fn panicking_hooks() -> Vec<(&'static str, RequestHooks)> {
    let plain = RequestHooks::default;
    vec![
        ("on_headers", plain().with_headers(|_, _| async { panic!("boom {}", 1) })),
        ("on_payload", plain().with_payload(|_, _| async { panic!("boom {}", 1) })),
        ("on_response", plain().with_response(|_| async { panic!("boom {}", 1) })),
        ("on_provider_event", plain().with_provider_event(|_| panic!("boom {}", 1))),
        ("on_payload", {
            let mut hooks = plain();
            hooks.on_payload = Some(Arc::new(|_, _| panic!("boom {}", 1)));
            hooks
        }),
    ]
}

#[tokio::test]
async fn a_panicking_hook_ends_the_stream_with_an_error_that_names_it() {
    for (name, hooks) in panicking_hooks() {
        let server = ok_server().await;
        let mut stream = client().stream(
            &model(API, &server.url()),
            Context::new().user("hi"),
            with_hooks(hooks),
        );
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        assert_eq!(
            events.last(),
            Some(&AssistantEvent::Error { reason: StopReason::Error }),
            "{name}"
        );
        let error = stream.message().error_message.clone().unwrap();
        assert_eq!(error, format!("The {name} hook panicked: boom 1"));
        assert!(!is_retryable(stream.message()), "{error}");
        let sent = !server.requests().is_empty();
        assert_eq!(sent, ["on_response", "on_provider_event"].contains(&name), "{name}");
    }
}

/// Sets its flag when it is dropped.
struct OnDrop(Arc<Mutex<bool>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = true;
    }
}

/// A future that never resolves, and that reports its start and its end.
fn never<T: Send + 'static>(
    started: &tokio::sync::mpsc::UnboundedSender<()>,
    dropped: &Arc<Mutex<bool>>,
) -> HookFuture<T> {
    let (started, guard) = (started.clone(), OnDrop(Arc::clone(dropped)));
    Box::pin(async move {
        started.send(()).unwrap();
        let value = std::future::pending().await;
        drop(guard);
        value
    })
}

#[tokio::test]
async fn cancellation_drops_a_pending_hook() {
    for name in ["on_headers", "on_payload", "on_response"] {
        let server = ok_server().await;
        let (started, mut has_started) = tokio::sync::mpsc::unbounded_channel();
        let dropped = Arc::new(Mutex::new(false));
        let flag = Arc::clone(&dropped);
        let hooks = RequestHooks::default();
        let hooks = match name {
            "on_headers" => hooks.with_headers(move |_, _| never(&started, &flag)),
            "on_payload" => hooks.with_payload(move |_, _| never(&started, &flag)),
            _ => hooks.with_response(move |_| never(&started, &flag)),
        };
        let request =
            Request::new(model(API, &server.url()), Context::new().user("hi"), with_hooks(hooks));
        let cancel = CancelToken::new();
        let waiting = tokio::spawn(Provider::stream(&client(), request, cancel.clone()).result());
        has_started.recv().await.unwrap();
        cancel.cancel();
        assert!(*dropped.lock().unwrap(), "{name} is dropped at the moment of cancellation");
        assert_eq!(waiting.await.unwrap().stop_reason, StopReason::Aborted, "{name}");
    }
}
