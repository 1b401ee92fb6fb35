//! Streams that the recordings lack: proxies that retry, models that take over.

use std::fmt::Write as _;
use std::sync::Arc;

use pi_protocol::{
    AssistantMessage, Context, MessageBuilder, Model, Request, StopReason, StreamOptions,
};
use serde_json::json;

use crate::wire::Call;
use crate::wire::anthropic::FORMAT;

fn decode(payloads: &[&str]) -> AssistantMessage {
    let model: Arc<Model> = Arc::new(
        serde_json::from_value(json!({
            "id": "asked", "api": "anthropic-messages", "provider": "anthropic",
            "baseUrl": "http://localhost:1", "cost": {"input": 1, "output": 1},
            "compat": {"allowedFallbackModels": [
                {"provider": "anthropic", "model": "other", "cost": {"input": 100, "output": 100}},
            ]},
        }))
        .unwrap(),
    );
    let request =
        Request::new(Arc::clone(&model), Context::new().user("hi"), StreamOptions::default());
    let call = Call::new(request, Some("key".to_owned().into()), &|_| None);
    let mut decoder = (FORMAT.decoder)(&call);
    let mut out = MessageBuilder::new(&model);
    let mut body = String::new();
    for payload in payloads {
        write!(body, "data: {payload}\n\n").unwrap();
    }
    decoder.push(body.as_bytes(), &mut out);
    decoder.finish(&mut out);
    assert!(out.is_finished());
    out.into_message()
}

fn start(id: &str) -> String {
    json!({"type": "message_start", "message": {"id": id, "model": "asked", "content": null,
        "usage": {"input_tokens": 10, "output_tokens": 1}}})
    .to_string()
}

const FALLBACK: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"fallback","from":{"model":"asked"},"to":{"model":"other"}}}"#;
const TEXT: &str =
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"ok"}}"#;
const TEXT_END: &str = r#"{"type":"content_block_stop","index":1}"#;
const CALL: &str = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"lookup","input":{}}}"#;
const HALF: &str = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"value\":\"Sp"}}"#;
const END: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1000000}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

#[test]
fn a_fallback_before_any_content_changes_the_model() {
    let message = decode(&[&start("1"), FALLBACK, TEXT, TEXT_END, END, STOP]);
    assert_eq!(message.stop_reason, StopReason::Stop);
    assert_eq!(message.text(), "ok");
    assert_eq!(message.response_model.as_deref(), Some("other"));
    assert!((message.usage.cost.output - 100.0).abs() < 1e-9, "{:?}", message.usage.cost);
}

#[test]
fn a_fallback_after_content_is_an_error() {
    let message = decode(&[&start("1"), TEXT, TEXT_END, FALLBACK, END, STOP]);
    assert_eq!(message.stop_reason, StopReason::Error);
    assert_eq!(
        message.error_message.as_deref(),
        Some("Anthropic performed an unsupported mid-output model fallback")
    );
}

#[test]
fn a_second_message_after_content_is_an_error() {
    let message = decode(&[&start("1"), CALL, HALF, &start("2"), TEXT, TEXT_END, END, STOP]);
    assert_eq!(message.stop_reason, StopReason::Error);
    let error = message.error_message.unwrap();
    assert!(error.starts_with("Anthropic stream ended before message_stop"), "{error}");
    assert_eq!(message.response_id.as_deref(), Some("1"));
}

#[test]
fn a_message_start_may_repeat_before_any_content() {
    for second in ["1", "2"] {
        let message = decode(&[&start("1"), &start(second), TEXT, TEXT_END, END, STOP]);
        assert_eq!(message.stop_reason, StopReason::Stop);
        assert_eq!(message.response_id.as_deref(), Some(second));
        assert_eq!(message.text(), "ok");
    }
    let message = decode(&[&start("1"), TEXT, &start("1"), TEXT_END, END, STOP]);
    assert_eq!(message.text(), "ok");
}
