//! The initial corpus of a fuzz target: recorded streams, and the words that occur in them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::FuzzError;
use crate::repository;

const TRACES: &str = "crates/pi-ai/tests/fixtures/traces";

/// The bytes before a body that determine its cuts, for targets that read a body.
const CUTS: &[u8] = &[40, 1, 2, 3];

const MESSAGES: &[&str] = &[
    r#"{"role":"system","content":"Be brief.","sections":{"a":"b","c":null},"toolsAdded":[{"name":"t","description":"d","parameters":{"type":"object"}}],"toolsRemoved":[{"name":"u"}],"timestamp":1.5}"#,
    r#"{"role":"user","content":[{"type":"text","text":"hi","textSignature":"s"},{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"audio","x":1}],"timestamp":1700000000000,"more":[1,2.5e3,-0.0]}"#,
    r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s","redacted":true},{"type":"toolCall","id":"c","name":"t","arguments":{"a":[1,{"b":null}]},"thoughtSignature":"s","argumentsError":"e"}],"api":"a","provider":"p","model":"m","responseModel":"n","responseId":"r","thinkingLevel":"high","diagnostics":[{"type":"d","timestamp":1,"error":{"message":"e","code":1},"details":{}}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.1,"total":0.3}},"stopReason":"toolUse","errorMessage":"e","endTurn":true,"timestamp":1,"durationMs":2}"#,
    r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[{"type":"text","text":"ok"}],"details":null,"usage":{"input":1},"isError":true,"timestamp":1,"durationMs":0.5,"nestedCalls":[]}"#,
];

/// Shell scripts that try to evade the policy, one per line after the expected decision.
const SCRIPTS: &str = "crates/pi-guard/tests/it/evasion/spellings.txt";

/// Input of terminals: keys of all protocols, the mouse, pastes, replies.
const TERMINAL: &[&str] = &[
    "abc é👍\r\n\t\x7f\x08\x03\x1b\x1bx\x1b\x1b[A",
    "\x1b[A\x1bOP\x1b[1;5C\x1b[3~\x1b[3$\x1b[[A\x1b[13;2~\x1b[27;6;80~\x1b[Z",
    "\x1b[97u\x1b[97:65;2u\x1b[1089::99;5:3u\x1b[0;;19990:30028u\x1b[57414;2u",
    "\x1b[<0;1;1M\x1b[<35;5;6m\x1b[M !!\x1b[32;7;8M\x1b[I\x1b[O",
    "\x1b[200~a\r\nb\x1b[31m\x1b[201~c",
    "\x1b[?7u\x1b]7501;1\x1b\\\x1b[?62;4c\x1b]11;rgb:1/2/3\x07\x1b]4;1;#fff\x07\x1b[?997;1n",
    "\x1bP>|name\x1b\\\x1b]52;c;aGk=\x07\x1b[6;18;9t\x1b_Gi=1;OK\x1b\\\x1b[1;1R",
    "'/a/my cat.png' file:///a%20b.gif C:\\x.jpg",
];

/// Texts in Markdown with every kind of block.
const MARKDOWN: &[&str] = &[
    "- a\n  1. b\n\n     c\n> d\n> > e\n- [x] f\n\n| a | b |\n|:-:|--:|\n| c | d |\n\n~~~rs\ng\n~~~\n",
    "$x_1^2$ \\(\\frac{a}{b}\\) $$\\sum_{i=1}^n \\sqrt{i}$$\n\n\\[\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}\\]\n",
    "```mermaid\ngraph TD\nA[x] -->|y| B{z}\nA & B --> C\n```\n<b>*c* **d** ~~e~~ [f](g) [h]\n\n[h]: i\n",
    "```mermaid\nsequenceDiagram\nparticipant A as B\nA->>C: d\nC-->>A: e\nNote over A: f\n```\n",
    "日本語 👩‍👩‍👧‍👦 https://a.b/c_d). www.e.f\n***\n# g\nh\n===\n    i\n-1 j\n+1 k\n  ...\n",
];

/// Streams of a gateway.
const GATEWAY: &[&str] = &[
    "data: {\"type\":\"start\"}\n\ndata: {\"type\":\"thinking_start\",\"contentIndex\":0}\n\n\
     data: {\"type\":\"thinking_delta\",\"contentIndex\":0,\"delta\":\"hm\"}\n\n\
     data: {\"type\":\"thinking_end\",\"contentIndex\":0,\"content\":\"hm\",\"contentSignature\":\"S\",\"redacted\":true}\n\n\
     data: {\"type\":\"text_start\",\"contentIndex\":1}\n\n\
     data: {\"type\":\"text_end\",\"contentIndex\":1,\"content\":\"a\"}\n\n\
     data: {\"type\":\"done\",\"reason\":\"stop\",\"usage\":{\"input\":1},\"rewrite\":{}}\n\n",
    "data: {\"type\":\"toolcall_start\",\"contentIndex\":0,\"id\":\"c\",\"toolName\":\"r\"}\n\n\
     data: {\"type\":\"toolcall_delta\",\"contentIndex\":0,\"delta\":\"{}\"}\n\n\
     data: {\"type\":\"toolcall_end\",\"contentIndex\":0,\"toolCall\":{\"id\":\"d\",\"name\":\"s\",\"arguments\":{\"a\":1}}}\n\n\
     data: {\"type\":\"error\",\"reason\":\"error\",\"errorMessage\":\"x\"}\n\n",
];

/// Session files of all kinds, damaged ones included.
const SESSIONS: &str = "crates/pi-session/tests/fixtures/sessions";

/// Writes the seeds of `target` to `corpus` and their words to `dictionary`.
pub(super) fn plant(target: &str, corpus: &Path, dictionary: &Path) -> Result<(), FuzzError> {
    let seeds = seeds_of(target)?;
    for (name, bytes) in &seeds {
        write(&corpus.join(name), bytes)?;
    }
    let words = words(seeds.iter().map(|(_, bytes)| bytes.as_slice()));
    write(dictionary, dictionary_text(&words).as_bytes())
}

fn seeds_of(target: &str) -> Result<Vec<(String, Vec<u8>)>, FuzzError> {
    let directories: &[&str] = match target {
        "decoder_anthropic" => &["anthropic-messages"],
        "decoder_completions" => &["openai-chat"],
        "decoder_responses" => &["openai-responses", "openai-codex-responses"],
        "decoder_google" => &["google-generative-ai"],
        "decoder_mistral" => &["mistral-conversations"],
        "sse" => &["openai-codex-responses", "google-generative-ai"],
        "partial_json" | "json_repair" => &["openai-codex-responses"],
        _ => &[],
    };
    let mut bodies = Vec::new();
    for directory in directories {
        bodies.extend(recordings(directory)?);
    }
    let with_cuts = |body: &[u8]| [CUTS, body].concat();
    Ok(match target {
        "message_roundtrip" => {
            let number = |(at, text): (usize, &&str)| (format!("{at}"), text.as_bytes().to_vec());
            MESSAGES.iter().enumerate().map(number).collect()
        }
        "markdown" | "terminal_input" => {
            let texts = if target == "markdown" { MARKDOWN } else { TERMINAL };
            let number = |(at, text): (usize, &&str)| (format!("{at}"), with_cuts(text.as_bytes()));
            texts.iter().enumerate().map(number).collect()
        }
        "decoder_pi_messages" => {
            let number = |(at, text): (usize, &&str)| (format!("{at}"), with_cuts(text.as_bytes()));
            GATEWAY.iter().enumerate().map(number).collect()
        }
        "decoder_bedrock" => {
            let lines = |(name, body): (String, String)| (name, with_cuts(body.as_bytes()));
            events_of_bedrock()?.into_iter().map(lines).collect()
        }
        "session_load" | "session_migrate" => sessions()?,
        "policy_check" => scripts()?,
        "partial_json" | "json_repair" => {
            let payloads = bodies.iter().flat_map(|(_, body)| payloads(body));
            let seed = |(at, text): (usize, &str)| match target {
                "partial_json" => (format!("{at}"), with_cuts(text.as_bytes())),
                _ => (format!("{at}"), text.as_bytes().to_vec()),
            };
            payloads.enumerate().map(seed).collect()
        }
        _ => bodies.into_iter().map(|(name, body)| (name, with_cuts(body.as_bytes()))).collect(),
    })
}

/// Returns the decoded events of binary recordings as lines `EVENT PAYLOAD`, sorted by name.
fn events_of_bedrock() -> Result<Vec<(String, String)>, FuzzError> {
    let path = repository::path(TRACES).join("bedrock-converse-stream");
    let failed = |source| FuzzError::File { path: path.clone(), source };
    let mut bodies = Vec::new();
    for entry in path.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".events.jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path)
            .map_err(|source| FuzzError::File { path: path.clone(), source })?;
        let line = |line: &str| {
            let event: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let kind = event["headers"][":event-type"].as_str().unwrap_or_default();
            format!("{kind} {}\n", event["payload"])
        };
        bodies.push((name, text.lines().map(line).collect()));
    }
    bodies.sort();
    Ok(bodies)
}

/// Returns the recorded bodies of a directory, sorted by name.
fn recordings(directory: &str) -> Result<Vec<(String, String)>, FuzzError> {
    let path = repository::path(TRACES).join(directory);
    let failed = |source| FuzzError::File { path: path.clone(), source };
    let mut bodies = Vec::new();
    for entry in path.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let text = fs::read_to_string(&path)
            .map_err(|source| FuzzError::File { path: path.clone(), source })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".sse") {
            bodies.push((name, text));
        } else if name.ends_with(".jsonl") {
            // One payload per line.
            let body = text.lines().map(|line| format!("data: {line}\n\n")).collect();
            bodies.push((name, body));
        }
    }
    bodies.sort();
    Ok(bodies)
}

fn scripts() -> Result<Vec<(String, Vec<u8>)>, FuzzError> {
    let path = repository::path(SCRIPTS);
    let text = fs::read_to_string(&path)
        .map_err(|source| FuzzError::File { path: path.clone(), source })?;
    let scripts = text.lines().filter(|line| !line.starts_with('#'));
    let scripts = scripts.filter_map(|line| line.split_once(' ')).map(|(_, script)| script);
    let seed = |(at, script): (usize, &str)| (format!("{at}"), script.replace('⏎', "\n").into());
    Ok(scripts.filter(|script| script.len() > CUTS.len()).enumerate().map(seed).collect())
}

/// Returns the short session files of the test data. Long ones add nothing.
fn sessions() -> Result<Vec<(String, Vec<u8>)>, FuzzError> {
    let path = repository::path(SESSIONS);
    let failed = |source| FuzzError::File { path: path.clone(), source };
    let mut seeds = Vec::new();
    for entry in path.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let bytes =
            fs::read(&path).map_err(|source| FuzzError::File { path: path.clone(), source })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if bytes.len() < 4096 {
            seeds.push((name, bytes));
        }
    }
    seeds.sort();
    Ok(seeds)
}

fn payloads(body: &str) -> impl Iterator<Item = &str> {
    body.lines().filter_map(|line| line.strip_prefix("data: "))
}

/// Returns short quoted words, which in JSON are names and significant values.
fn words<'a>(seeds: impl Iterator<Item = &'a [u8]>) -> BTreeSet<&'a str> {
    let is_word = |text: &&str| {
        (2..=32).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_.-".contains(&byte))
    };
    seeds
        .filter_map(|bytes| std::str::from_utf8(bytes).ok())
        .flat_map(|text| text.split('"'))
        .filter(is_word)
        .collect()
}

fn dictionary_text(words: &BTreeSet<&str>) -> String {
    let mut text = String::from("\"data: {\"\n\"\\x0a\\x0a\"\n\"\\\\u\"\n");
    for word in words {
        let _ = writeln!(text, "\"\\\"{word}\\\"\"");
    }
    text
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), FuzzError> {
    fs::write(path, bytes).map_err(|source| FuzzError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_seeds() {
        for target in super::super::TARGETS {
            let seeds = seeds_of(target).unwrap();
            assert!(!seeds.is_empty(), "{target}");
            assert!(seeds.iter().all(|(_, bytes)| bytes.len() > CUTS.len()), "{target}");
        }
    }

    #[test]
    fn the_dictionary_has_names_and_no_prose() {
        let seed = br#"{"type":"text_delta","text":"some words, 3"}"#;
        let words = words([&seed[..]].into_iter());
        assert_eq!(words.into_iter().collect::<Vec<_>>(), ["text", "text_delta", "type"]);
        assert!(dictionary_text(&["type"].into()).ends_with("\"\\\"type\\\"\"\n"));
    }

    #[test]
    fn generated_messages_are_valid() {
        for text in MESSAGES {
            let message: Result<pi_protocol::Message, _> = serde_json::from_str(text);
            assert!(message.is_ok(), "{text}: {message:?}");
        }
    }
}
