//! The way of requests: the proxy of the settings.

use pi_coding_agent::session::PromptOptions;
use pi_coding_agent::{AgentOptions, SessionSelector, create_agent_session};
use serde_json::json;

use crate::env::TestEnv;
use crate::socket::{Reply, Server};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n\
    data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";

/// Asks a model at an address that only a proxy can reach. Returns the answer or the error.
async fn ask(settings: &serde_json::Value) -> String {
    let env = TestEnv::new();
    let models = json!({"providers": {"far": {
        "baseUrl": "http://models.invalid/v1", "api": "openai-completions", "apiKey": "k",
        "models": [{"id": "m"}],
    }}});
    env.write("home/.pi/agent/models.json", models.to_string());
    env.write("home/.pi/agent/settings.json", settings.to_string());
    let mut options = AgentOptions::new(env.environment("home/proj"));
    options.session.selector = SessionSelector::InMemory;
    options.model.requested = Some("far/m".to_owned());
    let session = create_agent_session(options).await.unwrap().runtime.session();
    session.prompt("hi", PromptOptions::default()).await.unwrap();
    let messages = session.messages();
    let answer = messages.iter().rev().find_map(|message| message.as_assistant()).unwrap();
    answer.error_message.clone().unwrap_or_else(|| answer.text())
}

#[tokio::test]
async fn requests_go_through_the_proxy_of_the_settings() {
    let proxy = Server::start(|_, _| Reply::Raw(ANSWER.as_bytes().to_vec())).await;
    let url = format!("http://{}", proxy.address);
    let answer = ask(&json!({"httpProxy": url})).await;
    assert_eq!(answer, "ok");
    let request = proxy.requests().remove(0);
    assert!(request.starts_with("POST http://models.invalid/v1/chat/completions "), "{request}");
}

#[tokio::test]
async fn a_useless_proxy_is_named_in_the_error() {
    let once = json!({"enabled": false});
    let refused = ask(&json!({"httpProxy": "http://127.0.0.1:1", "retry": once})).await;
    assert!(refused.contains("(proxy 127.0.0.1:1, for models.invalid)"), "{refused}");
    let invalid = ask(&json!({"httpProxy": "socks5://127.0.0.1:1", "retry": once})).await;
    assert!(invalid.contains("proxy is not supported"), "{invalid}");
}
