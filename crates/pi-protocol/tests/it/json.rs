//! JSON round trips: exact names, JavaScript numbers, and unknown fields that survive.

use pi_protocol::{
    AssistantBlock, AssistantEvent, Message, Model, StopReason, ThinkingLevel, Tool, Usage, json,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn round_trip<T: serde::de::DeserializeOwned + serde::Serialize>(value: &Value) -> Value {
    let text = value.to_string();
    let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    serde_json::to_value(read).unwrap()
}

fn usage() -> Value {
    json!({
        "input": 10, "output": 20, "cacheRead": 30, "cacheWrite": 40, "cacheWrite1h": 5,
        "reasoning": 7, "totalTokens": 100,
        "cost": {"input": 0.00001, "output": 0, "cacheRead": 1, "cacheWrite": 0.5, "total": 1.50001, "totalFromProvider": true},
        "novel": {"kept": true},
    })
}

#[test]
fn messages_survive_a_round_trip() {
    let messages = [
        json!({"role": "user", "content": "hi", "timestamp": 1_750_000_000_000_u64}),
        json!({"role": "user", "content": [
            {"type": "text", "text": "look", "cacheHint": 1},
            {"type": "image", "data": "aGk=", "mimeType": "image/png", "alt": "x"},
            {"type": "video", "uri": "file"},
        ], "timestamp": 1, "attachments": ["a"]}),
        json!({"role": "system", "content": "Base.", "sections": {"env": "linux", "gone": null},
            "toolsAdded": [{"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {}},
                "constrainedSampling": {"type": "json_schema", "strict": "prefer"}, "label": "Read"}],
            "toolsRemoved": [{"name": "bash"}], "timestamp": 2, "novel": 1}),
        json!({"role": "system", "content": [{"type": "text", "text": "a"}], "timestamp": 0}),
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "EqQB+/=\u{2028}\\u0000", "redacted": true},
            {"type": "text", "text": "hello", "textSignature": "{\"v\":1,\"id\":\"msg_1\",\"phase\":\"final_answer\"}"},
            {"type": "toolCall", "id": "call_1|fc_1", "name": "read", "arguments": {"z": 1, "a": [0.1, 1e21], "n": null},
                "thoughtSignature": "c2ln", "namespace": "ns", "argumentsError": "bad", "novel": []},
            {"type": "serverBlock", "payload": {"deep": [1, {"x": 2}]}},
        ], "api": "openai-responses", "provider": "openai", "model": "gpt", "responseModel": "gpt-2", "responseId": "r",
            "providerThinkingLevel": "high", "thinkingLevel": "xhigh",
            "diagnostics": [{"type": "d", "timestamp": 3, "error": {"message": "m", "code": "c", "stack": "s"}, "details": {"a": 1}}],
            "usage": usage(), "stopReason": "toolUse", "errorMessage": "e", "rawStopReason": "tool_calls", "endTurn": false,
            "timestamp": 4, "durationMs": 12.5, "deferred": {"id": "x"}}),
        json!({"role": "toolResult", "toolCallId": "call_1", "toolName": "read", "content": [{"type": "text", "text": "x"}],
            "details": null, "usage": usage(), "nestedCalls": {"calls": [], "complete": true}, "isError": true,
            "timestamp": 5, "durationMs": 3}),
    ];
    for message in messages {
        assert_eq!(round_trip::<Message>(&message), message);
    }
}

#[test]
fn opaque_signatures_are_kept_byte_for_byte() {
    for signature in ["", "a/b+c==", "ünïcode \u{0}\u{1f}", "\u{10ffff}", &"x".repeat(100_000)] {
        let block = json!({"type": "thinking", "thinking": "", "thinkingSignature": signature});
        assert_eq!(round_trip::<AssistantBlock>(&block), block);
    }
}

#[test]
fn absent_and_null_content_is_empty() {
    for message in [
        json!({"role": "user", "content": null}),
        json!({"role": "assistant", "content": null, "usage": {}}),
        json!({"role": "toolResult", "toolCallId": "x", "content": null}),
        json!({"role": "system", "content": null}),
        json!({"role": "user"}),
    ] {
        let read: Message = serde_json::from_value(message.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap()["content"], json!([]), "{message}");
    }
}

#[test]
fn numbers_are_written_like_javascript_numbers() {
    let usage: Usage =
        serde_json::from_value(json!({"input": 3.0, "output": null, "cacheRead": -4})).unwrap();
    assert_eq!((usage.input, usage.output, usage.cache_read), (3, 0, 0));
    let text = serde_json::to_string(&usage).unwrap();
    assert!(text.contains(r#""total":0}"#), "{text}");
    assert!(!text.contains(".0"), "{text}");
}

#[test]
fn unknown_stop_reasons_are_kept() {
    for (text, reason) in [
        ("\"toolUse\"", StopReason::ToolUse),
        ("\"pending\"", StopReason::Pending),
        ("\"deferred\"", StopReason::Deferred),
        ("\"novel\"", StopReason::Other("novel".to_owned())),
    ] {
        assert_eq!(serde_json::from_str::<StopReason>(text).unwrap(), reason);
        assert_eq!(serde_json::to_string(&reason).unwrap(), text);
    }
}

#[test]
fn model_records_survive_a_round_trip() {
    let model = json!({
        "id": "m", "name": "M", "api": "openai-completions", "provider": "p", "baseUrl": "https://x/v1",
        "reasoning": true, "thinkingLevelMap": {"off": null, "low": "low", "max": "max"},
        "input": ["text", "image"],
        "inputLimits": {"maxRequestBytes": 1, "images": {"resize": {"maxWidth": 2, "maxHeight": 3, "maxBytes": 4, "jpegQuality": 80}, "maxPerMessage": 5, "maxPerRequest": 6}},
        "cost": {"input": 0.25, "output": 2, "cacheRead": 0, "cacheWrite": 0.5,
            "tiers": [{"inputTokensAbove": 1000, "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}]},
        "promptCache": {"short": 300, "long": 3600}, "contextWindow": 1000, "maxTokens": 100,
        "samplingParams": {"top_p": 0.9}, "samplingParamsByThinkingLevel": {"high": {"temperature": 1}},
        "headers": {"X-A": "b"}, "compat": {"supportsStore": false, "novel": {}}, "type": "chat",
    });
    assert_eq!(round_trip::<Model>(&model), model);
}

#[test]
fn tools_survive_a_round_trip() {
    for sampling in [
        json!({"type": "json_schema", "strict": "require"}),
        json!({"type": "grammar", "variants": {"openai_lark": "start: x", "openai_regex": "x+"}}),
        json!(false),
    ] {
        let tool = json!({"name": "t", "description": "d", "parameters": {"type": "object"}, "constrainedSampling": sampling});
        assert_eq!(round_trip::<Tool>(&tool), tool);
    }
}

#[test]
fn events_have_the_names_of_the_protocol() {
    let events = [
        (AssistantEvent::Start, json!({"type": "start"})),
        (
            AssistantEvent::TextStart { content_index: 0 },
            json!({"type": "text_start", "contentIndex": 0}),
        ),
        (
            AssistantEvent::ThinkingDelta { content_index: 1, delta: "d".into() },
            json!({"type": "thinking_delta", "contentIndex": 1, "delta": "d"}),
        ),
        (
            AssistantEvent::ToolCallStart { content_index: 2 },
            json!({"type": "toolcall_start", "contentIndex": 2}),
        ),
        (
            AssistantEvent::ToolCallDelta { content_index: 2, delta: "{".into() },
            json!({"type": "toolcall_delta", "contentIndex": 2, "delta": "{"}),
        ),
        (
            AssistantEvent::ToolCallEnd { content_index: 2 },
            json!({"type": "toolcall_end", "contentIndex": 2}),
        ),
        (
            AssistantEvent::Done { reason: StopReason::ToolUse },
            json!({"type": "done", "reason": "toolUse"}),
        ),
        (
            AssistantEvent::Error { reason: StopReason::Aborted },
            json!({"type": "error", "reason": "aborted"}),
        ),
    ];
    for (event, expected) in events {
        assert_eq!(serde_json::to_value(&event).unwrap(), expected);
        assert_eq!(serde_json::from_value::<AssistantEvent>(expected).unwrap(), event);
    }
}

#[test]
fn unpaired_surrogates_are_dropped() {
    let text = r#"{"role":"user","content":"a\ud83db \ud83d\ude00"}"#;
    let message: Message = json::from_str_repairing(text).unwrap();
    assert_eq!(serde_json::to_value(&message).unwrap()["content"], "ab 😀");
}

#[test]
fn levels_are_named_and_ordered() {
    for level in ThinkingLevel::ALL {
        assert_eq!(level.as_str().parse::<ThinkingLevel>().unwrap(), level);
        assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
    }
    assert!(ThinkingLevel::ALL.is_sorted());
    assert!("hard".parse::<ThinkingLevel>().is_err());
}

proptest! {
    #[test]
    fn unknown_fields_survive_in_every_block(key in "[a-z]{1,8}X", value in any::<i64>(), text in ".{0,20}") {
        for kind in ["text", "thinking", "toolCall"] {
            let mut block = json!({"type": kind});
            let object = block.as_object_mut().unwrap();
            match kind {
                "text" => drop(object.insert("text".into(), text.clone().into())),
                "thinking" => drop(object.insert("thinking".into(), text.clone().into())),
                _ => {
                    object.insert("id".into(), text.clone().into());
                    object.insert("name".into(), "n".into());
                    object.insert("arguments".into(), json!({"k": text.clone()}));
                }
            }
            object.insert(key.clone(), value.into());
            prop_assert_eq!(round_trip::<AssistantBlock>(&block), block);
        }
    }
}
