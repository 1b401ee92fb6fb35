//! Values that are known to be secret, in every encoding in which they may occur.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::fragments::{Fragments, base64_cores};
use super::random::looks_random;
use super::{Kind, Span, kind_of};
use crate::names;

/// The least length of a value. Shorter ones would be found in words.
const LEAST: usize = 8;

/// Known values, and an automaton that finds them.
#[derive(Default)]
pub(super) struct KnownValues {
    values: BTreeSet<String>,
    kinds: Vec<Kind>,
    finder: Option<AhoCorasick>,
    /// Built when a text is searched for the first time.
    fragments: OnceLock<Fragments>,
}

impl KnownValues {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Adds values, except those that are obviously not secret.
    pub(super) fn add(&mut self, values: impl IntoIterator<Item = String>) {
        let before = self.values.len();
        for value in values {
            let value = value.trim();
            if may_be_secret(value) {
                self.values.insert(value.to_owned());
            }
            // The lines of a key may occur one by one.
            let lines = value.lines().map(str::trim).filter(|line| line.len() >= 20);
            self.values.extend(
                lines.filter(|line| *line != value && looks_random(line)).map(str::to_owned),
            );
        }
        if self.values.len() == before {
            return;
        }
        self.fragments = OnceLock::new();
        let mut encoded: Vec<(String, Kind)> = Vec::new();
        for value in &self.values {
            let kind = kind_of(value);
            encoded.extend(encodings(value).into_iter().map(|encoding| (encoding, kind)));
        }
        self.kinds = encoded.iter().map(|(_, kind)| *kind).collect();
        self.finder = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(encoded.iter().map(|(encoding, _)| encoding))
            .ok();
    }

    /// Adds the occurrences of the values.
    pub(super) fn find(&self, text: &str, spans: &mut Vec<Span>) {
        let Some(finder) = &self.finder else { return };
        let fragments = self.fragments.get_or_init(|| {
            let values = self.values.iter();
            Fragments::of(values.map(|value| (value.as_str(), kind_of(value))))
        });
        fragments.find(text, spans);
        spans.extend(finder.find_overlapping_iter(text).map(|hit| Span {
            start: hit.start(),
            end: hit.end(),
            kind: self.kinds.get(hit.pattern().as_usize()).copied().unwrap_or("own"),
        }));
    }
}

/// Values of secret variables that are not secret. Redacting them would make texts unreadable.
const WORDS: &[&str] = &[
    "disabled",
    "enabled",
    "localhost",
    "postgres",
    "password",
    "changeme",
    "anonymous",
    "required",
    "optional",
    "development",
    "production",
    "not-needed",
    "no-key-needed",
    "undefined",
    "username",
    "guest:guest",
    "interactive",
    "keychain",
];

fn may_be_secret(value: &str) -> bool {
    if value.len() < LEAST
        || WORDS.contains(&value.to_ascii_lowercase().as_str())
        || value.contains("[masked:")
        || "[masked:".contains(value)
    {
        return false;
    }
    // A path, or a reference to a key. A key may begin with a slash, too.
    let path = value.starts_with('/') && (value.len() < 12 || value[1..].contains('/'));
    if (path || value.starts_with(['~', '.', '!', '$'])) && !looks_random(value) {
        return false;
    }
    if names::password_in_url(value).is_none() && value.contains("://") {
        return false;
    }
    // A host: names with dots, or a port.
    let (host, port) = value.split_once(':').unwrap_or((value, ""));
    let port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let labels = |host: &str| {
        (host.contains('.') || port)
            && host.split('.').all(|label| {
                !label.is_empty()
                    && label.len() < 20
                    && label
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            })
    };
    let one_character = value.bytes().all(|byte| byte == value.as_bytes()[0]);
    !one_character && (!labels(host) || looks_random(value))
}

/// Returns the value as it is, in base64 at each of the three alignments, in URLs and in JSON.
fn encodings(value: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([value.to_owned()]);
    let bytes = value.as_bytes();
    for core in base64_cores(bytes) {
        all.insert(core.replace('+', "-").replace('/', "_"));
        all.insert(core);
    }
    let percent = |upper: bool, keep: &str| {
        let mut out = String::new();
        for byte in bytes {
            if byte.is_ascii_alphanumeric() || keep.as_bytes().contains(byte) {
                out.push(char::from(*byte));
            } else if upper {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            } else {
                let _ = write!(out, "%{byte:02x}");
            }
        }
        out
    };
    // The characters that browsers, forms and libraries do not escape.
    for keep in ["-_.~", "-_.", "-_.!~*'()", "-_.~!$&'()*+,;=:@", "-_.~/", "-_.*"] {
        let encoded = percent(true, keep);
        all.insert(encoded.replace("%20", "+"));
        all.insert(encoded);
        all.insert(percent(false, keep));
    }
    let escape = |text: &str| {
        serde_json::to_string(text).ok().map(|json| json[1..json.len() - 1].to_owned())
    };
    let once = escape(value);
    all.extend(once.as_deref().map(|once| once.replace('/', "\\/")));
    all.extend(once.as_deref().and_then(escape));
    all.extend(once);
    all.retain(|encoding| encoding.len() >= LEAST);
    all
}

/// Returns the values of variables that hold secrets, and passwords in URLs.
pub fn environment_secrets(environment: &[(String, String)]) -> Vec<String> {
    let mut values = Vec::new();
    for (name, value) in environment {
        if let Some(password) = names::password_in_url(value) {
            values.push(password.to_owned());
            values.extend(decoded(password));
        } else if names::is_secret_name(name)
            || (names::is_account_name(name) && looks_random(value))
        {
            values.push(value.clone());
        }
    }
    values
}

/// Decodes the percent escapes of a password. Returns none without escapes.
fn decoded(password: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = password.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    let decoded = String::from_utf8(bytes).ok()?;
    (decoded != password).then_some(decoded)
}
