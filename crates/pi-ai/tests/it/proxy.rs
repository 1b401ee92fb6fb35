//! Requests through a proxy, and the errors of a proxy.

use std::sync::Arc;

use pi_ai::{AssistantMessage, Client, Context, Model, StopReason, StreamOptions};
use serde_json::json;

use crate::client::{COMPLETE, header};
use crate::server::{Server, response};

/// A name that does not resolve, so that only a proxy can reach it.
const HOST: &str = "models.invalid";

fn model(base_url: &str) -> Arc<Model> {
    let model = json!({
        "id": "m", "api": "openai-completions", "provider": "lab", "baseUrl": base_url,
        "contextWindow": 1000, "maxTokens": 10,
    });
    Arc::new(serde_json::from_value(model).unwrap())
}

async fn ask(client: Client, base_url: &str) -> Arc<AssistantMessage> {
    let mut options = StreamOptions::default().with_api_key("k");
    options.retry.max_retries = 0;
    client.complete(&model(base_url), Context::new().user("hi"), options).await
}

#[tokio::test]
async fn requests_go_through_the_configured_proxy() {
    let proxy = Server::responding(response("200 OK", &[], COMPLETE)).await;
    let client = Client::new(|_| None).with_proxy(Some(proxy.url()));
    let answer = ask(client, &format!("http://{HOST}/v1")).await;
    assert_eq!(answer.stop_reason, StopReason::Stop, "{answer:?}");
    let request = proxy.requests().remove(0);
    assert!(request.starts_with("POST http://models.invalid/v1/chat/completions "), "{request}");
}

#[tokio::test]
async fn variables_and_exclusions_precede_the_configured_proxy() {
    let proxy = Server::responding(response("200 OK", &[], COMPLETE)).await;
    let url = proxy.url();
    let client = Client::new(move |name| (name == "HTTP_PROXY").then(|| url.clone()))
        .with_proxy(Some("http://127.0.0.1:1".to_owned()));
    let answer = ask(client, &format!("http://{HOST}/v1")).await;
    assert_eq!(answer.stop_reason, StopReason::Stop, "{answer:?}");
    assert!(header(&proxy.requests()[0], "host").is_some_and(|host| host == HOST));

    // An address of this machine that does not count as one: no lookup, and refused at once.
    let excluded = Client::new(|name| (name == "NO_PROXY").then(|| "0.0.0.0".to_owned()))
        .with_proxy(Some("http://127.0.0.1:2".to_owned()));
    let error = ask(excluded, "http://0.0.0.0:1/v1").await.error_message.clone().unwrap();
    assert!(error.contains("(0.0.0.0:1)") && !error.contains("proxy"), "{error}");
}

#[tokio::test]
async fn servers_on_this_machine_are_reached_without_the_proxy() {
    let server = Server::responding(response("200 OK", &[], COMPLETE)).await;
    let client = Client::new(|_| None).with_proxy(Some("http://127.0.0.1:1".to_owned()));
    let answer = ask(client, &server.url()).await;
    assert_eq!(answer.stop_reason, StopReason::Stop, "{answer:?}");
}

#[tokio::test]
async fn an_error_of_the_proxy_names_the_proxy() {
    for scheme in ["http", "https"] {
        let proxy = "http://user:secret@127.0.0.1:1".to_owned();
        let client = Client::new(|_| None).with_proxy(Some(proxy));
        let answer = ask(client, &format!("{scheme}://{HOST}/v1")).await;
        let error = answer.error_message.clone().unwrap();
        assert!(error.contains(&format!("(proxy 127.0.0.1:1, for {HOST})")), "{error}");
        assert!(error.contains("refused") && !error.contains("secret"), "{error}");
        assert!(pi_ai::is_retryable(&answer), "{error}");
    }
    let refusing = Server::responding(response("403 Forbidden", &[], "no")).await;
    let client = Client::new(|_| None).with_proxy(Some(refusing.url()));
    let error = ask(client, &format!("https://{HOST}/v1")).await.error_message.clone().unwrap();
    assert!(error.contains(&format!("(proxy {}, for {HOST})", refusing.addr)), "{error}");
}

#[tokio::test]
async fn an_invalid_proxy_is_an_error() {
    for invalid in ["http://", "not a url", "socks5://127.0.0.1:1080"] {
        let client = Client::new(|_| None).with_proxy(Some(invalid.to_owned()));
        let answer = ask(client, &format!("https://{HOST}/v1")).await;
        let error = answer.error_message.clone().unwrap();
        assert!(error.contains("proxy"), "{invalid}: {error}");
    }
}
