//! The key, the URL and the headers with which the client sends a request.

use std::sync::{Arc, Mutex};

use pi_ai::{Client, Context, Model, ProviderConfig, StopReason, StreamOptions};
use pi_web::Authorization;
use serde_json::json;

use crate::hostile::model as local_model;
use crate::server::{Server, Step, response};

pub(crate) const COMPLETE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn env(variables: &'static [(&'static str, &'static str)]) -> Client {
    Client::new(move |name| {
        variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

/// Sends a request to a built-in model at a test server and returns the request that arrived.
async fn received(client: Client, provider: &str, api: &str, options: StreamOptions) -> String {
    let server = Server::responding(response("200 OK", &[], COMPLETE)).await;
    let mut model: Model = serde_json::from_value(json!({
        "id": "m", "api": api, "provider": provider, "contextWindow": 1000, "maxTokens": 10,
    }))
    .unwrap();
    model.base_url = server.url();
    client.complete(&Arc::new(model), Context::new().user("hi"), options).await;
    let requests = server.requests();
    requests.first().cloned().unwrap_or_default()
}

pub(crate) fn header(request: &str, name: &str) -> Option<String> {
    let head = request.split("\r\n\r\n").next().unwrap();
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.to_owned())
}

#[tokio::test]
async fn keys_come_in_order_of_precedence() {
    let variables: &[(&str, &str)] = &[("GROQ_API_KEY", "from-env")];
    let authorization = |client: Client, options: StreamOptions| async {
        let request = received(client, "groq", "openai-completions", options).await;
        header(&request, "authorization").unwrap()
    };
    let plain = StreamOptions::default;
    assert_eq!(authorization(env(variables), plain()).await, "Bearer from-env");
    let mut overridden = plain();
    overridden.env.insert("GROQ_API_KEY".to_owned(), "from-request-env".to_owned());
    assert_eq!(authorization(env(variables), overridden).await, "Bearer from-request-env");
    let configured = env(variables).with_key("groq", "configured");
    assert_eq!(authorization(configured.clone(), plain()).await, "Bearer configured");
    let explicit = plain().with_api_key("explicit");
    assert_eq!(authorization(configured, explicit).await, "Bearer explicit");
}

#[tokio::test]
async fn each_format_sends_the_key_in_its_own_header() {
    for (variables, provider, api, name, value) in [
        (&[("ANTHROPIC_API_KEY", "k")][..], "anthropic", "anthropic-messages", "x-api-key", "k"),
        (
            &[("ANTHROPIC_AUTH_TOKEN", "t"), ("ANTHROPIC_API_KEY", "k")],
            "anthropic",
            "anthropic-messages",
            "authorization",
            "Bearer t",
        ),
        (
            &[("OPENAI_API_KEY", "sk-1")],
            "openai",
            "openai-responses",
            "authorization",
            "Bearer sk-1",
        ),
        (&[("GEMINI_API_KEY", "g")], "google", "google-generative-ai", "x-goog-api-key", "g"),
        (
            &[("CLOUDFLARE_API_KEY", "c")],
            "cloudflare-ai-gateway",
            "openai-completions",
            "cf-aig-authorization",
            "Bearer c",
        ),
        (
            &[("CLOUDFLARE_API_KEY", "c")],
            "cloudflare-ai-gateway",
            "openai-responses",
            "cf-aig-authorization",
            "Bearer c",
        ),
    ] {
        let request = received(env(variables), provider, api, StreamOptions::default()).await;
        assert_eq!(header(&request, name).as_deref(), Some(value), "{provider}: {request}");
        let others = ["x-api-key", "authorization", "x-goog-api-key", "cf-aig-authorization"];
        for other in others.iter().filter(|other| **other != name) {
            assert_eq!(header(&request, other), None, "{provider} sends {other}");
        }
    }
}

#[tokio::test]
async fn the_session_id_is_sent_in_the_header_of_the_provider() {
    let names = ["x-session-id", "x-session-affinity", "session_id", "x-opencode-session"];
    for (provider, api, expected) in [
        ("openrouter", "anthropic-messages", &["x-session-id"][..]),
        ("openrouter", "openai-completions", &["x-session-id"]),
        ("anthropic", "anthropic-messages", &[]),
        ("opencode", "anthropic-messages", &["x-opencode-session"]),
        ("opencode-go", "openai-completions", &["x-opencode-session"]),
        ("openai", "openai-responses", &["session_id"]),
    ] {
        let mut options = StreamOptions::default().with_api_key("k");
        options.session_id = Some("s1".to_owned());
        let request = received(env(&[]), provider, api, options).await;
        let sent: Vec<&str> =
            names.into_iter().filter(|name| header(&request, name).is_some()).collect();
        assert_eq!(sent, expected, "{provider}, {api}");
    }
}

#[tokio::test]
async fn requests_have_a_truthful_user_agent() {
    let request = received(
        env(&[("GROQ_API_KEY", "k")]),
        "groq",
        "openai-completions",
        StreamOptions::default(),
    )
    .await;
    let user_agent = header(&request, "user-agent").unwrap();
    assert!(user_agent.starts_with("pi/") && user_agent.contains("rust"), "{user_agent}");
    assert_eq!(header(&request, "accept").as_deref(), Some("text/event-stream, application/json"));
}

#[tokio::test]
async fn custom_providers_and_models_can_be_used() {
    let server = Server::responding(response("200 OK", &[], COMPLETE)).await;
    let custom: Model =
        serde_json::from_value(json!({"id": "mine", "api": "", "provider": "lab"})).unwrap();
    let client = Client::new(|_| None).with_provider(
        ProviderConfig::new("lab")
            .with_base_url(format!("{}/v1", server.url()))
            .with_api("openai-completions")
            .with_header("X-Lab", "1")
            .with_model(custom),
    );
    assert!(client.is_configured("lab"), "a custom provider needs no key");
    assert!(!client.is_configured("openai"));
    assert!(client.providers().contains(&"lab".to_owned()));
    let model = client.model("lab", "mine").unwrap();
    let message =
        client.complete(&model, Context::new().user("hi"), StreamOptions::default()).await;
    assert_eq!((message.text().as_str(), &message.stop_reason), ("ok", &StopReason::Stop));
    let request = server.requests().remove(0);
    assert!(request.starts_with("POST /v1/chat/completions "), "{request}");
    assert_eq!(header(&request, "x-lab").as_deref(), Some("1"));
}

#[test]
fn a_built_in_provider_can_be_redirected_and_extended() {
    let replaced: Model = serde_json::from_value(json!({
        "id": "claude-sonnet-4-5", "name": "Mine", "api": "anthropic-messages", "provider": "anthropic",
    }))
    .unwrap();
    let client = Client::new(|_| None).with_provider(
        ProviderConfig::new("anthropic")
            .with_base_url("https://gateway.example/anthropic")
            .with_model(replaced),
    );
    let models = client.models("anthropic");
    assert!(models.iter().all(|model| model.base_url == "https://gateway.example/anthropic"));
    let same_id: Vec<_> = models.iter().filter(|model| model.id == "claude-sonnet-4-5").collect();
    assert_eq!(same_id.len(), 1);
    assert_eq!(same_id[0].name, "Mine");
    assert!(models.len() > 5, "the other models of the catalog remain");
}

#[tokio::test]
async fn a_rejected_strict_tool_is_sent_again_without_strictness() {
    let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Too many strict tools (21)"}}"#;
    let answer = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"1\",\"usage\":{}}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let server = Server::scripted(vec![
        vec![crate::server::Step::Send(response("400 Bad Request", &[], refusal))],
        vec![crate::server::Step::Send(response("200 OK", &[], answer))],
    ])
    .await;
    let mut model = (*local_model("anthropic-messages", &server.url())).clone();
    model.compat.insert("supportsStrictTools".to_owned(), json!(true));
    let tool = serde_json::from_value(json!({
        "name": "t", "parameters": {"type": "object", "properties": {}},
        "constrainedSampling": {"type": "json_schema", "strict": "prefer"},
    }))
    .unwrap();
    let context = Context::new().user("hi").tool(tool);
    let message = crate::hostile::client()
        .complete(&Arc::new(model), context, StreamOptions::default())
        .await;
    assert_eq!(message.stop_reason, StopReason::Stop, "{message:?}");
    assert_eq!(message.diagnostics[0].kind, "anthropic_strict_tools_fallback");
    let requests = server.requests();
    assert!(requests[0].contains("\"strict\":true") && !requests[1].contains("\"strict\""));
}

#[tokio::test]
async fn a_request_waits_for_its_authorization() {
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let client = env(&[("GROQ_API_KEY", "from-env")]).with_authorization(move |request| {
        *count.lock().unwrap() += 1;
        Box::pin(async move {
            let mut authorization =
                Authorization::new(format!("late-for-{}", request.model.provider));
            authorization.headers.insert("x-team".to_owned(), "blue".to_owned());
            Ok(authorization)
        })
    });
    let plain = StreamOptions::default();
    let request = received(client.clone(), "groq", "openai-completions", plain).await;
    assert_eq!(header(&request, "authorization").as_deref(), Some("Bearer late-for-groq"));
    assert_eq!(header(&request, "x-team").as_deref(), Some("blue"));
    // A request with a key needs no authorization.
    let own = StreamOptions::default().with_api_key("own");
    let request = received(client, "groq", "openai-completions", own).await;
    assert_eq!(header(&request, "authorization").as_deref(), Some("Bearer own"));
    assert_eq!(*asked.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_failed_authorization_is_the_error_of_the_answer() {
    let client = env(&[("GROQ_API_KEY", "from-env")])
        .with_authorization(|_| Box::pin(async { Err("the vault is locked".into()) }));
    let model = client.model("groq", "openai/gpt-oss-20b").unwrap();
    let answer = client.complete(&model, Context::new().user("hi"), StreamOptions::default()).await;
    assert_eq!(answer.stop_reason, StopReason::Error);
    assert_eq!(answer.error_message.as_deref(), Some("the vault is locked"));
}

#[tokio::test]
async fn rejected_credentials_are_renewed_once() {
    let refusal = |status: &str| vec![Step::Send(response(status, &[], "{}"))];
    let answer = || vec![Step::Send(response("200 OK", &[], COMPLETE))];
    // Statuses of the server, whether the credentials can be renewed, requests, success.
    for (statuses, renewable, count, succeeds) in [
        (vec!["401 Unauthorized"], true, 2, true),
        (vec!["403 Forbidden"], true, 2, true),
        (vec!["401 Unauthorized", "401 Unauthorized"], true, 2, false),
        (vec!["401 Unauthorized"], false, 1, false),
        (vec!["400 Bad Request"], true, 1, false),
    ] {
        let mut scripts: Vec<_> = statuses.iter().map(|status| refusal(status)).collect();
        scripts.push(answer());
        let server = Server::scripted(scripts).await;
        let client = env(&[]).with_authorization(move |request| {
            let key = match &request.rejected {
                None => "old".to_owned(),
                Some(_) => "new".to_owned(),
            };
            let mut authorization = Authorization::new(key);
            authorization.is_renewable = renewable;
            Box::pin(async move { Ok(authorization) })
        });
        let model = local_model("openai-completions", &server.url());
        let options = StreamOptions::default();
        let answer = client.complete(&model, Context::new().user("hi"), options).await;
        assert_eq!(answer.stop_reason == StopReason::Stop, succeeds, "{statuses:?}");
        let keys: Vec<_> = server
            .requests()
            .iter()
            .map(|request| header(request, "authorization").unwrap())
            .collect();
        assert_eq!(keys, ["Bearer old", "Bearer new"][..count], "{statuses:?}");
    }
}
