//! Answers, compared with those that the TypeScript pi 1.5.0 made of the same bytes.
//!
//! `fixtures/answers/API.jsonl`: every line has the status and the body of a response, and the
//! observed message and events. For an intended difference, the expectation was changed and
//! `deviation` has the reason. Empty deltas, which change nothing, and the event `start`, which comes
//! from the client, are not compared.

use std::sync::Arc;

use pi_ai::wire::{self, Call, HttpFailure};
use pi_ai::{Context, MessageBuilder, Model, Request, StopReason, StreamOptions};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    name: String,
    status: u16,
    answer: String,
    #[serde(default)]
    content: Vec<Value>,
    stop_reason: Option<StopReason>,
    raw_stop_reason: Option<String>,
    error: Option<String>,
    response_id: Option<String>,
    response_model: Option<String>,
    provider_thinking_level: Option<String>,
    #[serde(default)]
    usage: Map<String, Value>,
    #[serde(default)]
    events: Vec<String>,
    #[serde(rename = "deviation")]
    _deviation: Option<String>,
}

fn load(api: &str) -> Vec<Case> {
    let path = format!("{}/tests/fixtures/answers/{api}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn check(api: &str, provider: &str, model: &str) {
    let mut failures = Vec::new();
    for case in load(api) {
        let expected = expectation(&case);
        for size in [case.answer.len().max(1), 1, 7] {
            let observed = decode(api, (provider, model), &case, size);
            if observed != expected {
                failures.push(format!("{}\n  {observed}\n  expected:\n  {expected}", case.name));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{} answers differ\n{}", failures.len(), failures.join("\n"));
}

fn expectation(case: &Case) -> Value {
    let events: Vec<_> = case.events.iter().filter(|event| is_compared(event)).collect();
    json!({
        "content": case.content,
        "stopReason": case.stop_reason,
        "rawStopReason": case.raw_stop_reason,
        "error": case.error,
        "responseId": case.response_id,
        "responseModel": case.response_model,
        "providerThinkingLevel": case.provider_thinking_level,
        "usage": case.usage,
        "events": events,
    })
}

fn decode(api: &str, (provider, model): (&str, &str), case: &Case, size: usize) -> Value {
    let format = wire::format(api).unwrap();
    let model: Model = serde_json::from_value(json!({
        "id": model, "api": api, "provider": provider, "baseUrl": "https://example.invalid",
    }))
    .unwrap();
    let context = Context::new().user("hi");
    let request = Request::new(Arc::new(model.clone()), context, StreamOptions::default());
    let call = Call::new(request, Some("key".to_owned().into()), &|_| None);
    let mut out = MessageBuilder::new(&model);
    if case.status == 200 {
        out.start();
        let mut decoder = (format.decoder)(&call);
        for piece in case.answer.as_bytes().chunks(size) {
            decoder.push(piece, &mut out);
        }
        decoder.finish(&mut out);
    } else {
        let failure = HttpFailure::new(case.status, case.answer.clone());
        out.fail(StopReason::Error, (format.error_text)(&call, &failure));
    }
    let events: Vec<String> = std::iter::from_fn(|| out.pop_event())
        .filter(|_| case.status == 200)
        .map(|event| short(&serde_json::to_value(event).unwrap()))
        .filter(|event| is_compared(event))
        .collect();
    let message = serde_json::to_value(out.into_message()).unwrap();
    let names = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];
    let usage: Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), message["usage"][name].clone()))
        .filter(|(_, count)| count != 0)
        .collect();
    json!({
        "content": message["content"],
        "stopReason": message["stopReason"],
        "rawStopReason": message.get("rawStopReason"),
        "error": message.get("errorMessage"),
        "responseId": message.get("responseId"),
        "responseModel": message.get("responseModel"),
        "providerThinkingLevel": message.get("providerThinkingLevel"),
        "usage": usage,
        "events": events,
    })
}

fn is_compared(event: &str) -> bool {
    event != "start" && !event.ends_with(" \"\"")
}

/// Formats an event as in the fixture: type, content index and delta.
fn short(event: &Value) -> String {
    let index = event.get("contentIndex").map(Value::to_string);
    let delta = event.get("delta").map(Value::to_string);
    let kind = event["type"].as_str().unwrap_or_default().to_owned();
    [Some(kind), index, delta].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[test]
fn mistral_conversations_answers_match() {
    check("mistral-conversations", "mistral", "mistral-medium-3.5");
}

#[test]
fn pi_messages_answers_match() {
    check("pi-messages", "radius", "auto");
}

proptest! {
    /// Events of several answers in any order end in one terminal event, and cuts change nothing.
    #[test]
    fn mixed_answers_do_not_depend_on_cuts(
        mistral in any::<bool>(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        size in 1..40_usize,
    ) {
        let api = if mistral { "mistral-conversations" } else { "pi-messages" };
        let cases = load(api);
        let all = cases.iter().filter(|case| case.status == 200);
        let events: Vec<&str> = all.flat_map(|case| case.answer.split_inclusive("\n\n")).collect();
        let answer: String = picks.iter().map(|pick| *pick.get(&events)).collect();
        let case = Case { answer, ..serde_json::from_value(json!({
            "name": "mixed", "status": 200, "answer": "", "stopReason": null,
        })).unwrap() };
        let whole = decode(api, ("p", "m"), &case, case.answer.len().max(1));
        prop_assert_eq!(&whole, &decode(api, ("p", "m"), &case, size));
        let terminal = |event: &Value| event == "done" || event == "error";
        let events = whole["events"].as_array().unwrap();
        prop_assert_eq!(events.iter().filter(|event| terminal(event)).count(), 1);
        prop_assert!(events.last().is_some_and(terminal));
    }
}
