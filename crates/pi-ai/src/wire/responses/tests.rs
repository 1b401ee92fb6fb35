//! Streams that the recordings lack: errors, deviating servers, items that never end.

// Fixtures are easier to read as values.
#![allow(clippy::needless_pass_by_value)]

use std::sync::Arc;

use pi_protocol::{
    AssistantBlock, AssistantEvent, AssistantMessage, ConstrainedSampling, Context,
    GrammarVariants, Message, MessageBuilder, Model, Request, StopReason, StreamOptions, Tool,
};
use serde_json::{Value, json};

use super::FORMAT;
use crate::wire::{Call, HttpFailure};

fn call(context: Context) -> Call {
    let model: Model = serde_json::from_value(json!({
        "id": "gpt-5.5", "api": "openai-responses", "provider": "openai", "reasoning": true,
        "baseUrl": "https://api.openai.com/v1", "contextWindow": 1000, "maxTokens": 100,
        "cost": {"input": 5, "output": 30, "cacheRead": 0.5, "cacheWrite": 0},
        "compat": {"supportsOpenAIGrammarTools": true},
    }))
    .unwrap();
    let request = Request::new(Arc::new(model), context, StreamOptions::default());
    Call::new(request, Some("sk-key".to_owned().into()), &|_| None)
}

fn grammar_tool() -> Tool {
    let schema = json!({
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
    });
    let variants = GrammarVariants { openai_lark: Some("start: X".to_owned()), openai_regex: None };
    Tool {
        constrained_sampling: Some(ConstrainedSampling::Grammar { variants }),
        ..Tool::new("patch", "", schema)
    }
}

struct Answer {
    message: AssistantMessage,
    deltas: Vec<String>,
}

impl Answer {
    fn error(&self) -> &str {
        assert_eq!(self.message.stop_reason, StopReason::Error);
        self.message.error_message.as_deref().unwrap()
    }

    fn call(&self) -> &pi_protocol::ToolCall {
        self.message.tool_calls().next().unwrap()
    }
}

fn decode_raw(context: Context, body: &str) -> Answer {
    let call = call(context);
    let mut decoder = (FORMAT.decoder)(&call);
    let mut out = MessageBuilder::new(&call.model);
    decoder.push(body.as_bytes(), &mut out);
    decoder.finish(&mut out);
    let events: Vec<_> = std::iter::from_fn(|| out.pop_event()).collect();
    let deltas = events.iter().filter_map(|event| match event {
        AssistantEvent::TextDelta { delta, .. }
        | AssistantEvent::ThinkingDelta { delta, .. }
        | AssistantEvent::ToolCallDelta { delta, .. } => Some(delta.clone()),
        _ => None,
    });
    Answer { deltas: deltas.collect(), message: out.into_message() }
}

fn decode(events: &[Value]) -> Answer {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    decode_raw(Context::new().tool(grammar_tool()), &body)
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": text}]})
}

fn function(arguments: &str) -> Value {
    json!({
        "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read",
        "arguments": arguments,
    })
}

fn custom(input: &str) -> Value {
    json!({
        "type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "patch",
        "input": input,
    })
}

fn text_delta(delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": 0, "delta": delta})
}

fn completed() -> Value {
    terminal("response.completed", json!({"status": "completed"}))
}

fn terminal(kind: &str, response: Value) -> Value {
    json!({"type": kind, "response": response})
}

#[test]
fn items_without_numbers_are_found_by_id() {
    let answer = decode(&[
        json!({"type": "response.output_item.added",
            "item": {"type": "reasoning", "id": "rs_1", "summary": [], "content": []}}),
        json!({"type": "response.reasoning_text.delta", "item_id": "rs_1", "delta": "hm"}),
        json!({"type": "response.output_item.added",
            "item": {"type": "message", "id": "msg_1", "content": []}}),
        json!({"type": "response.output_text.delta", "item_id": "msg_1", "delta": "ok"}),
        json!({"type": "response.output_item.added", "item": function("")}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1",
            "delta": "{\"a\":1}"}),
        json!({"type": "response.output_item.done", "item": {"type": "reasoning", "id": "rs_1",
            "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}}),
        json!({"type": "response.output_item.done", "item": message("ok")}),
        json!({"type": "response.output_item.done", "item": function("{\"a\":1}")}),
        completed(),
    ]);
    assert_eq!(answer.message.stop_reason, StopReason::ToolUse);
    let kinds: Vec<_> = answer.message.content.iter().map(std::mem::discriminant).collect();
    assert_eq!(kinds.len(), 3, "{:?}", answer.message.content);
    assert!(matches!(&answer.message.content[0],
        AssistantBlock::Thinking(t) if t.thinking == "hm" && t.thinking_signature.is_some()));
    assert_eq!(answer.message.text(), "ok");
    assert_eq!(answer.call().arguments["a"], 1);
    assert_eq!(answer.call().id, "call_1|fc_1");
}

#[test]
fn items_without_numbers_and_ids_are_found_by_kind() {
    let answer = decode(&[
        json!({"type": "response.output_item.added", "item": {"type": "reasoning"}}),
        json!({"type": "response.reasoning_text.delta", "delta": "t"}),
        json!({"type": "response.output_item.added", "item": function("")}),
        json!({"type": "response.function_call_arguments.delta", "delta": "{}"}),
        json!({"type": "response.output_item.done",
            "item": {"type": "reasoning", "content": [{"text": "t"}]}}),
        json!({"type": "response.output_item.done", "item": function("{}")}),
        completed(),
    ]);
    assert_eq!(answer.message.content.len(), 2, "{:?}", answer.message.content);
    assert_eq!(answer.message.stop_reason, StopReason::ToolUse);
}

#[test]
fn items_with_changing_ids_are_found_by_number() {
    let answer = decode(&[
        added(0, json!({"type": "message", "id": "aaa", "content": []})),
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "bbb",
            "delta": "hi"}),
        done(
            0,
            json!({"type": "message", "id": "ccc",
            "content": [{"type": "output_text", "text": "hi"}]}),
        ),
        completed(),
    ]);
    assert_eq!(answer.message.content.len(), 1);
    assert_eq!(answer.message.text(), "hi");
}

#[test]
fn text_without_a_start_or_an_end_is_kept() {
    let answer = decode(&[text_delta("lost?"), completed()]);
    assert_eq!(answer.message.text(), "lost?");
    let answer = decode(&[done(0, message("whole")), completed()]);
    assert_eq!(
        (answer.message.text().as_str(), answer.deltas),
        ("whole", vec!["whole".to_owned()])
    );
    let answer = decode(&[terminal(
        "response.completed",
        json!({"status": "completed", "output": [message("not streamed"), function("{\"a\":1}")]}),
    )]);
    assert_eq!(answer.message.text(), "not streamed");
    assert_eq!(answer.message.stop_reason, StopReason::ToolUse);
}

#[test]
fn the_end_of_an_item_corrects_it() {
    let answer =
        decode(&[added(0, message("")), text_delta("Hel"), done(0, message("Other")), completed()]);
    assert_eq!(answer.message.text(), "Other");
    let answer =
        decode(&[added(0, message("")), text_delta("Hel"), done(0, message("Hello")), completed()]);
    assert_eq!(answer.deltas, ["Hel", "lo"]);
    let answer =
        decode(&[added(0, message("")), text_delta("kept"), done(0, message("")), completed()]);
    assert_eq!(answer.message.text(), "kept");
    let arguments = |whole: &str| {
        json!({"type": "response.function_call_arguments.done", "output_index": 0,
            "arguments": whole})
    };
    let answer = decode(&[
        added(0, function("")),
        arguments("{\"a\":1}"),
        done(0, function("{\"a\":2}")),
        completed(),
    ]);
    assert_eq!(answer.call().arguments["a"], 2);
}

#[test]
fn blank_lines_separate_the_parts_of_a_summary() {
    let delta = |text: &str| json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": text});
    let part_done = json!({"type": "response.reasoning_summary_part.done", "output_index": 0});
    let answer = decode(&[
        added(0, json!({"type": "reasoning", "id": "rs_1"})),
        delta("one"),
        part_done.clone(),
        delta("two"),
        part_done,
        done(
            0,
            json!({"type": "reasoning", "id": "rs_1",
            "summary": [{"text": "one"}, {"text": "two"}]}),
        ),
        completed(),
    ]);
    assert_eq!(answer.deltas, ["one", "\n\n", "two"]);
}

#[test]
fn encrypted_reasoning_is_filled_in_at_the_end() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let mut whole = item.clone();
    whole["encrypted_content"] = json!("LATE");
    let response = json!({"status": "completed", "output": [whole]});
    let answer = decode(&[done(0, item), terminal("response.completed", response)]);
    let AssistantBlock::Thinking(thinking) = &answer.message.content[0] else { panic!() };
    let signature: Value =
        serde_json::from_str(thinking.thinking_signature.as_deref().unwrap()).unwrap();
    assert_eq!(signature["encrypted_content"], "LATE");
}

#[test]
fn the_text_of_a_grammar_tool_becomes_its_argument() {
    let delta = |text: &str| json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": text});
    let events = [
        added(0, custom("")),
        delta(""),
        delta("ab\n"),
        delta("\"c\""),
        done(0, custom("ab\n\"c\"")),
        completed(),
    ];
    let answer = decode(&events);
    assert_eq!(answer.call().arguments["text"], "ab\n\"c\"");
    assert_eq!(answer.deltas, ["{\"text\":\"ab\\n", "\\\"c\\\"", "\"}"]);

    let answer = decode(&[added(0, custom("")), delta("abc"), done(0, custom("xyz")), completed()]);
    assert_eq!(answer.call().arguments["text"], "xyz");
    let answer = decode(&[done(0, custom("")), completed()]);
    assert_eq!(answer.call().arguments["text"], "");
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let undeclared = decode_raw(Context::new(), &body);
    assert_eq!(undeclared.call().arguments["input"], "ab\n\"c\"");
}

#[test]
fn a_grammar_call_of_the_wrong_shape_is_still_encoded() {
    let turn = |arguments: Value| {
        json!({"role": "assistant", "api": "openai-responses", "provider": "openai",
            "model": "gpt-5.5", "stopReason": "toolUse", "content": [{"type": "toolCall",
            "id": "call_1|ctc_1", "name": "patch", "arguments": arguments}]})
    };
    let cases =
        [(json!({}), ""), (json!({"text": 5}), "{\"text\":5}"), (json!({"text": "x"}), "x")];
    for (arguments, expected) in cases {
        let turn: Message = serde_json::from_value(turn(arguments)).unwrap();
        let context = Context::new().tool(grammar_tool()).user("hi").message(turn);
        let request = (FORMAT.encode)(&call(context)).unwrap();
        assert_eq!(request.body["input"][1]["input"], expected);
        assert_eq!(request.body["input"][2]["type"], "custom_tool_call_output");
    }
}

#[test]
fn errors_in_the_stream_are_reported_completely() {
    let error = |event: Value| decode(&[text_delta("par"), event]).error().to_owned();
    let cases = [
        (
            json!({"type": "error", "code": "server_error", "message": "m"}),
            "Error Code server_error: m",
        ),
        (json!({"type": "error", "code": null, "message": "m"}), "m"),
        (
            json!({"type": "error", "error": {"type": "x_error", "code": "c", "message": "m"}}),
            "Error Code c: m",
        ),
        (
            json!({"type": "error", "error": {"type": "x_error", "message": "m"}}),
            "Error Code x_error: m",
        ),
        (json!({"error": {"code": 502, "message": "bad gateway"}}), "Error Code 502: bad gateway"),
        (json!({"error": "boom"}), "boom"),
        (
            terminal(
                "response.failed",
                json!({"status": "failed",
                "error": {"code": "rate_limit_exceeded", "message": "m"}}),
            ),
            "rate_limit_exceeded: m",
        ),
        (terminal("response.failed", json!({"error": {"message": "m"}})), "unknown: m"),
        (
            terminal("response.failed", json!({"incomplete_details": {"reason": "r"}})),
            "incomplete: r",
        ),
        (terminal("response.failed", json!({})), "Unknown error (no error details in response)"),
    ];
    for (event, expected) in cases {
        assert_eq!(error(event.clone()), expected, "{event}");
    }
    let named = decode_raw(Context::new(), "event: error\ndata: {\"message\":\"named\"}\n\n");
    assert_eq!(named.error(), "named");
}

#[test]
fn statuses_become_stop_reasons() {
    let end =
        |response: Value| decode(&[text_delta("x"), terminal("response.completed", response)]);
    let incomplete =
        |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
    let length = end(incomplete("max_output_tokens")).message;
    assert_eq!(length.stop_reason, StopReason::Length);
    assert_eq!(length.raw_stop_reason.as_deref(), Some("incomplete.max_output_tokens"));
    assert_eq!(end(incomplete("content_filter")).error(), "Response incomplete: content_filter");
    let cases = [
        ("incomplete", "Response incomplete without a provider reason"),
        ("brand_new", "Unhandled stop reason: brand_new"),
        ("cancelled", "The provider cancelled the response"),
    ];
    for (status, expected) in cases {
        assert_eq!(end(json!({"status": status})).error(), expected);
    }
    for status in ["completed", "queued", "in_progress"] {
        assert_eq!(end(json!({"status": status})).message.stop_reason, StopReason::Stop);
    }
    assert_eq!(end(Value::Null).message.stop_reason, StopReason::Stop);
}

#[test]
fn an_answer_without_an_end_is_an_error_that_keeps_the_text() {
    for body in ["", "data: [DONE]\n\n", ": ping\n\n"] {
        let answer = decode_raw(Context::new(), body);
        assert_eq!(
            answer.error(),
            "OpenAI Responses stream ended before a terminal response event",
            "{body}"
        );
    }
    let cut = decode(&[added(0, message("")), text_delta("par")]);
    assert_eq!((cut.message.text().as_str(), cut.message.stop_reason), ("par", StopReason::Error));
    let body = format!("data: null\n\ndata: [DONE]\n\ndata: {}\n\n", completed());
    assert_eq!(decode_raw(Context::new(), &body).message.stop_reason, StopReason::Stop);
    let unfinished = decode(&[added(0, function("{\"a\":1}")), completed()]);
    assert_eq!(
        unfinished.error(),
        "OpenAI Responses stream completed with an unfinished tool call: read (call_1|fc_1)"
    );
}

#[test]
fn broken_json_is_repaired_or_reported() {
    let body = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\
                \"delta\":\"a\\ud83d\\q\"}\n\ndata: {\"type\":\"response.completed\"}\n\n";
    assert_eq!(decode_raw(Context::new(), body).message.text(), "a\\q");
    let answer = decode_raw(Context::new(), "data: {nope\n\ndata: x\n\n");
    assert!(answer.error().contains("received: {nope"), "{}", answer.error());
}

#[test]
fn fields_of_the_wrong_type_count_as_absent() {
    let answer = decode(&[
        json!({"type": "response.output_item.added", "output_index": null, "item": 5}),
        json!({"type": "response.output_text.delta", "output_index": "0", "item_id": null,
            "delta": "x", "logprobs": [[1]]}),
        json!({"type": "response.output_text.delta", "output_index": -1, "item_id": {"a": 1},
            "delta": "y"}),
        terminal(
            "response.completed",
            json!({"status": "completed", "output": {}, "id": 7,
            "usage": {"input_tokens": "many", "output_tokens": 3.0, "total_tokens": null,
                "input_tokens_details": null}}),
        ),
    ]);
    assert_eq!(answer.message.text(), "xy");
    assert_eq!((answer.message.usage.output, answer.message.usage.total_tokens), (3, 3));
}

#[test]
fn the_service_tier_sets_the_price() {
    let cost = |tier: &str| {
        let response = json!({"status": "completed", "service_tier": tier,
            "usage": {"input_tokens": 1_000_000, "output_tokens": 0, "total_tokens": 1_000_000,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}});
        decode(&[terminal("response.completed", response)]).message.usage.cost.total
    };
    let priced: Vec<f64> = ["default", "auto", "flex", "priority", "fast"].map(cost).into();
    assert_eq!(priced, [5.0, 5.0, 2.5, 12.5, 12.5]);
}

#[test]
fn more_cached_than_input_tokens_is_not_negative() {
    let response = json!({"status": "completed", "usage": {"input_tokens": 10, "output_tokens": 1,
        "total_tokens": 11, "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 5}}});
    let usage = decode(&[terminal("response.completed", response)]).message.usage;
    assert_eq!((usage.input, usage.cache_read, usage.cache_write), (0, 8, 5));
}

#[test]
fn errors_of_subscription_limits_have_a_hint() {
    let body =
        r#"{"error":{"message":"Limit","code":"subscription_sharing_usage_limit_exceeded"}}"#;
    let failure = HttpFailure::new(429, body);
    assert_eq!(
        (FORMAT.error_text)(&call(Context::new()), &failure),
        "OpenAI API error (429): {\"message\":\"Limit\",\
         \"code\":\"subscription_sharing_usage_limit_exceeded\"}\n\
         Check your ChatGPT usage: https://chatgpt.com/settings/usage"
    );
}
