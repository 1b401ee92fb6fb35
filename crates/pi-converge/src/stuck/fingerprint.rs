//! Fingerprints of calls, results and failures: what stays if numbers, times and spelling go.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::{Deserialize, Serialize};

use super::CallRecord;
use crate::report::CheckReport;

/// A fingerprint; 0 is that of an empty text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    fn new(parts: &[&str]) -> Self {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        Self(hasher.finish() | 1)
    }

    /// Returns true for the fingerprint of a text without content.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the fingerprint of a call with its result, regardless of spelling.
    pub(super) fn of_call(call: &CallRecord) -> Self {
        Self::new(&[&call.tool, &arguments(call), &news(call)])
    }

    /// Returns the fingerprint of a call without its result, regardless of spelling.
    pub(super) fn of_request(call: &CallRecord) -> Self {
        Self::new(&[&call.tool, &arguments(call)])
    }

    /// Returns the fingerprint of a result.
    pub(super) fn of_result(call: &CallRecord) -> Self {
        let text = news(call);
        if text.is_empty() { Self(0) } else { Self::new(&[&call.tool, &text]) }
    }

    /// Returns the fingerprint of an error.
    pub(super) fn of_error(call: &CallRecord) -> Self {
        Self::new(&[&call.tool, &news(call)])
    }

    /// Returns the fingerprint of failed checks.
    pub(super) fn of_failures(failed: &[&CheckReport]) -> Self {
        let mut text = String::new();
        for check in failed {
            let output = check.output.as_deref().unwrap_or_default();
            for part in [check.name.as_str(), &check.failures.join("\n"), output] {
                text.push_str(&normalized(&without_paths(part)));
                text.push('\0');
            }
        }
        Self::new(&[&text])
    }
}

fn arguments(call: &CallRecord) -> String {
    match call.scripts.first() {
        Some(script) => spelled(script),
        None => spelled(&serde_json::to_string(&call.arguments).unwrap_or_default()),
    }
}

/// Returns the normalized result of a call, without lines that the call itself contains: an echoed
/// marker is no news.
fn news(call: &CallRecord) -> String {
    let arguments = call.argument_text();
    let is_new = |line: &&str| !line.trim().is_empty() && !arguments.contains(line.trim());
    let lines: Vec<&str> = call.result.lines().filter(is_new).collect();
    normalized(&lines.join("\n"))
}

/// Returns a script without comments, echoed markers and differences in white space.
fn spelled(script: &str) -> String {
    let is_marker = |command: &str| {
        let echoes = command.starts_with("echo ") || command == "echo" || command == "true";
        (echoes && !command.contains('>')) || command.starts_with('#') || command.starts_with(": ")
    };
    let commands = script.split(['\n', ';']).flat_map(|line| line.split("&&"));
    let uncommented = |one: &str| one.find(" #").map_or(one.len(), |comment| comment);
    let commands = commands.map(|one| one.get(..uncommented(one)).unwrap_or(one));
    let commands = commands.map(|one| one.split_whitespace().collect::<Vec<_>>().join(" "));
    let kept: Vec<String> = commands.filter(|one| !one.is_empty() && !is_marker(one)).collect();
    kept.join(";")
}

/// Replaces paths by a slash.
fn without_paths(text: &str) -> String {
    let words = text.lines().map(|line| {
        let words = line.split_whitespace();
        words.map(|word| if word.contains('/') { "/" } else { word }).collect::<Vec<_>>().join(" ")
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Replaces numbers, times and hexadecimal ids by `#`, and collapses white space.
pub(super) fn normalized(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let start = out.len();
        let mut word = String::new();
        for c in line.chars() {
            if c.is_alphanumeric() {
                word.push(c);
                continue;
            }
            push_word(&mut out, &std::mem::take(&mut word));
            if c.is_whitespace() {
                if out.len() > start && !out.ends_with(' ') {
                    out.push(' ');
                }
            } else if !c.is_control() {
                out.push(c);
            }
        }
        push_word(&mut out, &word);
        if out.len() > start {
            out.push('\n');
        }
    }
    collapsed(&out)
}

/// Adds a word, with `#` for its numbers.
fn push_word(out: &mut String, word: &str) {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    if !has_digit {
        out.push_str(word);
        return;
    }
    let is_hex = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_quantity = unit.len() < word.len()
        && matches!(unit, "" | "s" | "ms" | "us" | "µs" | "ns" | "m" | "h" | "min" | "x");
    if is_hex || is_quantity {
        out.push('#');
        return;
    }
    for c in word.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
}

/// Joins the numbers of dates, times, versions and fractions.
fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '#' {
            let joined = out.trim_end_matches(['.', ':', '-', ',', '/', 'T']);
            if joined.ends_with('#') {
                out.truncate(joined.len());
                continue;
            }
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_times_and_ids_do_not_count() {
        for (one, other, is_same) in [
            ("took 0.01s", "took 12.3s", true),
            ("finished in 12ms", "finished in 7ms", true),
            ("2026-11-16T12:00:01Z error", "2025-01-02T03:04:05Z error", true),
            ("commit 3f2a9bc done", "commit 0d1e2f3a4b done", true),
            ("thread 17 panicked at line 5", "thread 3 panicked at line 90", true),
            ("a  b\t c", "a b c", true),
            ("test alpha failed", "test beta failed", false),
            ("cafe", "face", false),
        ] {
            assert_eq!(normalized(one) == normalized(other), is_same, "{one} | {other}");
        }
    }

    #[test]
    fn spelling_and_markers_do_not_count() {
        let call = |script: &str, result: &str| CallRecord {
            tool: "bash".to_owned(),
            arguments: [("command".to_owned(), script.into())].into_iter().collect(),
            scripts: vec![script.to_owned()],
            result: result.to_owned(),
            is_error: false,
        };
        let one = call("make test", "2 failed");
        for (script, result, is_same) in [
            ("make  test ", "2 failed", true),
            ("make test # again", "2 failed", true),
            ("echo attempt; make test", "attempt\n2 failed", true),
            ("make test && echo done-7", "2 failed\ndone-7", true),
            ("make test", "2 failed, 1 skipped", false),
            ("make check", "2 failed", false),
        ] {
            let other = call(script, result);
            let same = Fingerprint::of_call(&one) == Fingerprint::of_call(&other);
            assert_eq!(same, is_same, "{script}: {result}");
        }
        assert!(Fingerprint::of_result(&call("echo hello", "hello")).is_empty());
    }
}
