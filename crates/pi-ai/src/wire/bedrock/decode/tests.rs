//! Streams that recordings do not have: errors, odd orders, damage.

use std::sync::Arc;

use pi_protocol::{AssistantMessage, Context, Model, Request, StreamOptions};
use serde_json::{Value, json};

use super::*;
use crate::wire::bedrock::frame::encoded;

fn event(kind: &str, payload: &Value) -> Vec<u8> {
    let headers =
        [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    encoded(&headers, payload.to_string().as_bytes())
}

fn exception(kind: &str, payload: &str) -> Vec<u8> {
    let headers = [(":exception-type", kind), (":message-type", "exception")];
    encoded(&headers, payload.as_bytes())
}

fn start() -> Vec<u8> {
    event("messageStart", &json!({"role": "assistant"}))
}

fn delta(index: u64, delta: &Value) -> Vec<u8> {
    event("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta}))
}

fn text(index: u64, text: &str) -> Vec<u8> {
    delta(index, &json!({"text": text}))
}

fn reasoning(part: &Value) -> Vec<u8> {
    delta(0, &json!({"reasoningContent": part}))
}

fn tool(index: u64, start: &Value) -> Vec<u8> {
    event("contentBlockStart", &json!({"contentBlockIndex": index, "start": {"toolUse": start}}))
}

fn end(index: u64) -> Vec<u8> {
    event("contentBlockStop", &json!({"contentBlockIndex": index}))
}

fn stop(reason: &str) -> Vec<u8> {
    event("messageStop", &json!({"stopReason": reason}))
}

fn metadata(usage: &Value) -> Vec<u8> {
    event("metadata", &json!({"usage": usage, "metrics": {"latencyMs": 5}}))
}

fn usage() -> Vec<u8> {
    metadata(&json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}))
}

fn decoded(body: &[u8]) -> AssistantMessage {
    let model = Model { id: "m".into(), ..Model::default() };
    let request =
        Request::new(Arc::new(model.clone()), Context::new().user("hi"), StreamOptions::default());
    let call = Call::new(request, None, &|_| None);
    let mut body_decoder = Body::new(&call);
    let mut headers = Headers::new();
    headers.set("X-Amzn-RequestId", "req-1");
    body_decoder.head(&headers);
    let mut out = MessageBuilder::new(&model);
    out.start();
    body_decoder.push(body, &mut out);
    body_decoder.finish(&mut out);
    assert!(out.is_finished());
    out.into_message()
}

/// Returns stop reason and error text, as the TypeScript pi reports them.
fn outcome(frames: &[Vec<u8>]) -> (String, String) {
    let message = decoded(&frames.concat());
    let stop = serde_json::to_value(&message.stop_reason).unwrap();
    (stop.as_str().unwrap().to_owned(), message.error_message.unwrap_or_default())
}

#[test]
fn stop_reasons() {
    let cases = [
        ("end_turn", "stop", ""),
        ("stop_sequence", "stop", ""),
        ("max_tokens", "length", ""),
        ("model_context_window_exceeded", "length", ""),
        ("tool_use", "toolUse", ""),
        ("guardrail_intervened", "error", "Provider stopped with: guardrail_intervened"),
        ("content_filtered", "error", "Provider stopped with: content_filtered"),
        ("new_reason", "error", "Provider stopped with: new_reason"),
    ];
    for (reason, expected, error) in cases {
        let frames = [start(), text(0, "a"), end(0), stop(reason), usage()];
        assert_eq!(outcome(&frames), (expected.into(), error.into()));
        let message = decoded(&frames.concat());
        assert_eq!(message.raw_stop_reason.as_deref(), Some(reason));
        assert_eq!((message.text(), message.usage.total_tokens), ("a".into(), 15));
    }
}

#[test]
fn incomplete_and_odd_streams() {
    let cut = {
        let frame = usage();
        frame[..frame.len() - 1].to_vec()
    };
    let html = b"<html>sign in</html>".to_vec();
    let cases: Vec<(&str, Vec<Vec<u8>>, &str)> = vec![
        ("no counts", vec![start(), text(0, "a"), end(0), stop("end_turn")], ""),
        ("no end of the block", vec![start(), text(0, "a"), stop("end_turn"), usage()], ""),
        ("no start", vec![text(0, "a"), end(0), stop("end_turn"), usage()], ""),
        (
            "an unknown event",
            vec![start(), event("future", &json!([1])), text(0, "a"), stop("end_turn"), usage()],
            "",
        ),
        (
            "a start of text",
            vec![
                start(),
                event("contentBlockStart", &json!({"contentBlockIndex": 0, "start": {}})),
                text(0, "a"),
                end(0),
                stop("end_turn"),
                usage(),
            ],
            "",
        ),
        (
            "no stop reason",
            vec![start(), text(0, "a"), end(0), usage()],
            "Bedrock stream ended without a stop reason",
        ),
        ("nothing", vec![], "Bedrock stream ended without a stop reason"),
        (
            "a cut frame",
            vec![start(), text(0, "a"), stop("end_turn"), cut],
            "Bedrock stream ended inside an event",
        ),
        (
            "no stream",
            vec![html],
            "Expected an event stream, but the server answered: <html>sign in</html>",
        ),
        (
            "damage",
            vec![start(), vec![0; 16]],
            "Bedrock sent an event whose checksum is wrong: the answer is damaged",
        ),
    ];
    for (name, frames, error) in cases {
        let expected = if error.is_empty() { "stop" } else { "error" };
        assert_eq!(outcome(&frames), (expected.into(), error.into()), "{name}");
    }
    let (_, error) = outcome(&[
        start(),
        encoded(&[(":event-type", "metadata"), (":message-type", "event")], b"{"),
    ]);
    assert!(error.starts_with("Could not read the provider's answer: Bedrock event: "), "{error}");
}

#[test]
fn exceptions_keep_the_answer_so_far() {
    let json = r#"{"message":"the text"}"#;
    let cases = [
        (exception("internalServerException", json), "Internal server error: the text"),
        (exception("modelStreamErrorException", json), "Model stream error: the text"),
        (exception("validationException", json), "Validation error: the text"),
        (exception("throttlingException", json), "Throttling error: the text"),
        (exception("serviceUnavailableException", json), "Service unavailable: the text"),
        (exception("newException", json), "NewException: the text"),
        (exception("newException", "no JSON"), "NewException: no JSON"),
        (exception("newException", ""), "NewException"),
        (
            encoded(
                &[
                    (":message-type", "error"),
                    (":error-code", "Oops"),
                    (":error-message", "it broke"),
                ],
                b"",
            ),
            "Oops: it broke",
        ),
    ];
    for (frame, expected) in cases {
        let message = decoded(&[start(), text(0, "a"), frame].concat());
        assert_eq!(message.error_message.as_deref(), Some(expected));
        assert_eq!(message.text(), "a");
        let [diagnostic] = &message.diagnostics[..] else { panic!("{:?}", message.diagnostics) };
        assert_eq!(diagnostic.kind, "bedrock_response_failure");
        let details = diagnostic.details.as_ref().unwrap();
        assert_eq!(details["requestId"], "req-1");
        assert!(details["errorCode"].is_string());
    }
}

/// Nothing is lost if a server uses an index again.
#[test]
fn an_index_may_be_used_again() {
    let frames = [
        start(),
        text(0, "a"),
        end(0),
        text(0, "b"),
        reasoning(&json!({"text": "hm"})),
        stop("end_turn"),
        usage(),
    ];
    let message = decoded(&frames.concat());
    let kinds: Vec<&str> = message
        .content
        .iter()
        .map(|block| match block {
            AssistantBlock::Text(text) => text.text.as_str(),
            AssistantBlock::Thinking(thinking) => thinking.thinking.as_str(),
            _ => "",
        })
        .collect();
    assert_eq!(kinds, ["a", "b", "hm"]);
}

#[test]
fn tool_calls() {
    let call = json!({"toolUseId": "t1", "name": "read"});
    let input = |part: &str| delta(0, &json!({"toolUse": {"input": part}}));
    let cases = [
        (vec![input("{\"a\":"), input("1}")], json!({"a": 1}), false),
        (vec![], json!({}), false),
        (vec![input("{\"a\":")], json!({}), true),
    ];
    for (deltas, arguments, has_error) in cases {
        let frames =
            [vec![start(), tool(0, &call)], deltas, vec![end(0), stop("tool_use"), usage()]]
                .concat();
        let message = decoded(&frames.concat());
        let call = message.tool_calls().next().unwrap();
        assert_eq!((call.id.as_str(), call.name.as_str()), ("t1", "read"));
        assert_eq!(serde_json::to_value(&call.arguments).unwrap(), arguments);
        assert_eq!(call.arguments_error.is_some(), has_error);
    }
}

#[test]
fn reasoning_is_signed_or_redacted() {
    // Parts, then text, signature and redaction of the block.
    let cases = [
        (
            vec![json!({"text": "hm"}), json!({"signature": "a"}), json!({"signature": "b"})],
            ("hm", Some("ab"), false),
        ),
        (vec![json!({"signature": "a"})], ("", Some("a"), false)),
        (vec![json!({"text": "hm"})], ("hm", None, false)),
        (
            vec![json!({"redactedContent": "RU5D"}), json!({"redactedContent": "Ug=="})],
            (REDACTED, Some("RU5DUg=="), true),
        ),
        (
            vec![json!({"redactedContent": "RQ=="}), json!({"redactedContent": "RU5D"})],
            (REDACTED, Some("RUVOQw=="), true),
        ),
    ];
    for (parts, (text, signature, redacted)) in cases {
        let deltas: Vec<Vec<u8>> = parts.iter().map(reasoning).collect();
        let body = [start(), deltas.concat(), end(0), stop("end_turn"), usage()].concat();
        let message = decoded(&body);
        let AssistantBlock::Thinking(thinking) = &message.content[0] else { panic!() };
        assert_eq!(
            (thinking.thinking.as_str(), thinking.thinking_signature.as_deref(), thinking.redacted),
            (text, signature, redacted)
        );
    }
}

#[test]
fn counts_include_the_classes_of_cache_writes() {
    let counts = json!({
        "inputTokens": 10, "outputTokens": 5, "totalTokens": 215,
        "cacheReadInputTokens": 100, "cacheWriteInputTokens": 100,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 60}, {"ttl": "5m", "inputTokens": 40}],
    });
    let message = decoded(&[start(), text(0, "a"), stop("end_turn"), metadata(&counts)].concat());
    let usage = &message.usage;
    assert_eq!((usage.input, usage.output), (10, 5));
    assert_eq!((usage.cache_read, usage.cache_write, usage.cache_write_1h), (100, 100, Some(60)));
    assert_eq!(usage.total_tokens, 215);

    let counts = json!({"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 100});
    let message = decoded(&[start(), text(0, "a"), stop("end_turn"), metadata(&counts)].concat());
    assert_eq!((message.usage.total_tokens, message.usage.cache_write_1h), (115, None));
}
