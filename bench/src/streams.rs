//! Generated answers in the format of each provider, with the fields that it really sends.

use serde_json::{Value, json};

/// Wire formats that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Anthropic,
    Completions,
    Responses,
    Google,
}

impl Format {
    pub(crate) const ALL: &[Self] =
        &[Self::Anthropic, Self::Completions, Self::Responses, Self::Google];

    /// The name of the wire format.
    pub(crate) fn api(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic-messages",
            Self::Completions => "openai-completions",
            Self::Responses => "openai-responses",
            Self::Google => "google-generative-ai",
        }
    }
}

/// Kinds of content that the model streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Arguments,
}

impl Kind {
    pub(crate) const ALL: &[Self] = &[Self::Text, Self::Arguments];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Arguments => "tool arguments",
        }
    }
}

/// A body: a head, a block of events that is repeated, and a tail. The block is small enough to stay
/// in the cache, like data that has just arrived.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) head: Vec<u8>,
    pub(crate) block: Vec<u8>,
    /// The end of each event in the block.
    pub(crate) ends: Vec<usize>,
    pub(crate) rounds: usize,
    pub(crate) tail: Vec<u8>,
    /// The minimum number of deltas.
    pub(crate) deltas: usize,
}

impl Stream {
    /// Creates a stream that repeats `tokens` `rounds` times.
    pub(crate) fn new(format: Format, kind: Kind, tokens: &[String], rounds: usize) -> Self {
        let mut block = Vec::new();
        let mut ends = Vec::new();
        for token in tokens {
            block.extend(delta(format, kind, token));
            ends.push(block.len());
        }
        let whole = tokens.concat().repeat(rounds);
        let (head, tail) = match format {
            Format::Anthropic => anthropic(kind),
            Format::Completions => completions(kind),
            Format::Responses => responses(kind, &whole),
            Format::Google => google(kind),
        };
        Self { head, block, ends, rounds, tail, deltas: tokens.len() * rounds }
    }
}

/// Returns words that look like prose or code, of about `length` bytes each; always the same.
pub(crate) fn tokens(count: usize, length: usize) -> Vec<String> {
    let word = |at: usize| {
        let letter = |i: usize| char::from(b'a' + ((at * 31 + i * 7 + at / 26) % 26) as u8);
        let word: String = (0..length + at % 3 - 1).map(letter).collect();
        match at % 25 {
            // Characters that need escapes or are not ASCII occur rarely.
            0 => format!("\n{}", &word[1..]),
            7 => format!("\"{}", &word[1..]),
            13 => format!("é{}", word.get(2..).unwrap_or_default()),
            _ => format!(" {}", &word[1..]),
        }
    };
    (0..count).map(word).collect()
}

/// The argument text before and after the string that streams.
const OPENING: &str = r#"{"path":"src/main.rs","content":""#;
const CLOSING: &str = r#""}"#;

/// Returns the event with one token.
fn delta(format: Format, kind: Kind, token: &str) -> Vec<u8> {
    match (format, kind) {
        // Google sends the string itself, the others a piece of JSON text.
        (Format::Google, _) | (_, Kind::Text) => raw_delta(format, kind, token),
        (_, Kind::Arguments) => raw_delta(format, kind, &escaped(token)),
    }
}

fn raw_delta(format: Format, kind: Kind, text: &str) -> Vec<u8> {
    match format {
        Format::Anthropic => {
            let delta = match kind {
                Kind::Text => json!({"type": "text_delta", "text": text}),
                Kind::Arguments => json!({"type": "input_json_delta", "partial_json": text}),
            };
            named(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
        }
        Format::Completions => {
            let delta = match kind {
                Kind::Text => json!({"content": text}),
                Kind::Arguments => {
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]})
                }
            };
            completion(&delta, &Value::Null)
        }
        Format::Responses => {
            let (event, id, place) = match kind {
                Kind::Text => ("response.output_text.delta", "msg_1", "content_index"),
                Kind::Arguments => ("response.function_call_arguments.delta", "fc_1", "part_index"),
            };
            named(&json!({
                "type": event, "sequence_number": 7, "item_id": id, "output_index": 0, place: 0,
                "delta": text, "obfuscation": "gJx0Lq2",
            }))
        }
        Format::Google => google_part(&match kind {
            Kind::Text => json!({"text": text}),
            Kind::Arguments => {
                let piece =
                    json!({"jsonPath": "$.content", "stringValue": text, "willContinue": true});
                json!({"functionCall": {"partialArgs": [piece], "willContinue": true}})
            }
        }),
    }
}

fn anthropic(kind: Kind) -> (Vec<u8>, Vec<u8>) {
    let block = match kind {
        Kind::Text => json!({"type": "text", "text": ""}),
        Kind::Arguments => json!({"type": "tool_use", "id": "t", "name": "write", "input": {}}),
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let message = json!({"id": "msg_1", "model": "m", "usage": usage});
    let mut head = named(&json!({"type": "message_start", "message": message}));
    head.extend(named(&json!({"type": "content_block_start", "index": 0, "content_block": block})));
    let mut tail = Vec::new();
    around_arguments(Format::Anthropic, kind, &mut head, &mut tail);
    let end = json!({"stop_reason": "end_turn"});
    tail.extend(named(&json!({"type": "content_block_stop", "index": 0})));
    tail.extend(named(&json!({"type": "message_delta", "delta": end, "usage": usage})));
    tail.extend(named(&json!({"type": "message_stop"})));
    (head, tail)
}

fn completions(kind: Kind) -> (Vec<u8>, Vec<u8>) {
    let start = match kind {
        Kind::Text => json!({"role": "assistant", "content": ""}),
        Kind::Arguments => {
            let function = json!({"name": "write", "arguments": ""});
            json!({"tool_calls": [{"index": 0, "id": "t", "type": "function", "function": function}]})
        }
    };
    let (mut head, mut tail) = (completion(&start, &Value::Null), Vec::new());
    around_arguments(Format::Completions, kind, &mut head, &mut tail);
    tail.extend(completion(&json!({}), &json!("stop")));
    tail.extend(b"data: [DONE]\n\n");
    (head, tail)
}

fn completion(delta: &Value, finish: &Value) -> Vec<u8> {
    data(&json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": "m", "service_tier": "default", "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        "usage": null,
    }))
}

/// Responses repeat the whole text three times: at the end of the part, the item and the response.
fn responses(kind: Kind, whole: &str) -> (Vec<u8>, Vec<u8>) {
    let text = match kind {
        Kind::Arguments => format!("{OPENING}{}{CLOSING}", escaped(whole)),
        Kind::Text => whole.to_owned(),
    };
    let item = |text: &str| match kind {
        Kind::Text => {
            let content = json!([{"type": "output_text", "text": text}]);
            json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content})
        }
        Kind::Arguments => json!({
            "type": "function_call", "id": "fc_1", "call_id": "t", "name": "write",
            "arguments": text,
        }),
    };
    let done = match kind {
        Kind::Text => json!({"type": "response.output_text.done", "text": text}),
        Kind::Arguments => json!({
            "type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 0,
            "arguments": text,
        }),
    };
    let response = json!({"id": "resp_1", "model": "m", "status": "in_progress"});
    let mut head = named(&json!({"type": "response.created", "response": response}));
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": item("")});
    head.extend(named(&added));
    let mut tail = Vec::new();
    around_arguments(Format::Responses, kind, &mut head, &mut tail);
    tail.extend(named(&done));
    let item = item(&text);
    let ended = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    tail.extend(named(&ended));
    let usage = json!({"input_tokens": 10, "output_tokens": 20, "total_tokens": 30});
    let response = json!({"id": "resp_1", "status": "completed", "output": [item], "usage": usage});
    tail.extend(named(&json!({"type": "response.completed", "response": response})));
    (head, tail)
}

fn google(kind: Kind) -> (Vec<u8>, Vec<u8>) {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    if kind == Kind::Arguments {
        let path = json!({"jsonPath": "$.path", "stringValue": "src/main.rs"});
        let call = json!({"name": "write", "partialArgs": [path], "willContinue": true});
        head = google_part(&json!({"functionCall": call}));
        tail = google_part(&json!({"functionCall": {}}));
    }
    let end = json!({"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"});
    tail.extend(data(&json!({"candidates": [end]})));
    (head, tail)
}

/// Google repeats ids and counts in every chunk.
fn google_part(part: &Value) -> Vec<u8> {
    let content = json!({"parts": [part], "role": "model"});
    let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 20, "totalTokenCount": 30});
    data(&json!({
        "candidates": [{"content": content, "index": 0}], "usageMetadata": usage,
        "modelVersion": "m", "responseId": "r1",
    }))
}

fn around_arguments(format: Format, kind: Kind, head: &mut Vec<u8>, tail: &mut Vec<u8>) {
    if kind == Kind::Arguments {
        head.extend(raw_delta(format, kind, OPENING));
        tail.extend(raw_delta(format, kind, CLOSING));
    }
}

fn data(payload: &Value) -> Vec<u8> {
    format!("data: {payload}\n\n").into_bytes()
}

fn named(payload: &Value) -> Vec<u8> {
    let name = payload["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {payload}\n\n").into_bytes()
}

/// Returns the text as it appears between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
