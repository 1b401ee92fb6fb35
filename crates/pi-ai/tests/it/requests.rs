//! Requests, compared with those of the TypeScript pi 1.5.0 for the same conversation.
//!
//! `fixtures/requests/API.jsonl`: the first line has the model records, every other line a case with
//! context and options, and the observed URL, headers and body. For an intended difference, the
//! expectation was changed and `deviation` has the reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_ai::wire::{self, Call};
use pi_ai::{
    Attribution, CacheRetention, Context, Model, Request, StreamOptions, ThinkingBudgets,
    ThinkingLevel, ToolChoice,
};
use pi_protocol::json;
use pi_web::KeyScheme;
use pi_web::aws::Signing;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct Models {
    models: BTreeMap<String, Model>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    name: String,
    model: String,
    context: Context,
    #[serde(default)]
    options: Options,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    body: Option<Value>,
    signing: Option<SigningData>,
    provider_thinking_level: Option<String>,
    error: Option<String>,
}

/// The keys and the scope of a signature.
#[derive(Deserialize, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
struct SigningData {
    access_key_id: String,
    session_token: Option<String>,
    region: String,
    service: String,
}

impl SigningData {
    fn of(signing: &Signing) -> Self {
        let keys = &signing.keys;
        Self {
            access_key_id: keys.access_key_id.clone(),
            session_token: keys.session_token.as_ref().map(|t| t.expose_secret().to_owned()),
            region: signing.region.clone(),
            service: signing.service.clone(),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Options {
    #[serde(deserialize_with = "present")]
    api_key: Option<Option<String>>,
    temperature: Option<f64>,
    max_tokens: Option<u64>,
    cache_retention: Option<CacheRetention>,
    session_id: Option<String>,
    metadata: Map<String, Value>,
    tool_choice: Option<ToolChoice>,
    reasoning: Option<ThinkingLevel>,
    thinking_budgets: ThinkingBudgets,
    headers: BTreeMap<String, Option<String>>,
    sampling_params: Map<String, Value>,
    env: BTreeMap<String, String>,
    /// `bearer` for a token instead of a key.
    key_scheme: Option<String>,
    identity: Value,
}

fn present<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(d).map(Some)
}

impl Options {
    fn into_call(self, model: Model, context: Context) -> Call {
        let mut options = StreamOptions::default();
        if let Some(value) = self.identity.get("attribution") {
            let mut attribution = Attribution::new(value["name"].as_str().unwrap_or_default());
            attribution.url = value["url"].as_str().map(str::to_owned);
            for category in value["categories"].as_array().into_iter().flatten() {
                attribution.categories.extend(category.as_str().map(str::to_owned));
            }
            options.identity.attribution = Some(attribution);
        }
        options.temperature = self.temperature;
        options.max_tokens = self.max_tokens;
        options.cache_retention = self.cache_retention;
        options.session_id = self.session_id;
        options.metadata = self.metadata;
        options.tool_choice = self.tool_choice;
        options.reasoning = self.reasoning;
        options.thinking_budgets = self.thinking_budgets;
        options.headers = self.headers;
        options.sampling_params = self.sampling_params;
        options.env = self.env;
        let key = self.api_key.unwrap_or(Some("sk-dummy".to_owned()));
        let request = Request::new(Arc::new(model), context, options);
        let mut call = Call::new(request, key.map(Into::into), &|_| None);
        if self.key_scheme.is_some() {
            call.key_scheme = KeyScheme::Bearer;
        }
        call
    }
}

fn check(api: &str) {
    // `PI_REQUESTS=directory cargo test …` compares another recording.
    #[allow(clippy::disallowed_methods)]
    let directory = std::env::var("PI_REQUESTS")
        .unwrap_or_else(|_| format!("{}/tests/fixtures/requests", env!("CARGO_MANIFEST_DIR")));
    let text = std::fs::read_to_string(format!("{directory}/{api}.jsonl")).unwrap();
    let mut lines = text.lines();
    let models: Models = json::from_str_repairing(lines.next().unwrap()).unwrap();
    // `PI_CASE=name cargo test …` runs one case alone.
    #[allow(clippy::disallowed_methods)]
    let only = std::env::var("PI_CASE").ok();
    let (mut failures, mut total) = (Vec::new(), 0);
    for line in lines {
        let case: Case = json::from_str_repairing(line).unwrap();
        if only.as_ref().is_some_and(|only| !case.name.contains(only)) {
            continue;
        }
        total += 1;
        if let Err(difference) = run(api, &case.name.clone(), case, &models.models) {
            failures.push(difference);
        }
    }
    let count = failures.len();
    assert!(count == 0, "{count} of {total} requests differ\n{}", failures.join("\n"));
}

fn run(api: &str, name: &str, case: Case, models: &BTreeMap<String, Model>) -> Result<(), String> {
    let format = wire::format(api).unwrap();
    let model = models[&case.model].clone();
    let call = case.options.into_call(model, case.context);
    let request = match ((format.encode)(&call), case.error) {
        (Ok(_), Some(error)) => return Err(format!("{name}: encoded, expected error {error:?}")),
        (Err(error), Some(expected)) if error.to_string() == expected => return Ok(()),
        (Err(error), expected) => {
            return Err(format!("{name}: error {error}, expected {expected:?}"));
        }
        (Ok(request), None) => request,
    };
    let mut differences = Vec::new();
    if Some(&request.url) != case.url.as_ref() {
        differences.push(format!(
            "  url: {}\n  expected: {}",
            request.url,
            case.url.unwrap_or_default()
        ));
    }
    let headers: BTreeMap<String, String> = (format.headers)(&call, request.headers)
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .filter(|(name, _)| name != "user-agent" && name != "accept")
        .collect();
    compare(
        "headers",
        &serde_json::to_value(headers).unwrap(),
        &serde_json::to_value(case.headers).unwrap(),
        &mut differences,
    );
    compare("body", &request.body, &case.body.unwrap_or_default(), &mut differences);
    let signing = request.signing.as_ref().map(SigningData::of);
    if signing != case.signing {
        differences.push(format!("  signing: {signing:?}, expected {:?}", case.signing));
    }
    let level = (format.thinking_level)(&call);
    if level != case.provider_thinking_level {
        differences.push(format!(
            "  providerThinkingLevel: {level:?}, expected {:?}",
            case.provider_thinking_level
        ));
    }
    if differences.is_empty() {
        Ok(())
    } else {
        Err(format!("{name} ({})\n{}", case.model, differences.join("\n")))
    }
}

/// Lists the paths at which two JSON values differ. Numbers compare like JavaScript numbers.
fn compare(path: &str, ours: &Value, theirs: &Value, out: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                match b.get(key) {
                    Some(other) => compare(&format!("{path}.{key}"), value, other, out),
                    None => out.push(format!("  {path}.{key}: {value}, expected nothing")),
                }
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                out.push(format!("  {path}.{key}: missing, expected {value}"));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}[{index}]"), a, b, out);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (a, b) if a == b => {}
        (a, b) => out.push(format!("  {path}: {a}\n    expected: {b}")),
    }
}

#[test]
fn anthropic_messages_requests_match() {
    check("anthropic-messages");
}

#[test]
fn openai_completions_requests_match() {
    check("openai-completions");
}

#[test]
fn openai_responses_requests_match() {
    check("openai-responses");
}

#[test]
fn openai_codex_responses_requests_match() {
    check("openai-codex-responses");
}

#[test]
fn google_generative_ai_requests_match() {
    check("google-generative-ai");
}

#[test]
fn azure_openai_responses_requests_match() {
    check("azure-openai-responses");
}

#[test]
fn mistral_conversations_requests_match() {
    check("mistral-conversations");
}

#[test]
fn pi_messages_requests_match() {
    check("pi-messages");
}

#[test]
fn bedrock_converse_stream_requests_match() {
    check("bedrock-converse-stream");
}

#[test]
fn google_vertex_requests_match() {
    check("google-vertex");
}

#[test]
fn a_model_without_known_limits_is_not_limited() {
    for format in wire::FORMATS {
        let model = serde_json::json!({
            "id": "m", "api": format.api, "provider": "p", "baseUrl": "http://x", "reasoning": true,
        });
        let model: Model = serde_json::from_value(model).unwrap();
        for reasoning in [None, Some(ThinkingLevel::Low)] {
            // The key of a ChatGPT sign-in names its account.
            let claims =
                "eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYSJ9fQ";
            let api_key = Some(Some(format!("h.{claims}.s")));
            let options = Options { reasoning, api_key, ..Options::default() };
            let call = options.into_call(model.clone(), Context::new().user("hi"));
            let body = (format.encode)(&call).unwrap().body;
            // Anthropic's API requires a limit, which must be large enough for an answer.
            let limit = body["max_tokens"].as_u64();
            assert_eq!(limit.is_some(), format.api == "anthropic-messages", "{body}");
            assert!(limit.is_none_or(|limit| limit >= 4096), "{body}");
            let names = [
                "/max_completion_tokens",
                "/max_output_tokens",
                "/generationConfig/maxOutputTokens",
                "/inferenceConfig/maxTokens",
            ];
            for name in names {
                assert!(body.pointer(name).is_none(), "{body}");
            }
        }
    }
}
