//! Hand-over between formats, in all ordered pairs: a conversation of one format, continued in
//! another one, obeys the rules of that format.

use std::collections::BTreeSet;
use std::sync::Arc;

use pi_ai::wire::{self, Call, WireFormat};
use pi_ai::{Context, Message, Model, Request, StreamOptions};
use pi_web::Variables;
use serde_json::{Value, json};

/// A format with a model of it, and the ids and signatures that its answers have.
struct Party {
    api: &'static str,
    provider: &'static str,
    call_ids: [&'static str; 2],
    signature: &'static str,
}

/// Ids and signatures as the providers send them.
const PARTIES: &[Party] = &[
    Party {
        api: "anthropic-messages",
        provider: "anthropic",
        call_ids: ["toolu_01A09q90qw90lq917835lq9", "toolu_01B"],
        signature: "RXFRQkNrWUlBeGdDSWtBa2F1dGhyb3BpYw==",
    },
    Party {
        api: "openai-completions",
        provider: "groq",
        call_ids: ["call_Dp7ZlFSGHmXUk8cAVtvLqGbN", "functions.read:0"],
        signature: "reasoning_content",
    },
    Party {
        api: "openai-responses",
        provider: "openai",
        call_ids: ["call_abc|fc_0123456789abcdef", "call_def|fc_fedcba9876543210"],
        signature: r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VjcmV0"}"#,
    },
    Party {
        api: "azure-openai-responses",
        provider: "azure",
        call_ids: ["call_azure1|fc_azure1", "call_azure2|fc_azure2"],
        signature: r#"{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"YXp1cmU="}"#,
    },
    Party {
        api: "openai-codex-responses",
        provider: "openai-codex",
        call_ids: ["call_codex1|fc_codex1", "call_codex2|fc_codex2"],
        signature: r#"{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"Y29kZXg="}"#,
    },
    Party {
        api: "google-generative-ai",
        provider: "google",
        call_ids: ["read_1763282400000_1", "read_1763282400000_2"],
        signature: "Q2dnZ29vZ2xlU2ln",
    },
    Party {
        api: "google-vertex",
        provider: "google-vertex",
        call_ids: ["read_1763282400001_1", "read_1763282400001_2"],
        signature: "Q2dndmVydGV4U2ln",
    },
    Party {
        api: "bedrock-converse-stream",
        provider: "amazon-bedrock",
        call_ids: ["tooluse_Yl388l1ES0G7Xf7M5oFI3g", "tooluse_2"],
        signature: "QmVkcm9ja1NpZ25hdHVyZQ==",
    },
    Party {
        api: "mistral-conversations",
        provider: "mistral",
        call_ids: ["D681PevKs", "a1b2c3d4e"],
        signature: "",
    },
    Party {
        api: "pi-messages",
        provider: "radius",
        call_ids: ["toolu_radius.1|x", "toolu_radius.2|y"],
        signature: "cmFkaXVzLXNpZ25hdHVyZQ==",
    },
];

const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

impl Party {
    fn model(&self) -> Model {
        let base_url = "https://model.example/v1";
        serde_json::from_value(json!({
            "id": format!("model-of-{}", self.provider), "api": self.api, "baseUrl": base_url,
            "provider": self.provider, "reasoning": true, "input": ["text", "image"],
            "contextWindow": 200_000, "maxTokens": 8000,
        }))
        .unwrap()
    }

    fn format(&self) -> &'static WireFormat {
        wire::format(self.api).unwrap()
    }

    /// Returns an answer with these blocks and this end.
    fn answer(&self, content: &Value, stop: &str) -> Value {
        let model = self.model();
        json!({
            "role": "assistant", "content": content, "api": model.api, "provider": model.provider,
            "model": model.id, "stopReason": stop, "timestamp": 2,
            "usage": { "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
        })
    }

    /// Returns a conversation with everything that an answer of this format can contain.
    fn conversation(&self) -> Vec<Message> {
        let call = |at: usize| {
            json!({ "type": "toolCall", "id": self.call_ids[at], "name": "read",
                "arguments": { "path": format!("file-{at}"), "deep": { "": [1, "ü"] } },
                "thoughtSignature": self.signature })
        };
        let result = |id: &str, content: Value, is_error: bool| {
            json!({ "role": "toolResult", "toolCallId": id, "toolName": "read", "content": content,
                "isError": is_error, "timestamp": 3 })
        };
        let image = json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" });
        let thinking = json!({ "type": "thinking", "thinking": "THOUGHTS", "thinkingSignature": self.signature });
        let redacted = json!({ "type": "thinking", "thinking": "[Reasoning redacted]",
            "thinkingSignature": self.signature, "redacted": true });
        let text = |text: &str| json!({ "type": "text", "text": text });
        let user = |content: Value| json!({ "role": "user", "content": content, "timestamp": 1 });
        let schema = json!({ "type": "object", "required": ["path"],
            "properties": { "path": { "type": "string" }, "deep": { "type": "object" } } });
        let tool = json!({ "name": "read", "description": "Reads.", "parameters": schema });
        let dangling = json!({ "type": "toolCall", "id": "never|answered?", "name": "read",
            "arguments": { "path": "x" } });
        let messages = json!([
            { "role": "system", "content": "SYSTEM", "timestamp": 0, "toolsAdded": [tool] },
            user(json!([text("look"), image])),
            self.answer(&json!([thinking, redacted, text("two calls"), call(0), call(1)]), "toolUse"),
            result(self.call_ids[0], json!([text("RESULT-0"), image]), false),
            result(self.call_ids[1], json!([text("RESULT-1")]), true),
            self.answer(&json!([thinking, text("done")]), "stop"),
            user(json!("again")),
            self.answer(&json!([thinking, text("cut off"), dangling]), "aborted"),
            user(json!("once more")),
            self.answer(&json!([]), "error"),
            user(json!("LAST")),
        ]);
        serde_json::from_value(messages).unwrap()
    }

    /// Encodes a conversation for this party.
    fn encode(&self, messages: Vec<Message>) -> Value {
        let mut context = Context::new();
        for message in messages {
            context = context.message(message);
        }
        let request = Request::new(Arc::new(self.model()), context, StreamOptions::default());
        // The key of the format with accounts is a token with a claim.
        let claim =
            "eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYSJ9fQ";
        let key = format!("e30.{claim}.c2ln");
        let mut call = Call::new(request, Some(key.into()), &|_| None);
        call.variables = Variables::new(|name| (name == "AWS_REGION").then(|| "us-east-1".into()));
        let request = (self.format().encode)(&call);
        request.unwrap_or_else(|error| panic!("{}: {error}", self.api)).body
    }
}

/// Collects the values under a key, at any depth.
fn collect<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                if name == key {
                    found.push(value);
                }
                collect(value, key, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        _ => {}
    }
}

fn texts(body: &Value, key: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect(body, key, &mut found);
    found.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

/// Returns the ids of calls and of results in a request; `None` for formats that match them by
/// position, and for `pi-messages`, whose gateway adapts conversations itself.
fn ids(api: &str, body: &Value) -> Option<(Vec<String>, Vec<String>)> {
    let objects = |key: &str, inner: &str| {
        let mut found = Vec::new();
        collect(body, key, &mut found);
        let ids = |value: &&Value| value.get(inner).and_then(Value::as_str).map(str::to_owned);
        found.iter().filter_map(ids).collect::<Vec<String>>()
    };
    let of_type = |kind: &str, key: &str| {
        let mut out = Vec::new();
        visit(body, &mut |object| {
            if object.get("type").and_then(Value::as_str) == Some(kind) {
                out.extend(object.get(key).and_then(Value::as_str).map(str::to_owned));
            }
        });
        out
    };
    Some(match api {
        "anthropic-messages" => (of_type("tool_use", "id"), texts(body, "tool_use_id")),
        "openai-completions" | "mistral-conversations" => {
            (of_type("function", "id"), texts(body, "tool_call_id"))
        }
        "openai-responses" | "azure-openai-responses" | "openai-codex-responses" => {
            (of_type("function_call", "call_id"), of_type("function_call_output", "call_id"))
        }
        "bedrock-converse-stream" => {
            (objects("toolUse", "toolUseId"), objects("toolResult", "toolUseId"))
        }
        _ => return None,
    })
}

fn visit(value: &Value, on: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            on(object);
            object.values().for_each(|value| visit(value, on));
        }
        Value::Array(items) => items.iter().for_each(|item| visit(item, on)),
        _ => {}
    }
}

/// The characters and the length of the ids that a format accepts.
fn is_valid_id(api: &str, id: &str) -> bool {
    let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match api {
        "anthropic-messages" | "bedrock-converse-stream" => plain && id.len() <= 64,
        "mistral-conversations" => id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()),
        "openai-responses" | "azure-openai-responses" | "openai-codex-responses" => {
            plain && id.len() <= 64
        }
        "openai-completions" => !id.contains('|'),
        _ => true,
    }
}

#[test]
fn every_format_takes_part() {
    let known: BTreeSet<&str> = wire::FORMATS.iter().map(|format| format.api).collect();
    let listed: BTreeSet<&str> = PARTIES.iter().map(|party| party.api).collect();
    assert_eq!(known, listed);
}

#[test]
fn every_format_continues_every_other() {
    for from in PARTIES {
        for to in PARTIES {
            let pair = format!("{} to {}", from.api, to.api);
            let body = to.encode(from.conversation());
            let text = body.to_string();
            for part in ["SYSTEM", "look", "two calls", "RESULT-0", "RESULT-1", "done", "LAST"] {
                assert!(text.contains(part), "{pair}: {part} is missing\n{body:#}");
            }
            assert!(text.contains(IMAGE), "{pair}: the image is missing");
            if let Some((calls, results)) = ids(to.api, &body) {
                let unique: BTreeSet<&String> = calls.iter().collect();
                assert_eq!(unique.len(), calls.len(), "{pair}: {calls:?}");
                assert_eq!(calls, results, "{pair}: every call has its result, in order");
                assert!(calls.len() >= 2, "{pair}: {calls:?}");
                for id in &calls {
                    assert!(is_valid_id(to.api, id), "{pair}: {id}");
                }
            }
            // The gateway of pi-messages adapts conversations itself.
            if from.api == to.api || to.api == "pi-messages" {
                continue;
            }
            assert!(!text.contains("THOUGHTS"), "{pair}: thoughts of another model\n{body:#}");
            if !from.signature.is_empty() && from.signature != "reasoning_content" {
                let quoted = serde_json::to_string(from.signature).unwrap();
                let signature = quoted.trim_matches('"');
                assert!(!text.contains(signature), "{pair}: signature of another model\n{body:#}");
            }
        }
    }
}

#[test]
fn a_conversation_passes_through_all_formats() {
    for last in PARTIES {
        let mut messages: Vec<Message> = Vec::new();
        for party in PARTIES {
            let own = party.conversation();
            let skipped = usize::from(!messages.is_empty());
            messages.extend(own.into_iter().skip(skipped));
        }
        let body = last.encode(messages);
        if let Some((calls, results)) = ids(last.api, &body) {
            let unique: BTreeSet<&String> = calls.iter().collect();
            assert_eq!(unique.len(), calls.len(), "{}: {calls:?}", last.api);
            assert_eq!(calls, results, "{}", last.api);
            assert!(calls.iter().all(|id| is_valid_id(last.api, id)), "{}: {calls:?}", last.api);
        }
    }
}
