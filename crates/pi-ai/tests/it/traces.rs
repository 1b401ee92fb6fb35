//! Recorded streams of real providers: their decoded form, which does not depend on cuts.
//!
//! The recordings are in `fixtures/traces` (its README names their sources). Each snapshot has the
//! events in short form and the whole message, and was reviewed against the recording.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_ai::wire::{self, Call};
use pi_ai::{
    AssistantEvent, AssistantMessage, Context, MessageBuilder, Model, Request, StopReason,
    StreamOptions,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// A recorded answer: its name and the bytes of the body.
struct Trace {
    name: String,
    body: Vec<u8>,
}

fn load(directory: &str) -> Vec<Trace> {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traces").join(directory);
    let mut paths: Vec<_> =
        directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut traces = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("sse" | "bin") => traces.push(Trace { name, body: std::fs::read(&path).unwrap() }),
            // The decoded form of a binary recording.
            Some("jsonl") if name.ends_with(".events") => {}
            Some("jsonl") => {
                traces.extend(from_payloads(&name, &std::fs::read_to_string(&path).unwrap()));
            }
            _ => {}
        }
    }
    assert!(!traces.is_empty());
    traces
}

/// Reads a `.jsonl` file: one `data:` payload per line, sometimes of several answers in a row.
fn from_payloads(name: &str, text: &str) -> Vec<Trace> {
    let mut answers: Vec<Vec<Value>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let payload: Value = serde_json::from_str(line).unwrap();
        // Recordings of gemini-cli contain whole calls.
        if let Some(chunks) = payload.get("response").and_then(Value::as_array) {
            answers.push(chunks.clone());
            continue;
        }
        let kind = payload["type"].as_str().unwrap_or_default();
        if answers.is_empty() || matches!(kind, "message_start" | "response.created") {
            answers.push(Vec::new());
        }
        answers.last_mut().unwrap().push(payload);
    }
    let several = answers.len() > 1;
    let body = |payloads: Vec<Value>| {
        let mut body = String::new();
        for payload in payloads {
            if let Some(kind) = payload["type"].as_str() {
                writeln!(body, "event: {kind}").unwrap();
            }
            write!(body, "data: {payload}\n\n").unwrap();
        }
        body.into_bytes()
    };
    answers
        .into_iter()
        .enumerate()
        .map(|(index, payloads)| Trace {
            name: if several { format!("{name}-{:02}", index + 1) } else { name.to_owned() },
            body: body(payloads),
        })
        .collect()
}

struct Decoded {
    events: Vec<AssistantEvent>,
    message: AssistantMessage,
}

fn decode<'a>(api: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    decode_with(StreamOptions::default(), api, pieces)
}

fn decode_with<'a>(
    options: StreamOptions,
    api: &str,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Decoded {
    let model: Model = serde_json::from_value(json!({
        "id": "requested-model", "api": api, "provider": "recorded", "reasoning": true,
        "baseUrl": "https://example.invalid", "input": ["text", "image"],
        "cost": {"input": 1, "output": 10, "cacheRead": 0.1, "cacheWrite": 1.25},
    }))
    .unwrap();
    let request = Request::new(Arc::new(model.clone()), Context::new().user("hi"), options);
    let call = Call::new(request, Some("key".to_owned().into()), &|_| None);
    let mut decoder = (wire::format(api).unwrap().decoder)(&call);
    let mut out = MessageBuilder::new(&model);
    out.start();
    for piece in pieces {
        decoder.push(piece, &mut out);
    }
    decoder.finish(&mut out);
    let events = std::iter::from_fn(|| out.pop_event()).collect();
    let mut message = out.into_message();
    message.timestamp = 0.0;
    message.diagnostics.iter_mut().for_each(|diagnostic| diagnostic.timestamp = 0.0);
    Decoded { events, message }
}

/// Formats events in short form: runs of deltas are counted, and must add up to their block.
fn in_short(answer: &Decoded) -> String {
    let mut out = String::new();
    let mut run: Option<(String, usize, usize)> = None;
    let flush = |run: &mut Option<(String, usize, usize)>, out: &mut String| {
        if let Some((what, count, bytes)) = run.take() {
            writeln!(out, "{what} × {count}, {bytes} bytes").unwrap();
        }
    };
    for event in &answer.events {
        let value = serde_json::to_value(event).unwrap();
        let kind = value["type"].as_str().unwrap().to_owned();
        let label = match value.get("contentIndex") {
            Some(index) => format!("{kind} {index}"),
            None => kind,
        };
        let Some(delta) = value.get("delta").and_then(Value::as_str) else {
            flush(&mut run, &mut out);
            match value.get("reason").and_then(Value::as_str) {
                Some(reason) => writeln!(out, "{label}: {reason}").unwrap(),
                None => writeln!(out, "{label}").unwrap(),
            }
            continue;
        };
        match &mut run {
            Some((what, count, bytes)) if *what == label => {
                *count += 1;
                *bytes += delta.len();
            }
            _ => {
                flush(&mut run, &mut out);
                run = Some((label, 1, delta.len()));
            }
        }
    }
    out
}

/// Shortens long opaque values for the snapshot: length, beginning and end identify them.
fn readable(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > 300 => {
            let chars: Vec<char> = text.chars().collect();
            let head: String = chars[..120].iter().collect();
            let tail: String = chars[chars.len() - 60..].iter().collect();
            *text = format!("{head} …({} characters)… {tail}", chars.len());
        }
        Value::Array(items) => items.iter_mut().for_each(readable),
        Value::Object(members) => members.values_mut().for_each(readable),
        _ => {}
    }
}

fn snapshots(api: &str, directory: &str) {
    for trace in load(directory) {
        let answer = decode(api, [trace.body.as_slice()]);
        let mut message = serde_json::to_value(&answer.message).unwrap();
        readable(&mut message);
        let text =
            format!("{}\n{}", in_short(&answer), serde_json::to_string_pretty(&message).unwrap());
        insta::with_settings!({snapshot_path => format!("snapshots/traces/{directory}"), prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(trace.name.clone(), text);
        });
    }
}

/// Checks that two answers are equal, deltas included: a cut must not change their number.
fn same(a: &Decoded, b: &Decoded, what: &str) {
    assert_eq!(a.message, b.message, "{what}: message differs");
    assert_eq!(a.events, b.events, "{what}: events differ");
}

fn splits(api: &str, directory: &str) {
    let mut random = Random(0x5eed);
    for trace in load(directory) {
        let whole = decode(api, [trace.body.as_slice()]);
        same(&whole, &decode(api, trace.body.chunks(1)), &format!("{} byte by byte", trace.name));
        for round in 0..8 {
            let mut pieces = Vec::new();
            let mut rest = trace.body.as_slice();
            while !rest.is_empty() {
                let (piece, tail) = rest.split_at(1 + random.below(rest.len().min(200)));
                pieces.push(piece);
                rest = tail;
            }
            same(&whole, &decode(api, pieces), &format!("{} random cut {round}", trace.name));
        }
        // Variants of the text form.
        let Ok(text) = String::from_utf8(trace.body.clone()) else { continue };
        let text = text.replace("\r\n", "\n");
        let variants = [
            ("CRLF", text.replace('\n', "\r\n")),
            ("CR", text.replace('\n', "\r")),
            ("BOM", format!("\u{feff}{text}")),
            ("comments", text.replace("\n\n", "\n\n: keep-alive\n\n")),
            ("comments inside events", text.replace("data: ", ": comment\ndata: ")),
        ];
        for (what, body) in variants {
            let what = format!("{} with {what}", trace.name);
            same(&whole, &decode(api, [body.as_bytes()]), &what);
            same(&whole, &decode(api, body.as_bytes().chunks(7)), &format!("{what}, cut"));
        }
    }
}

/// Checks that a stream truncated anywhere ends in an error that keeps the content so far, or is
/// complete.
fn truncations(api: &str, directory: &str) {
    for trace in load(directory) {
        let whole = decode(api, [trace.body.as_slice()]);
        let step = (trace.body.len() / 400).max(1);
        for end in (0..trace.body.len()).step_by(step) {
            let cut = decode(api, [&trace.body[..end]]);
            let terminals = cut.events.iter().filter(|event| event.is_terminal()).count();
            assert_eq!(terminals, 1, "{} cut at {end}", trace.name);
            match cut.message.stop_reason {
                StopReason::Error => {
                    let error = cut.message.error_message.as_deref().unwrap_or_default();
                    assert!(!error.is_empty(), "{} cut at {end}: no error text", trace.name);
                }
                _ => assert_eq!(
                    texts(&cut.message),
                    texts(&whole.message),
                    "{} cut at {end} claims to be complete",
                    trace.name
                ),
            }
            let (partial, full) = (texts(&cut.message), texts(&whole.message));
            assert!(
                partial.len() <= full.len()
                    && partial.iter().zip(&full).all(|(p, f)| f.starts_with(p.as_str())),
                "{} cut at {end}: {partial:?} is no beginning of {full:?}",
                trace.name
            );
        }
    }
}

/// A change of a recording, at a place in it.
#[derive(Debug, Clone)]
enum Damage {
    Insert(Index, &'static [u8]),
    Set(Index, u8),
    Remove(Index, usize),
    Cut(Index),
    /// More bytes than are kept of a document.
    Append,
    /// The body begins with these bytes.
    Begin(&'static [u8]),
}

impl Damage {
    fn any() -> impl Strategy<Value = Self> {
        let inserted: &[&[u8]] =
            &[b"\r", b"\n\n", b" ", b"{", b"\0", b"\xff", b"\xe2\x82", b"\"", b"data: x\n\n"];
        let begun: &[&[u8]] = &[
            b"{",
            b"[",
            b"<html>",
            b"\xef\xbb\xbf",
            b"\xef\xbb\xbf \r\n{",
            b"\xef\xbb{",
            b" \xef\xbb\xbf[",
            b" \n ",
            b"\0",
            b"\0\0",
            b"x",
        ];
        prop_oneof![
            (any::<Index>(), select(inserted)).prop_map(|(at, bytes)| Self::Insert(at, bytes)),
            (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Self::Set(at, byte)),
            (any::<Index>(), 1_usize..40).prop_map(|(at, count)| Self::Remove(at, count)),
            any::<Index>().prop_map(Self::Cut),
            Just(Self::Append),
            select(begun).prop_map(Self::Begin),
        ]
    }

    fn apply(&self, body: &mut Vec<u8>) {
        let place = |at: &Index| at.index(body.len() + 1);
        match self {
            Self::Insert(at, bytes) => {
                let at = place(at);
                body.splice(at..at, bytes.iter().copied());
            }
            Self::Set(at, byte) => {
                let at = place(at);
                body.splice(at..(at + 1).min(body.len()), [*byte]);
            }
            Self::Remove(at, count) => {
                let at = place(at);
                body.drain(at..(at + count).min(body.len()));
            }
            Self::Cut(at) => {
                let at = place(at);
                body.truncate(at);
            }
            Self::Append => body.extend("é<>\n".as_bytes().iter().cycle().take(20_000)),
            Self::Begin(bytes) => {
                body.splice(..0, bytes.iter().copied());
            }
        }
    }
}

/// Checks that a damaged stream ends once, in the same way for all cuts.
fn damages(api: &str, directory: &str) {
    // Larger ones have the same events more often.
    let traces: Vec<Trace> =
        load(directory).into_iter().filter(|trace| trace.body.len() < 40_000).collect();
    let damage = prop::collection::vec(Damage::any(), 1..4);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) };
    proptest!(config, |(trace in 0..traces.len(), damage in damage, step in 2_usize..3000)| {
        let mut body = traces[trace].body.clone();
        damage.iter().for_each(|damage| damage.apply(&mut body));
        let whole = decode(api, [body.as_slice()]);
        let terminals = whole.events.iter().filter(|event| event.is_terminal()).count();
        prop_assert_eq!(terminals, 1);
        for step in [1, step] {
            same(&whole, &decode(api, body.chunks(step)), &format!("cut every {step} bytes"));
        }
    });
}

/// Returns the text and thinking of a message, block by block.
fn texts(message: &AssistantMessage) -> Vec<String> {
    use pi_ai::AssistantBlock::{Text, Thinking, ToolCall, Unknown};
    message
        .content
        .iter()
        .map(|block| match block {
            Text(text) => text.text.clone(),
            Thinking(thinking) => thinking.thinking.clone(),
            ToolCall(_) | Unknown(_) => String::new(),
        })
        .collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}

/// The frames of binary recordings, compared with what botocore read in them.
#[test]
fn bedrock_frames_are_those_of_botocore() {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traces/bedrock-converse-stream");
    for trace in load("bedrock-converse-stream") {
        let events = directory.join(format!("{}.events.jsonl", trace.name));
        let expected: Vec<Value> = std::fs::read_to_string(events)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .map(|event: Value| {
                let kind = event["headers"][":event-type"].as_str().unwrap().to_owned();
                json!({kind: event["payload"]})
            })
            .collect();
        for step in [1, 7, usize::MAX] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let sink = Arc::clone(&seen);
            let mut options = StreamOptions::default();
            options.hooks.on_provider_event = Some(Arc::new(move |event: &str| {
                sink.lock().unwrap().push(serde_json::from_str::<Value>(event).unwrap());
            }));
            let step = step.min(trace.body.len());
            decode_with(options, "bedrock-converse-stream", trace.body.chunks(step));
            assert_eq!(*seen.lock().unwrap(), expected, "{}", trace.name);
        }
    }
}

macro_rules! trace_tests {
    ($($module:ident: $api:literal in $directory:literal;)*) => {$(
        mod $module {
            #[test]
            fn traces_decode_to_their_snapshots() {
                super::snapshots($api, $directory);
            }

            #[test]
            fn cuts_do_not_change_the_result() {
                super::splits($api, $directory);
            }

            #[test]
            fn cuts_do_not_change_a_damaged_answer() {
                super::damages($api, $directory);
            }

            #[test]
            fn truncation_is_an_error() {
                super::truncations($api, $directory);
            }
        }
    )*};
}

trace_tests! {
    anthropic: "anthropic-messages" in "anthropic-messages";
    completions: "openai-completions" in "openai-chat";
    responses: "openai-responses" in "openai-responses";
    azure: "azure-openai-responses" in "azure-openai-responses";
    codex: "openai-codex-responses" in "openai-codex-responses";
    google: "google-generative-ai" in "google-generative-ai";
    mistral: "mistral-conversations" in "mistral-conversations";
    bedrock: "bedrock-converse-stream" in "bedrock-converse-stream";
}
