//! The cached prefix: each request of a conversation begins with the request before it, also if
//! thinking level and tools change. A change costs only what follows it.

use std::sync::Arc;

use pi_ai::wire::{self, Call};
use pi_ai::{Client, Context, Message, Request, StreamOptions, ThinkingLevel};
use serde_json::{Value, json};

fn tool(name: &str) -> Value {
    let parameters = json!({"type": "object", "properties": {}, "required": []});
    json!({"name": name, "description": name, "parameters": parameters})
}

/// Removes cache markers, which move with the end of the conversation, and writes all content as
/// blocks.
fn plain(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("cache_control");
            if object.contains_key("role")
                && let Some(Value::String(text)) = object.get("content")
            {
                let text = text.clone();
                object.insert("content".to_owned(), json!([{"type": "text", "text": text}]));
            }
            object.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

#[test]
fn a_request_begins_with_the_one_before_it() {
    let client = Client::new(|_| None);
    let cases = [
        ("anthropic", "claude-opus-5", "messages"),
        ("anthropic", "claude-fable-5-1", "messages"),
        ("anthropic", "claude-sonnet-4-5", "messages"),
        ("openrouter", "anthropic/claude-opus-5.5", "messages"),
        ("openai", "gpt-6-sol", "input"),
    ];
    for (provider, id, list) in cases {
        let model = client.model(provider, id).unwrap();
        let format = wire::format(&model.api).unwrap();
        let can = |change: &str| model.compat.get(change) == Some(&Value::Bool(true));
        let mut messages = vec![json!({
            "role": "system", "content": "You help.", "timestamp": 0, "toolsAdded": [tool("read")],
        })];
        let mut before: Option<Value> = None;
        for turn in 0..6 {
            if turn == 3 && can("supportsMidConvoToolChanges") {
                messages.push(json!({
                    "role": "system", "content": "", "timestamp": 0,
                    "toolsAdded": [tool("grep")], "toolsRemoved": [{"name": "read"}],
                }));
            }
            if turn % 2 == 0 {
                messages
                    .push(json!({"role": "user", "content": format!("q{turn}"), "timestamp": 0}));
            } else {
                messages.push(json!({
                    "role": "toolResult", "toolCallId": format!("c{}", turn - 1), "toolName": "read",
                    "content": [{"type": "text", "text": "r"}], "isError": false, "timestamp": 0,
                }));
            }
            let context: Vec<Message> = serde_json::from_value(json!(messages)).unwrap();
            let mut options = StreamOptions::default();
            let low = (turn == 2 || turn == 3) && can("supportsMidConvoEffort");
            options.reasoning = Some(if low { ThinkingLevel::Low } else { ThinkingLevel::High });
            let request = Request::new(
                Arc::clone(&model),
                Context { messages: context.into_iter().collect(), ..Context::new() },
                options,
            );
            let call = Call::new(request, Some("k".into()), &|_| None);
            let level = (format.thinking_level)(&call);
            let mut body = (format.encode)(&call).unwrap().body;
            plain(&mut body);
            if let Some(before) = &before {
                let (old, new) = (before[list].as_array().unwrap(), body[list].as_array().unwrap());
                let kept = old.len().min(new.len());
                assert_eq!(old[..], new[..kept], "{id}, request {turn}");
                for key in ["system", "tools", "thinking", "output_config", "instructions"] {
                    assert_eq!(before[key], body[key], "{id}, {key} of request {turn}");
                }
            }
            before = Some(body);
            let content = if turn % 2 == 0 {
                json!([{"type": "toolCall", "id": format!("c{turn}"), "name": "read", "arguments": {}}])
            } else {
                json!([{"type": "text", "text": format!("a{turn}")}])
            };
            messages.push(json!({
                "role": "assistant", "content": content, "api": model.api,
                "provider": model.provider, "model": model.id, "stopReason": "stop",
                "usage": {}, "timestamp": 0, "providerThinkingLevel": level,
            }));
        }
    }
}
