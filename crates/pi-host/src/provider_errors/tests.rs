//! Tests of the explanations: each kind of failure, for both readers.

use pi_ai::StopReason;
use serde_json::json;

use super::*;
use pi_coding_agent::session::failure_outcome;

fn model(provider: &str, url: &str) -> Model {
    serde_json::from_value(json!({
        "id": "m", "provider": provider, "api": "openai-completions", "baseUrl": url,
    }))
    .unwrap()
}

fn explained(
    model: &Model,
    error: &str,
    source: Option<CredentialSource>,
    reader: Reader,
) -> Explanation {
    let failed = AssistantMessage {
        stop_reason: StopReason::Error,
        error_message: Some(error.to_owned()),
        ..AssistantMessage::pending(model)
    };
    explain(&failed, &FailedRequest { model, source, registry: None, reader })
}

const CLOUD: &str = "https://api.example/v1";

#[test]
fn advice_on_the_screen_names_slash_commands() {
    let model = model("p", "http://[::1]:1");
    let errors = [
        ("401: no", "/login"),
        ("404: {\"message\":\"The model m does not exist, or no access\"}", "/model"),
        ("429: slow down", "/model"),
        ("503: later", "/model"),
        ("402: {\"message\":\"pay\"}", "/model"),
        ("403: {\"code\":\"subscription_sharing_user_not_eligible\",\"message\":\"x\"}", "/login"),
        ("413: {\"message\":\"large\"}", "/compact"),
        ("400: prompt is too long: 250000 tokens > 200000 maximum", "/compact"),
        ("Stream ended without finish_reason", "send the prompt again"),
        ("Connection error: Connection refused (os error 111)", "/model"),
    ];
    for (error, command) in errors {
        let hint = explained(&model, error, None, Reader::Screen).hint.unwrap();
        assert!(hint.contains(command) && !hint.contains("--"), "{error}: {hint}");
    }
}

#[test]
fn errors_say_who_failed_what_happened_and_what_to_do() {
    let cases = [
        (
            CLOUD,
            "401: {\"message\":\"bad key\"}",
            "p rejected the key (401): bad key",
            "check THE_KEY, and see `pi auth check --provider p`",
            5,
        ),
        (
            CLOUD,
            "{\"error\":{\"code\":403,\"message\":\"no\"}}",
            "p accepted the key and denied access (403): no",
            "check THE_KEY",
            5,
        ),
        (
            CLOUD,
            "404: <html><head><Title> Not Found </title></head>rest</html>",
            "the server does not answer like the API (404): an HTML page, \"Not Found\"",
            "check the address; the baseUrl of p in models.json is https://api.example/v1",
            1,
        ),
        (
            CLOUD,
            "404: {\"message\":\"The model m does not exist, or you have no access\"}",
            "p does not have this model (404): The model m",
            "see all with --list-models p",
            1,
        ),
        (
            CLOUD,
            "Server requested 90s retry delay (max: 60s). 429: {\"message\":\"slow down\"}",
            "p received too many requests (429): slow down",
            "wait 90 s, or choose another model with --model",
            1,
        ),
        (
            CLOUD,
            "429: {\"message\":\"You exceeded your current quota\",\"code\":\"insufficient_quota\"}",
            "the account at p has no credit left (429): You exceeded your current quota",
            "add credit to the account, or choose another model with --model",
            1,
        ),
        (
            CLOUD,
            "429: {\"message\":\"Rate limit reached: tokens per day (TPD)\"}",
            "a quota of the account at p is used up (429): ",
            "wait until the quota is renewed, raise it at p, or",
            1,
        ),
        (
            CLOUD,
            "529: {\"message\":\"Overloaded\"}",
            "p is overloaded (529): Overloaded",
            "try again later, or choose another model with --model",
            1,
        ),
        (
            CLOUD,
            "500 status code (no body)",
            "p failed (500): status code (no body)",
            "try again later",
            1,
        ),
        (
            CLOUD,
            "400: prompt is too long: 250000 tokens > 200000 maximum",
            "p rejected the request (400): prompt is too long",
            "the session does not fit",
            1,
        ),
        (
            CLOUD,
            "Stream ended without finish_reason",
            "the answer ended early: Stream ended without",
            "run the prompt again, for example with `pi -c`",
            1,
        ),
        (
            CLOUD,
            "The value of header \"x-api-key\" has characters that are not allowed in a header",
            "The value",
            "THE_KEY may contain a line break",
            1,
        ),
        (
            "https://127.0.0.1:9/v1",
            "Connection error: received corrupt message of type InvalidContentType (127.0.0.1:9)",
            "the server does not speak TLS: Connection error",
            "use http://127.0.0.1:9/v1 as baseUrl of p",
            1,
        ),
        (
            "http://127.0.0.1:9/v1",
            "400 Client sent an HTTP request to an HTTPS server.",
            "the server requires TLS (400): Client sent",
            "use https://127.0.0.1:9/v1 as baseUrl of p",
            1,
        ),
        (
            "http://127.0.0.1:9/v1",
            "Connection error: Connection refused (os error 111) (127.0.0.1:9)",
            "no server accepts connections at the address: Connection error",
            "start the server at http://127.0.0.1:9/v1",
            1,
        ),
        (
            CLOUD,
            "Connection error: failed to lookup address (api.example)",
            "the name of the server cannot be resolved: Connection error",
            "check the network; the baseUrl of p",
            1,
        ),
        (
            CLOUD,
            "Connection error: invalid peer certificate: UnknownIssuer (api.example)",
            "the certificate of the server is not trusted: Connection error",
            "check the clock of this machine; if a proxy inspects TLS",
            1,
        ),
        (
            CLOUD,
            "Connection error: proxy authorization required (proxy q:1, for api.example)",
            "the proxy requires a user name and a password: Connection error",
            "write user and password into the proxy's URL",
            1,
        ),
        (
            CLOUD,
            "Connection error: Connection refused (os error 111) (proxy q:1, for api.example)",
            "the proxy did not connect: Connection error",
            "check HTTPS_PROXY and the setting httpProxy",
            1,
        ),
        (
            CLOUD,
            "Provider finish_reason: content_filter",
            "a content filter stopped the request: Provider finish_reason",
            "rephrase the prompt",
            1,
        ),
        (
            CLOUD,
            "Provider p has no API implementation for \"odd\"",
            "Provider p has no API implementation",
            "choose another model with --model",
            5,
        ),
    ];
    for (url, error, message, hint, code) in cases {
        let source = Some(CredentialSource::Variable("THE_KEY"));
        let found = explained(&model("p", url), error, source, Reader::CommandLine);
        assert!(found.message.starts_with(&format!("p/m: {message}")), "{error}: {found:?}");
        let has_hint = found.hint.as_deref().is_some_and(|text| text.starts_with(hint));
        assert!(has_hint, "{error}: {found:?}");
        assert_eq!(failure_outcome(error).exit_code(), code, "{error}");
    }
    let odd = explained(&model("p", CLOUD), "400: {\"message\":\"odd\"}", None, Reader::Screen);
    assert_eq!((odd.message.as_str(), odd.hint), ("p/m: p rejected the request (400): odd", None));
}

#[test]
fn vendors_have_advice_of_their_own() {
    let login = Some(CredentialSource::Login { expires: 0.0 });
    let cases = [
        (
            "anthropic",
            login,
            "401 {\"error\":{\"type\":\"authentication_error\",\"message\":\"OAuth token has expired\"}}",
            "the login has expired (401)",
            "sign in again with `pi auth login anthropic`",
        ),
        (
            "openai",
            login,
            "OpenAI API error (403): {\"code\":\"subscription_sharing_usage_limit_exceeded\",\"message\":\"x\"}",
            "the usage limit of the subscription is reached",
            "https://chatgpt.com/settings/usage",
        ),
        (
            "anthropic",
            None,
            "400 {\"error\":{\"message\":\"Your credit balance is too low\"}}",
            "no credit left",
            "https://console.anthropic.com/settings/billing",
        ),
        (
            "amazon-bedrock",
            None,
            "403 You don't have access to the model with the specified model ID.",
            "the account has no access to this model",
            "in the Bedrock console of the region",
        ),
        (
            "amazon-bedrock",
            None,
            "400 Invocation with on-demand throughput isn't supported.",
            "requires an inference profile",
            "us. or eu.",
        ),
        (
            "azure-openai-responses",
            None,
            "404: {\"code\":\"DeploymentNotFound\",\"message\":\"x\"}",
            "does not have this deployment",
            "AZURE_OPENAI_DEPLOYMENT_NAME_MAP=m=DEPLOYMENT",
        ),
        (
            "google-vertex",
            None,
            "{\"error\":{\"code\":403,\"message\":\"x\",\"details\":[{\"reason\":\"SERVICE_DISABLED\"}]}}",
            "the API is not enabled",
            "gcloud services enable aiplatform.googleapis.com",
        ),
    ];
    for (provider, source, error, message, hint) in cases {
        let found = explained(&model(provider, CLOUD), error, source, Reader::CommandLine);
        assert!(found.message.contains(message), "{error}: {found:?}");
        assert!(found.hint.as_deref().is_some_and(|text| text.contains(hint)), "{found:?}");
    }
}
