//! Bedrock over a real socket: signatures, tokens, errors.

use std::sync::Arc;

use pi_ai::{Client, Context, Model, StopReason, StreamOptions};
use pi_web::Authorization;
use pi_web::aws::AwsKeys;
use serde_json::json;

use crate::client::header;
use crate::server::{Server, Step, response};

const RECORDING: &[u8] =
    include_bytes!("../fixtures/traces/bedrock-converse-stream/claude-text.bin");

fn model(server: &Server) -> Arc<Model> {
    let model = json!({
        "id": "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "api": "bedrock-converse-stream",
        "provider": "amazon-bedrock", "baseUrl": server.url(), "contextWindow": 1000,
        "maxTokens": 10,
    });
    Arc::new(serde_json::from_value(model).unwrap())
}

fn answer() -> Vec<u8> {
    response("200 OK", &[("content-type", "application/vnd.amazon.eventstream")], RECORDING)
}

fn keys() -> AwsKeys {
    AwsKeys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "planted-secret".to_owned().into(),
        session_token: Some("session".to_owned().into()),
        expires: None,
    }
}

fn with_keys() -> Client {
    Client::new(|_| None).with_authorization(|_| {
        let mut authorization = Authorization::default();
        authorization.aws = Some(keys());
        Box::pin(async { Ok(authorization) })
    })
}

#[tokio::test]
async fn requests_are_signed_over_what_is_sent() {
    let server = Server::responding(answer()).await;
    let mut options = StreamOptions::default();
    for (name, value) in
        [("Authorization", "mine"), ("X-Amz-Date", "mine"), ("Host", "mine"), ("X-Own", "kept")]
    {
        options.headers.insert(name.to_owned(), Some(value.to_owned()));
    }
    options.env.insert("AWS_REGION".to_owned(), "eu-west-3".to_owned());
    let message = with_keys().complete(&model(&server), Context::new().user("hi"), options).await;
    assert_eq!(message.stop_reason, StopReason::Stop, "{:?}", message.error_message);

    let request = server.requests().remove(0);
    assert!(
        request.starts_with(
            "POST /model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream HTTP/1.1"
        ),
        "{request}"
    );
    let time = header(&request, "x-amz-date").unwrap();
    let authorization = header(&request, "authorization").unwrap();
    let expected = format!(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{}/eu-west-3/bedrock/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=",
        &time[..8]
    );
    assert!(authorization.starts_with(&expected), "{authorization}");
    assert_eq!(header(&request, "x-amz-security-token").as_deref(), Some("session"));
    assert_eq!(header(&request, "host"), Some(server.addr.to_string()));
    assert_eq!(header(&request, "x-own").as_deref(), Some("kept"));
    assert!(!request.contains("planted-secret"));
    let accept = header(&request, "accept").unwrap();
    assert!(accept.starts_with("application/vnd.amazon.eventstream"), "{accept}");
}

#[tokio::test]
async fn a_token_replaces_the_signature() {
    for (variables, expected) in [
        (vec![("AWS_BEARER_TOKEN_BEDROCK", "token")], "Bearer token"),
        (
            vec![("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "secret")],
            "AWS4-HMAC-SHA256 Credential=AKID/",
        ),
        (vec![("AWS_BEDROCK_SKIP_AUTH", "1")], "AWS4-HMAC-SHA256 Credential=dummy-access-key/"),
    ] {
        let server = Server::responding(answer()).await;
        let client = Client::new(move |name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        });
        let context = Context::new().user("hi");
        let message = client.complete(&model(&server), context, StreamOptions::default()).await;
        assert_eq!(message.stop_reason, StopReason::Stop, "{:?}", message.error_message);
        let authorization = header(&server.requests()[0], "authorization").unwrap();
        assert!(authorization.starts_with(expected), "{authorization}");
    }
}

#[tokio::test]
async fn without_credentials_the_error_says_what_to_set() {
    let server = Server::responding(answer()).await;
    let context = Context::new().user("hi");
    let client = Client::new(|_| None);
    let message = client.complete(&model(&server), context, StreamOptions::default()).await;
    let error = message.error_message.as_deref().unwrap();
    assert!(error.starts_with("No AWS credentials for provider: amazon-bedrock."), "{error}");
    assert!(error.contains("AWS_BEARER_TOKEN_BEDROCK") && error.contains("AWS_PROFILE"));
    assert!(server.requests().is_empty());
}

/// Each attempt has its own signature, and the last failure has a diagnostic.
#[tokio::test]
async fn failures_are_retried_and_described() {
    let unavailable = response(
        "503 Service Unavailable",
        &[("x-amzn-errortype", "ServiceUnavailableException"), ("retry-after", "0")],
        r#"{"message":"busy"}"#,
    );
    let denied = response(
        "403 Forbidden",
        &[("x-amzn-ErrorType", "AccessDeniedException:http://x/"), ("x-amzn-requestid", "req-9")],
        r#"{"Message":"You don't have access to the model with the specified model ID."}"#,
    );
    let scripts = vec![vec![Step::Send(unavailable)], vec![Step::Send(denied)]];
    let server = Server::scripted(scripts).await;
    let mut options = StreamOptions::default();
    options.retry.max_retries = 2;
    let message = with_keys().complete(&model(&server), Context::new().user("hi"), options).await;
    assert_eq!(
        message.error_message.as_deref(),
        Some(
            "AccessDeniedException: You don't have access to the model with the specified model ID."
        )
    );
    let [diagnostic] = &message.diagnostics[..] else { panic!("{:?}", message.diagnostics) };
    assert_eq!(diagnostic.kind, "bedrock_response_failure");
    let details = json!({
        "status": 403, "errorCode": "AccessDeniedException", "requestId": "req-9",
    });
    assert_eq!(diagnostic.details, Some(details));
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| header(request, "authorization").is_some()));
}
