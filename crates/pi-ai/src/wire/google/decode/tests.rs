//! Streams that the recordings lack: failures, odd shapes, servers that imitate Google.

use std::sync::Arc;

use pi_protocol::{
    AssistantBlock, AssistantMessage, Context, MessageBuilder, Model, Request, StopReason,
    StreamOptions,
};
use serde_json::{Value, json};

use crate::wire::{Call, Decoder, google::GENERATIVE_AI};

fn decode(body: &str, piece: usize) -> AssistantMessage {
    let model: Model = serde_json::from_value(json!({
        "id": "gemini", "api": "google-generative-ai", "provider": "google",
        "cost": {"input": 1, "output": 1},
    }))
    .unwrap();
    let model = Arc::new(model);
    let context = Context::new().user("hi");
    let options = StreamOptions::default();
    let request = Request::new(Arc::clone(&model), context, options);
    let call = Call::new(request, None, &|_| None);
    let mut decoder: Box<dyn Decoder> = (GENERATIVE_AI.decoder)(&call);
    let mut out = MessageBuilder::new(&model);
    for bytes in body.as_bytes().chunks(piece) {
        decoder.push(bytes, &mut out);
    }
    decoder.finish(&mut out);
    assert!(out.is_finished());
    let mut message = out.into_message();
    message.timestamp = 0.0;
    message
}

/// Decodes a body and checks that the result does not depend on its cuts.
fn body(body: &str) -> AssistantMessage {
    let message = decode(body, usize::MAX);
    for piece in [1, 3] {
        assert_eq!(decode(body, piece), message, "cut into pieces of {piece}: {body}");
    }
    message
}

fn stream(chunks: &[Value]) -> AssistantMessage {
    body(&chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect::<String>())
}

#[allow(clippy::needless_pass_by_value)] // Called with `json!`.
fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn text(text: &str) -> Value {
    parts(json!([{"text": text}]))
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}]})
}

#[allow(clippy::needless_pass_by_value)] // Called with `json!`.
fn call(call: Value) -> Value {
    parts(json!([{"functionCall": call}]))
}

/// Formats the blocks of a message.
fn blocks(message: &AssistantMessage) -> Vec<String> {
    let signed = |signature: &Option<String>| {
        signature.as_ref().map(|s| format!(" signed {s}")).unwrap_or_default()
    };
    message
        .content
        .iter()
        .map(|block| match block {
            AssistantBlock::Text(t) => format!("text {}{}", t.text, signed(&t.text_signature)),
            AssistantBlock::Thinking(t) => {
                format!("thinking {}{}", t.thinking, signed(&t.thinking_signature))
            }
            AssistantBlock::ToolCall(c) => {
                let arguments = Value::Object(c.arguments.clone());
                let bad = if c.arguments_error.is_some() { " bad" } else { "" };
                format!("call {} {arguments}{bad}{}", c.name, signed(&c.thought_signature))
            }
            AssistantBlock::Unknown(_) => "unknown".to_owned(),
        })
        .collect()
}

fn error(message: &AssistantMessage) -> &str {
    assert_eq!(message.stop_reason, StopReason::Error);
    message.error_message.as_deref().unwrap()
}

#[test]
fn finish_reasons_become_stop_reasons() {
    let calls = call(json!({"name": "f", "args": {}}));
    let cases = [
        (text("hi"), "STOP", Ok(StopReason::Stop)),
        (text("hi"), "FUNCTION_CALL", Ok(StopReason::Stop)),
        (calls.clone(), "STOP", Ok(StopReason::ToolUse)),
        (calls, "FUNCTION_CALL", Ok(StopReason::ToolUse)),
        (text("hi"), "MAX_TOKENS", Ok(StopReason::Length)),
        (text(""), "MAX_TOKENS", Ok(StopReason::Length)),
        (text("hi"), "SAFETY", Err("Provider stopped with: SAFETY")),
        (text("hi"), "BRAND_NEW", Err("Provider stopped with: BRAND_NEW")),
        (text("hi"), "", Err("Google stream ended without a finish reason")),
        (text("\n"), "STOP", Err("Google stream ended without any content")),
        (parts(json!(null)), "STOP", Err("Google stream ended without any content")),
    ];
    for (chunk, reason, expected) in cases {
        let message = stream(&[chunk.clone(), finish(reason)]);
        match expected {
            Ok(stop) => assert_eq!(message.stop_reason, stop, "{chunk} {reason}"),
            Err(text) => assert_eq!(error(&message), text, "{chunk} {reason}"),
        }
        let raw = Some(reason).filter(|reason| !reason.is_empty());
        assert_eq!(message.raw_stop_reason.as_deref(), raw);
    }
}

#[test]
fn failures_are_reported_and_keep_the_content_so_far() {
    let overloaded = json!({"error": {"code": 503, "message": "The model is overloaded."}});
    let message = stream(&[text("Hel"), overloaded.clone(), text("lo")]);
    assert_eq!(error(&message), overloaded.to_string());
    assert_eq!(blocks(&message), ["text Hel"]);

    let message = stream(&[json!({
        "promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "No."},
        "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4},
    })]);
    assert_eq!(error(&message), "Prompt blocked: SAFETY: No.");
    assert_eq!(message.usage.input, 4);

    let mut malformed = finish("MALFORMED_FUNCTION_CALL");
    malformed["candidates"][0]["finishMessage"] = json!("print(x)");
    let message = stream(&[text("a"), malformed]);
    assert_eq!(error(&message), "Provider stopped with: MALFORMED_FUNCTION_CALL: print(x)");

    let message = body(&format!("data: {}\n\ndata: {{nope\n\n", text("a")));
    let expected = "Could not read the provider's answer: a chunk: ";
    assert!(error(&message).starts_with(expected), "{:?}", message.error_message);
    assert_eq!(blocks(&message), ["text a"]);

    for nothing in ["", "\n\n", ": ping\n\n"] {
        assert_eq!(error(&body(nothing)), "Google stream ended without a finish reason");
    }
}

#[test]
fn a_plain_json_body_is_decoded() {
    let overloaded = r#"{"error":{"code":503,"message":"The model is overloaded."}}"#;
    assert_eq!(error(&body(&format!("\n{overloaded}\n"))), overloaded);
    assert_eq!(error(&body(&format!("[{overloaded}]"))), overloaded);

    let list = json!([text("Hel"), text("lo"), finish("STOP")]);
    let message = body(&format!("{list:#}"));
    assert_eq!(
        (blocks(&message), message.stop_reason),
        (vec!["text Hello".to_owned()], StopReason::Stop)
    );

    assert!(error(&body("{\"candidates\": [")).contains("the body"));
}

#[test]
fn white_space_before_the_body_does_not_matter() {
    // `body` compares cuts: one of them has the white space in a chunk of its own.
    let broken = body("\r\n  {\"broken");
    assert!(error(&broken).ends_with("received: {\"broken"), "{}", error(&broken));
    let events = body(&format!("   data: {}\n\ndata: {}\n\n", text("hi"), finish("STOP")));
    assert_eq!(events.text(), "hi");
}

#[test]
fn signatures_stay_with_their_part() {
    let message = stream(&[
        parts(json!([{"text": "", "thought": true}])),
        parts(json!([{"text": "hm", "thought": true, "thoughtSignature": "c2ln"}])),
        parts(json!([{"text": "a", "thoughtSignature": "QQ=="}])),
        parts(json!([{"text": "b", "thoughtSignature": ""}])),
        parts(json!([{"text": "", "thoughtSignature": "Qg=="}])),
        parts(json!([{"text": ""}])),
        finish("STOP"),
    ]);
    assert_eq!(blocks(&message), ["thinking hm signed c2ln", "text ab signed Qg=="]);

    let message = stream(&[
        call(json!({"name": "f"})),
        parts(json!([{"text": "", "thoughtSignature": "QQ=="}])),
        finish("STOP"),
    ]);
    assert_eq!(blocks(&message), ["call f {}", "text  signed QQ=="]);
}

#[test]
fn foreign_parts_separate_texts() {
    let message = stream(&[
        text("before"),
        parts(json!([{"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}])),
        text("after"),
        parts(json!([{"brandNew": 1}])),
        text("wards"),
        finish("STOP"),
    ]);
    assert_eq!(blocks(&message), ["text before", "text afterwards"]);
    let image = parts(json!([{"inlineData": {"data": "Zm9v", "mimeType": "image/png"}}]));
    assert_eq!(stream(&[image, finish("STOP")]).stop_reason, StopReason::Stop);
}

#[test]
fn ids_are_unique_and_short() {
    let long = "a tool with a name that is much too long to be an id as it is";
    let answer = json!({"responseId": "Vxabc-123_zzzzzzzzzzzzz"});
    let message = stream(&[
        answer,
        call(json!({"name": "f", "id": "x"})),
        call(json!({"name": "f", "id": "x"})),
        call(json!({"name": "f", "id": ""})),
        call(json!({"name": long})),
        finish("STOP"),
    ]);
    let ids: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids[0], "x");
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), 4, "{ids:?}");
    for id in ids {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        assert!(id.len() <= 64 && id.chars().all(plain), "{id}");
    }
    // Without a response id, the length of the conversation distinguishes turns.
    let message = stream(&[call(json!({"name": "f"})), finish("STOP")]);
    assert_eq!(message.tool_calls().next().unwrap().id, "f_1_1");
}

#[test]
fn complete_arguments_are_parsed() {
    let cases = [
        (json!({"name": "f"}), "call f {}"),
        (json!({"name": "f", "args": null}), "call f {}"),
        (json!({"name": "f", "args": {"a": [1]}}), r#"call f {"a":[1]}"#),
        (json!({"name": "f", "args": "{\"a\":1}"}), r#"call f {"a":1}"#),
        (json!({"name": "f", "args": [1]}), "call f {} bad"),
        (json!({"args": {"a": 1}}), r#"call  {"a":1}"#),
    ];
    for (function, expected) in cases {
        let message = stream(&[call(function.clone()), finish("STOP")]);
        assert_eq!(blocks(&message), [expected], "{function}");
    }
}

#[test]
fn partial_arguments_are_streamed() {
    let piece = |path: &str, value: &str, goes_on: bool| {
        let arg = json!({"jsonPath": path, "stringValue": value, "willContinue": goes_on});
        call(json!({"partialArgs": [arg], "willContinue": true}))
    };
    let begin = |name: &str| call(json!({"name": name, "willContinue": true}));
    let end = || call(json!({}));

    // A call without an end: the next call, or the end of the answer, ends it.
    let message = stream(&[
        begin("f"),
        piece("$.a", "x", true),
        begin("g"),
        text(""),
        piece("$.b", "y", false),
        finish("STOP"),
    ]);
    assert_eq!(blocks(&message), [r#"call f {"a":"x"}"#, r#"call g {"b":"y"}"#]);

    // A call that the output limit truncates must not look complete.
    let message = stream(&[begin("f"), piece("$.a", "x", true), finish("MAX_TOKENS")]);
    assert_eq!(blocks(&message), ["call f {} bad"]);

    // A call that the end of the stream truncates keeps its arguments so far.
    let message = stream(&[begin("f"), piece("$.a", "x", true)]);
    assert_eq!(error(&message), "Google stream ended without a finish reason");
    assert_eq!(blocks(&message), [r#"call f {"a":"x"}"#]);

    // A path out of order, and an end without a call.
    let message = stream(&[
        begin("f"),
        piece("$.a.x", "1", false),
        piece("$.b", "2", false),
        piece("$.a.y", "3", false),
        end(),
        end(),
        finish("STOP"),
    ]);
    assert_eq!(blocks(&message), [r#"call f {"a":{"x":"1","y":"3"},"b":"2"}"#]);

    // The complete arguments after some of their parts.
    let message = stream(&[
        begin("f"),
        piece("$.a", "x", true),
        call(json!({"args": {"a": "xyz"}})),
        finish("STOP"),
    ]);
    assert_eq!(blocks(&message), [r#"call f {"a":"xyz"}"#]);

    let message = stream(&[begin("f"), piece("nonsense", "x", true), finish("STOP")]);
    assert!(error(&message).contains("its path cannot be followed; received: nonsense"));
}

#[test]
fn counts_of_several_chunks_are_merged() {
    let usage = |usage: Value| json!({"usageMetadata": usage});
    let message = stream(&[
        usage(
            json!({"promptTokenCount": 100, "cachedContentTokenCount": 40, "thoughtsTokenCount": 5}),
        ),
        usage(json!({"trafficType": "ON_DEMAND"})),
        text("a"),
        usage(
            json!({"candidatesTokenCount": 7, "toolUsePromptTokenCount": 10, "thoughtsTokenCount": null}),
        ),
        usage(json!({"candidatesTokenCount": "many"})),
        usage(json!("none")),
        finish("STOP"),
    ]);
    let usage = &message.usage;
    let seen = (usage.input, usage.output, usage.cache_read, usage.reasoning, usage.total_tokens);
    assert_eq!(seen, (70, 12, 40, Some(5), 122));
    assert!(usage.cost.total > 0.0);
}

#[test]
fn odd_shapes_are_decoded() {
    let message = body(concat!(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\\ud83d\"}]}}],\"error\":null}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\tc\",\"thought\":null}]}}]}\n\n",
        "data: {\"candidates\":[]}\n\ndata: {\"candidates\":null,\"usageMetadata\":null}\n\ndata: {}\n\n",
        "data: {\"candidates\":[{\"content\":{},\"finishReason\":\"STOP\"}],\"modelVersion\":\"gemini\"}\n\n",
        "data: [DONE]\n\n",
    ));
    assert_eq!(blocks(&message), ["text ab\tc"]);
    assert_eq!((message.stop_reason, message.response_model), (StopReason::Stop, None));
}

#[test]
fn the_signature_of_a_server_tool_is_not_kept() {
    let tool =
        |kind: &str| json!({kind: {"toolType": "GOOGLE_SEARCH_WEB"}, "thoughtSignature": "S"});
    let chunk = parts(json!([
        {"text": "Let me see.", "thoughtSignature": "A"}, tool("toolCall"), tool("toolResponse"),
        {"text": "Spain."}, tool("toolCall"), tool("toolResponse"),
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "B"},
    ]));
    let message = stream(&[chunk, finish("STOP")]);
    assert_eq!(
        blocks(&message),
        ["text Let me see. signed A", "text Spain.", "call f {} signed B"]
    );
}
