//! Streams that the recordings lack: failures, and servers that deviate from the format.

use std::fmt::Write as _;
use std::sync::Arc;

use pi_protocol::{
    AssistantBlock, AssistantMessage, Context, MessageBuilder, Request, StopReason, StreamOptions,
    Tool,
};
use serde_json::{Value, json};

use crate::wire::Call;
use crate::wire::completions::FORMAT;

fn decode_body(body: &str, compat: &Value, tools: Vec<Tool>) -> AssistantMessage {
    let model = json!({
        "id": "m", "api": "openai-completions", "provider": "p", "reasoning": true,
        "baseUrl": "http://localhost:1", "compat": compat,
    });
    let model = Arc::new(serde_json::from_value(model).unwrap());
    let context = Context { tools, ..Context::new().user("hi") };
    let options = StreamOptions::default();
    let request = Request::new(Arc::clone(&model), context, options);
    let call = Call::new(request, Some("key".to_owned().into()), &|_| None);
    let mut decoder = (FORMAT.decoder)(&call);
    let mut out = MessageBuilder::new(&model);
    decoder.push(body.as_bytes(), &mut out);
    decoder.finish(&mut out);
    assert!(out.is_finished());
    out.into_message()
}

/// Decodes payloads followed by `[DONE]`.
fn decode(payloads: &[&str]) -> AssistantMessage {
    let mut body = String::new();
    for payload in payloads {
        write!(body, "data: {payload}\n\n").unwrap();
    }
    decode_body(&format!("{body}data: [DONE]\n\n"), &json!({}), Vec::new())
}

/// Returns a chunk with this delta.
fn delta(delta: &str) -> String {
    format!(r#"{{"id":"1","model":"m","choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

/// Returns a chunk with this finish reason.
fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

/// Decodes deltas followed by a finish reason and `[DONE]`.
fn answer(deltas: &[&str], reason: &str) -> AssistantMessage {
    let mut payloads: Vec<String> = deltas.iter().map(|piece| delta(piece)).collect();
    payloads.push(finish(reason));
    decode(&payloads.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Formats the calls as `id name arguments`.
fn calls(message: &AssistantMessage) -> Vec<String> {
    let show = |call: &pi_protocol::ToolCall| {
        assert_eq!(call.arguments_error, None);
        format!("{} {} {}", call.id, call.name, Value::Object(call.arguments.clone()))
    };
    message.tool_calls().map(show).collect()
}

fn thinking(message: &AssistantMessage) -> Option<(&str, Option<&str>)> {
    message.content.iter().find_map(|block| match block {
        AssistantBlock::Thinking(t) => Some((&*t.thinking, t.thinking_signature.as_deref())),
        _ => None,
    })
}

#[test]
fn finish_reasons_become_stop_reasons() {
    let cases = [
        ("stop", StopReason::Stop, None),
        ("end", StopReason::Stop, None),
        ("length", StopReason::Length, None),
        ("tool_calls", StopReason::ToolUse, None),
        ("function_call", StopReason::ToolUse, None),
        ("content_filter", StopReason::Error, Some("Provider finish_reason: content_filter")),
        ("brand_new", StopReason::Error, Some("Provider finish_reason: brand_new")),
    ];
    for (reason, stop, error) in cases {
        let message = answer(&[r#"{"content":"x"}"#], reason);
        assert_eq!(message.stop_reason, stop, "{reason}");
        assert_eq!(message.error_message.as_deref(), error, "{reason}");
        assert_eq!(message.raw_stop_reason.as_deref(), Some(reason));
        assert_eq!(message.text(), "x");
    }
}

#[test]
fn a_later_reason_does_not_undo_a_failure() {
    let message =
        decode(&[&delta(r#"{"content":"x"}"#), &finish("content_filter"), &finish("stop")]);
    assert_eq!(message.stop_reason, StopReason::Error);
    let message = decode(&[&delta(r#"{"content":"x"}"#), &finish("length"), &finish("stop")]);
    assert_eq!(message.stop_reason, StopReason::Stop);
}

#[test]
fn without_a_reason_only_an_answer_with_usage_is_complete() {
    let text = delta(r#"{"content":"x"}"#);
    let counted = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    assert_eq!(decode(&[&text, counted]).stop_reason, StopReason::Stop);
    let cut = decode(&[&text]);
    assert_eq!(cut.error_message.as_deref(), Some("Stream ended without finish_reason"));
    assert_eq!(cut.text(), "x");
    let body = format!("data: {text}\n\ndata: {counted}\n\n");
    assert_eq!(decode_body(&body, &json!({}), vec![]).stop_reason, StopReason::Error);
    for body in ["", ": ping\n\n", "data: [DONE]\n\n"] {
        let message = decode_body(body, &json!({}), vec![]);
        assert_eq!(message.error_message.as_deref(), Some("Stream ended without finish_reason"));
    }
}

#[test]
fn a_server_without_finish_reasons_completes_at_the_end() {
    let silent = json!({"supportsFinishReason": false});
    let text = format!("data: {}\n\n", delta(r#"{"content":"x"}"#));
    assert_eq!(decode_body(&text, &silent, vec![]).stop_reason, StopReason::Stop);
    let call = delta(r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f"}}]}"#);
    let call = decode_body(&format!("data: {call}\n\n"), &silent, vec![]);
    assert_eq!(call.stop_reason, StopReason::ToolUse);
    assert_eq!(decode_body("", &silent, vec![]).stop_reason, StopReason::Error);
}

#[test]
fn an_error_in_the_stream_fails_the_answer() {
    let cases = [
        (r#"{"error":{"message":"boom","code":502}}"#, "boom"),
        (
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"no GPU left"}}}"#,
            "Provider returned error\nno GPU left",
        ),
        (r#"{"error":"boom"}"#, "boom"),
        (r#"{"error":{"code":502,"type":"x"}}"#, r#"{"code":502,"type":"x"}"#),
        (r#"[{"error":{"code":500,"message":"Internal"}}]"#, "Internal"),
        (r#"{"object":"error","message":"too long","code":400}"#, "too long"),
    ];
    for (payload, expected) in cases {
        let message = decode(&[&delta(r#"{"content":"par"}"#), payload, &finish("stop")]);
        assert_eq!(message.stop_reason, StopReason::Error, "{payload}");
        assert_eq!(message.error_message.as_deref(), Some(expected));
        assert_eq!(message.text(), "par");
    }
    for data in [r#"{"error":{"message":"boom"}}"#, r#"{"message":"boom"}"#, "boom"] {
        let body = format!("event: error\ndata: {data}\n\n");
        let message = decode_body(&body, &json!({}), vec![]);
        assert_eq!(message.error_message.as_deref(), Some("boom"));
    }
    for fine in ["null", "false", r#""""#] {
        let payload = format!(r#"{{"error":{fine},"choices":[{{"delta":{{"content":"x"}}}}]}}"#);
        assert_eq!(decode(&[&payload, &finish("stop")]).text(), "x");
    }
}

#[test]
fn an_invalid_event_is_an_error_that_quotes_it() {
    let message = decode(&[&delta(r#"{"content":"x"}"#), "{nope}"]);
    let error = message.error_message.unwrap_or_default();
    assert!(error.contains("a chunk") && error.ends_with("received: {nope}"), "{error}");
}

#[test]
fn deviating_chunks_are_repaired() {
    let cases = [
        (r#"{"role":"assistant","content":null,"tool_calls":null}"#, ""),
        (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "ab"),
        (r#"{"content":"a","reasoning":{"x":1},"audio":{},"tool_calls":{}}"#, "a"),
        (r#"{"content":"a","content":"b"}"#, "b"),
        ("{\"content\":\"a\tb\"}", "a\tb"),
        (r#"{"content":"a\ud83d"}"#, "a"),
        (r#"{"refusal":"I cannot"}"#, "I cannot"),
        ("null", ""),
        ("7", ""),
    ];
    for (piece, expected) in cases {
        let message = answer(&[piece], "stop");
        assert_eq!(message.stop_reason, StopReason::Stop, "{piece}");
        assert_eq!(message.text(), expected, "{piece}");
    }
    let payloads = [
        "null",
        r#"{"id":7,"choices":{}}"#,
        r#"{"id":"","choices":[]}"#,
        r#"{"id":"z","model":"other","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"delta":{"content":"y"},"message":{"content":"xy"},"finish_reason":""}]}"#,
    ];
    let message = decode(&payloads);
    assert_eq!((message.text().as_str(), message.stop_reason.clone()), ("xy", StopReason::Stop));
    assert_eq!(message.response_id.as_deref(), Some("z"));
    assert_eq!(message.response_model.as_deref(), Some("other"));
    let parts = r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}"#;
    assert_eq!(thinking(&answer(&[parts], "stop")), Some(("hm", Some("reasoning_content"))));
}

#[test]
fn reasoning_is_read_from_three_fields() {
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        let piece = format!(r#"{{"{field}":"hm"}}"#);
        let message = answer(&[&piece, r#"{"content":"x"}"#, &piece], "stop");
        assert_eq!(thinking(&message), Some(("hmhm", Some(field))));
        assert_eq!(message.content.len(), 2);
    }
    let both = answer(&[r#"{"reasoning":"A","reasoning_content":"B"}"#], "stop");
    assert_eq!(thinking(&both), Some(("B", Some("reasoning_content"))));
}

#[test]
fn reasoning_details_are_kept_and_shown_once() {
    let detail = r#""reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]"#;
    let signature = r#"[{"type":"reasoning.text","text":"aa","index":0}]"#;
    let only = format!("{{{detail}}}");
    let message = answer(&[&only, &only], "stop");
    assert_eq!(thinking(&message), Some(("aa", Some(signature))));
    let both = format!(r#"{{"reasoning":"a",{detail}}}"#);
    let message = answer(&[&both, &both], "stop");
    assert_eq!(thinking(&message), Some(("aa", Some(signature))));
    let encrypted = r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"E"}]}"#;
    let message = answer(&[r#"{"content":"x"}"#, encrypted], "stop");
    let expected = r#"[{"type":"reasoning.encrypted","data":"E"}]"#;
    assert_eq!(thinking(&message), Some(("", Some(expected))));
    let none = answer(&[r#"{"content":"x","reasoning_details":[]}"#], "stop");
    assert_eq!(thinking(&none), None);
}

#[test]
fn deltas_are_assigned_to_their_calls() {
    let cases: &[(&[&str], &[&str])] = &[
        (
            &[
                r#"[{"index":0,"id":"c1","function":{"name":"a","arguments":""}}]"#,
                r#"[{"index":1,"id":"c2","function":{"name":"b","arguments":"{\"y\":"}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"x\":1}"}},{"index":1,"function":{"arguments":"2}"}}]"#,
            ],
            &[r#"c1 a {"x":1}"#, r#"c2 b {"y":2}"#],
        ),
        // No index: by id, then the last call.
        (
            &[
                r#"[{"id":"c1","function":{"name":"a","arguments":"{\"x\":"}}]"#,
                r#"[{"id":"c1","function":{"arguments":"1"}}]"#,
                r#"[{"function":{"arguments":"}"}}]"#,
                r#"[{"id":"c2","function":{"name":"b","arguments":"{}"}}]"#,
            ],
            &[r#"c1 a {"x":1}"#, "c2 b {}"],
        ),
        // No index: several deltas without id in one chunk belong to the calls in their order.
        (
            &[
                r#"[{"id":"c1","function":{"name":"a","arguments":""}},{"id":"c2","function":{"name":"b","arguments":""}}]"#,
                r#"[{"function":{"arguments":"{\"x\":"}},{"function":{"arguments":"{\"y\":"}}]"#,
                r#"[{"function":{"arguments":"1}"}},{"function":{"arguments":"2}"}}]"#,
            ],
            &[r#"c1 a {"x":1}"#, r#"c2 b {"y":2}"#],
        ),
        // An index only in later deltas.
        (
            &[
                r#"[{"id":"c1","function":{"name":"a","arguments":"{\"x\":"}},{"id":"c2","function":{"name":"b","arguments":"{\"y\":"}}]"#,
                r#"[{"index":1,"function":{"arguments":"2}"}},{"index":0,"function":{"arguments":"1}"}}]"#,
            ],
            &[r#"c1 a {"x":1}"#, r#"c2 b {"y":2}"#],
        ),
        // The same index for every call, the id in every delta.
        (
            &[
                r#"[{"index":0,"id":"c1","function":{"name":"a","arguments":"{\"x\""}}]"#,
                r#"[{"index":0,"id":"c1","function":{"name":"a","arguments":":1}"}}]"#,
                r#"[{"index":0,"id":"c2","function":{"name":"b","arguments":"{}"}}]"#,
            ],
            &[r#"c1 a {"x":1}"#, "c2 b {}"],
        ),
        // A new id in every delta of one call.
        (
            &[
                r#"[{"index":0,"id":"r1","function":{"name":"a","arguments":"{\"x\""}}]"#,
                r#"[{"index":0,"id":"r2","function":{"name":"a","arguments":":1}"}}]"#,
                r#"[{"index":0,"id":"r3","function":{"arguments":""}}]"#,
            ],
            &[r#"r1 a {"x":1}"#],
        ),
        // Id and name arrive late, or the name in parts.
        (
            &[
                r#"[{"index":0,"function":{"arguments":"{"}}]"#,
                r#"[{"index":0,"id":"c1","function":{"name":"a","arguments":"}"}}]"#,
            ],
            &["c1 a {}"],
        ),
        (
            &[
                r#"[{"index":0,"id":"c1","function":{"name":"re","arguments":""}}]"#,
                r#"[{"index":0,"function":{"name":"ad","arguments":"{}"}}]"#,
            ],
            &["c1 read {}"],
        ),
        // Arguments that are null or already parsed; an index that is text; an id that is a number.
        (
            &[
                r#"[{"index":0,"id":"c1","function":{"name":"a","arguments":null}}]"#,
                r#"[{"index":"1","id":2,"function":{"name":"b","arguments":{"x":1}}},null]"#,
            ],
            &["c1 a {}", r#"2 b {"x":1}"#],
        ),
    ];
    for (pieces, expected) in cases {
        let deltas: Vec<String> =
            pieces.iter().map(|piece| format!(r#"{{"tool_calls":{piece}}}"#)).collect();
        let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
        let message = answer(&deltas, "tool_calls");
        assert_eq!(calls(&message), *expected);
        assert_eq!(message.stop_reason, StopReason::ToolUse);
    }
}

#[test]
fn calls_without_ids_get_distinct_ids() {
    let piece = r#"{"tool_calls":[{"function":{"name":"a","arguments":"{}"}},{"function":{"name":"a","arguments":"{}"}}]}"#;
    let message = answer(&[piece], "stop");
    assert_eq!(message.stop_reason, StopReason::ToolUse, "a call means that results are awaited");
    let ids: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.starts_with("call_")), "{ids:?}");
}

#[test]
fn a_signed_call_keeps_its_signature() {
    let signed = r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"a","arguments":""},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}"#;
    let rest =
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"},"extra_content":"odd"}]}"#;
    let message = answer(&[signed, rest], "tool_calls");
    assert_eq!(calls(&message), ["c a {}"]);
    let signature = message.tool_calls().next().and_then(|call| call.thought_signature.as_deref());
    assert_eq!(signature, Some("c2ln"));
}

#[test]
fn malformed_arguments_are_reported() {
    let piece = r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"a","arguments":"{\"x\":1,,}"}}]}"#;
    let message = answer(&[piece], "tool_calls");
    let error = message.tool_calls().next().and_then(|call| call.arguments_error.as_deref());
    assert!(error.is_some_and(|error| error.ends_with("{\"x\":1,,}")), "{error:?}");
}

#[test]
fn the_input_of_a_custom_tool_is_its_argument() {
    let grammar = json!({
        "name": "patch", "parameters": {"type": "object", "properties": {"text": {"type": "string"}},
        "required": ["text"]},
        "constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "start: X"}},
    });
    let tools: Vec<Tool> = vec![serde_json::from_value(grammar).unwrap()];
    let payloads = [
        delta(
            r#"{"tool_calls":[{"index":0,"id":"c1","type":"custom","custom":{"name":"patch","input":""}}]}"#,
        ),
        delta(r#"{"tool_calls":[{"index":0,"custom":{"input":"ab\"\n"}}]}"#),
        delta(r#"{"tool_calls":[{"index":0,"custom":{"input":"c"}}]}"#),
        delta(r#"{"tool_calls":[{"index":1,"id":"c2","custom":{"name":"other","input":"q"}}]}"#),
        delta(r#"{"tool_calls":[{"index":2,"id":"c3","custom":{"name":"patch"}}]}"#),
        finish("tool_calls"),
    ];
    let body = payloads.map(|payload| format!("data: {payload}\n\n")).concat();
    let message = decode_body(&body, &json!({"supportsOpenAIGrammarTools": true}), tools);
    assert_eq!(
        calls(&message),
        [r#"c1 patch {"text":"ab\"\nc"}"#, r#"c2 other {"input":"q"}"#, r#"c3 patch {"text":""}"#]
    );
}

#[test]
fn usage_is_read_from_all_known_places() {
    let last = r#"{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":9,"completion_tokens":2}}]}"#;
    let message = decode(&[&delta(r#"{"content":"x"}"#), last]);
    assert_eq!((message.usage.input, message.usage.output), (9, 2));
    let llama = r#"{"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"usage":{"completion_tokens":3,"prompt_tokens":4,"total_tokens":7},"timings":{"prompt_n":4}}"#;
    let message = decode(&[&delta(r#"{"role":"assistant","content":null}"#), llama]);
    assert_eq!((message.usage.total_tokens, message.content.len()), (7, 0));
    let odd = r#"{"choices":[],"usage":[1]}"#;
    assert_eq!(decode(&[&delta(r#"{"content":"x"}"#), &finish("stop"), odd]).usage.output, 0);
}
