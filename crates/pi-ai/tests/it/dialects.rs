//! The dialect of every provider in the catalog, compared with the TypeScript pi 1.5.0.
//!
//! `fixtures/dialects.jsonl`: the first line has a conversation, every other line a model of the
//! catalog and the observed request. There is a line for every combination of provider, format, base
//! URL and compatibility flags, with and without thinking. Models come from the catalog, so that
//! wrong flags there fail as well. The session header of OpenCode, which the client adds, is left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pi_ai::wire::{self, Call};
use pi_ai::{CacheRetention, Context, Model, Request, StreamOptions, ThinkingLevel, catalog};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Head {
    conversation: Value,
}

#[derive(Deserialize)]
struct Case {
    provider: String,
    model: String,
    api: String,
    options: Options,
    url: String,
    headers: BTreeMap<String, String>,
    body: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    session_id: String,
    cache_retention: CacheRetention,
    reasoning: Option<ThinkingLevel>,
}

fn load() -> (Value, Vec<Case>) {
    let path = format!("{}/tests/fixtures/dialects.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let head: Head = serde_json::from_str(lines.next().unwrap()).unwrap();
    (head.conversation, lines.map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Returns the model of a case, with the places that a user configures.
fn model(case: &Case) -> Model {
    let found = catalog::models(&case.provider)
        .find(|model| model.id == case.model && model.api == case.api);
    let mut model = found.unwrap_or_else(|| panic!("{}/{}", case.provider, case.model));
    model.base_url = model
        .base_url
        .replace("{CLOUDFLARE_ACCOUNT_ID}", "account")
        .replace("{CLOUDFLARE_GATEWAY_ID}", "gateway");
    if model.base_url.is_empty() {
        model.base_url = "https://resource.openai.azure.com/openai/v1".to_owned();
    }
    model
}

/// Fills the placeholders of the conversation, so that `model` wrote its answer.
fn conversation(template: &Value, model: &Model) -> Context {
    let signature = match model.api.as_str() {
        api if api.contains("responses") => {
            r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}"#
        }
        "openai-completions" => "reasoning_content",
        _ => "c2ln",
    };
    let mut context = template.clone();
    let message = &mut context["messages"][1];
    message["api"] = model.api.as_str().into();
    message["provider"] = model.provider.as_str().into();
    message["model"] = model.id.as_str().into();
    message["content"][0]["thinkingSignature"] = signature.into();
    serde_json::from_value(context).unwrap()
}

#[test]
fn requests_match_in_every_dialect() {
    let (template, cases) = load();
    let mut failures = Vec::new();
    for case in cases {
        let model = model(&case);
        let context = conversation(&template, &model);
        let mut options = StreamOptions::default();
        options.session_id = Some(case.options.session_id.clone());
        options.cache_retention = Some(case.options.cache_retention);
        options.reasoning = case.options.reasoning;
        let request = Request::new(Arc::new(model), context, options);
        let call = Call::new(request, Some("sk-dummy".to_owned().into()), &|_| None);
        let request = (wire::format(&case.api).unwrap().encode)(&call).unwrap();
        let headers: BTreeMap<String, String> = call
            .headers(request.headers)
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .filter(|(name, _)| name != "user-agent" && name != "accept")
            .collect();
        let name = format!("{}/{} {:?}", case.provider, case.model, case.options.reasoning);
        let mut compare = |what: &str, ours: Value, theirs: Value| {
            if numbers_as_floats(ours.clone()) != numbers_as_floats(theirs.clone()) {
                failures.push(format!("{name} {what}\n  {ours}\n  expected:\n  {theirs}"));
            }
        };
        compare("url", request.url.into(), case.url.into());
        compare("headers", serde_json::json!(headers), serde_json::json!(case.headers));
        compare("body", request.body, case.body);
    }
    assert!(failures.is_empty(), "{} requests differ\n{}", failures.len(), failures.join("\n"));
}

/// Numbers compare like those of JavaScript.
fn numbers_as_floats(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.into_iter().map(numbers_as_floats).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, numbers_as_floats(value))).collect()
        }
        other => other,
    }
}

#[test]
fn every_provider_of_these_formats_is_compared() {
    let (_, cases) = load();
    let apis: BTreeSet<&str> = cases.iter().map(|case| case.api.as_str()).collect();
    let compared: BTreeSet<(String, String)> =
        cases.iter().map(|case| (case.provider.clone(), case.api.clone())).collect();
    let known: BTreeSet<(String, String)> = catalog::providers()
        .flat_map(catalog::models)
        .filter(|model| apis.contains(model.api.as_str()))
        .map(|model| (model.provider, model.api))
        .collect();
    assert_eq!(known, compared);
}
