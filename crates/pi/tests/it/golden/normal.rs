//! Replaces what differs from run to run: ids, times, durations, temporary paths, ports, versions.
//!
//! Texts are replaced where they are, so that the order of fields, the spacing and the line ends stay
//! part of a transcript. Ids become numbers in the order of their first occurrence. Two more things
//! are replaced: a system message, which is long and tested elsewhere, by the names of its sections and
//! tools; and the usage in `message_update`, which depends on how much of the answer has arrived.

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};
use serde_json::Value;

use crate::bad_input::ServerEnv;

static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
/// The id of an entry is a whole string.
static ENTRY: LazyLock<Regex> = LazyLock::new(|| pattern("\"[0-9a-f]{8}\""));

/// Patterns and their replacements.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d([.-]\d+)?Z", "[TIME]"),
        // Milliseconds since 1970.
        (r"\b1[789]\d{11}\b", "[MS]"),
        (r#""(durationMs|wallTimeMs)":\d+"#, "\"$1\":[DURATION]"),
        (r" after \d+\.\d s", " after [DURATION] s"),
        (r"(pi: used: .*), \d+ s\n", "$1, [DURATION] s\n"),
        (r#"(\{"type":"message_update",)"usage":\{.*?\}\},"#, "$1\"usage\":[USAGE],"),
        // Ids of runs and of the sessions of sub-agents.
        (r"\d{6}-\d{6}-[0-9a-z]{4}", "[RUN]"),
        // Hashes of texts with paths.
        (r"\b[0-9a-f]{64}\b", "[SHA256]"),
        (r"\bmcp-\d+-", "mcp-[PID]-"),
        (r"task-[0-9a-f]{24}", "task-[HASH]"),
        // An estimate from the length of the system prompt, which contains a path.
        (r#""used":\d{4,}"#, "\"used\":[TOKENS]"),
    ];
    patterns.map(|(text, replacement)| (pattern(text), replacement)).into()
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

/// The replacements of one transcript.
pub(super) struct Normalizer<'a> {
    env: &'a ServerEnv,
    uuids: Vec<String>,
    entries: Vec<String>,
}

impl<'a> Normalizer<'a> {
    pub(super) fn new(env: &'a ServerEnv) -> Self {
        Self { env, uuids: Vec::new(), entries: Vec::new() }
    }

    /// Replaces everything in a text that differs from run to run.
    pub(super) fn text(&mut self, text: &str) -> String {
        let text = self.env.stable(text).replace(&self.env.server.url(), "[URL]");
        let text = text.replace(&format!("\"{}\"", env!("CARGO_PKG_VERSION")), "\"[VERSION]\"");
        let (uuids, entries) = (&mut self.uuids, &mut self.entries);
        let text = UUID.replace_all(&text, |found: &Captures<'_>| {
            format!("[uuid-{}]", number(uuids, &found[0]))
        });
        let text = ENTRY.replace_all(&text, |found: &Captures<'_>| {
            format!("\"[id-{}]\"", number(entries, &found[0]))
        });
        let replace = |text: String, (pattern, replacement): &(Regex, &str)| {
            pattern.replace_all(&text, *replacement).into_owned()
        };
        without_system_messages(&PATTERNS.iter().fold(text.into_owned(), replace))
    }
}

/// Replaces system messages by the names of their sections and tools.
fn without_system_messages(text: &str) -> String {
    const START: &str = "{\"role\":\"system\"";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(START) {
        let (before, message) = rest.split_at(at);
        out.push_str(before);
        // Replaced numbers are no JSON, so that the end is where the braces are balanced.
        let end = end_of_object(message);
        let parsed: Value =
            serde_json::from_str(&message[..end].replace("[MS]", "0")).unwrap_or_default();
        let sections: Vec<&String> =
            parsed["sections"].as_object().into_iter().flat_map(|map| map.keys()).collect();
        let tools: Vec<&str> = parsed["toolsAdded"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        out.push_str(&format!("[SYSTEM {sections:?} {tools:?}]"));
        rest = &message[end..];
    }
    out.push_str(rest);
    out
}

/// Returns the length of the JSON object at the start of a text.
fn end_of_object(text: &str) -> usize {
    let (mut depth, mut in_string, mut is_escaped) = (0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Returns the number of an id, from 1.
fn number(seen: &mut Vec<String>, id: &str) -> usize {
    let at = seen.iter().position(|other| other == id).unwrap_or_else(|| {
        seen.push(id.to_owned());
        seen.len() - 1
    });
    at + 1
}
