//! Redaction: secrets in texts are recognized and replaced by placeholders.
//!
//! Two kinds of secrets are found: known values, such as the API keys that this process was given,
//! in any encoding; and everything that looks like a credential. A placeholder such as
//! `[masked:github-token:3f9a2c]` contains the kind and a short digest, so that the same secret
//! always has the same placeholder. The [`Secrets`] that made a placeholder can restore the text.
//!
//! This module does no I/O: no files, no environment, no clock.

mod blocks;
mod context;
mod fragments;
mod known;
mod placeholder;
mod random;
mod shapes;
mod views;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, RwLock};

use known::KnownValues;
use pi_base::{lock, unpoisoned};
use serde_json::Value;

pub use known::environment_secrets;
pub use random::looks_random;

/// The kind of a secret, in a word or two.
type Kind = &'static str;

/// The position of a secret in a text.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    kind: Kind,
}

/// The number of placeholders that can be restored. Further secrets are redacted for good.
const MOST_RESTORABLE: usize = 10_000;

/// Rounds of redaction: each replaces something, so a few suffice for any real text.
const MOST_ROUNDS: usize = 16;

/// Known secrets, and the texts behind the placeholders. Clones share both.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Shared>);

#[derive(Default)]
struct Shared {
    known: RwLock<KnownValues>,
    /// The secret behind each placeholder.
    redacted: Mutex<HashMap<String, String>>,
}

/// Shows the numbers of secrets, never the secrets.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = unpoisoned(self.0.known.read()).len();
        let redacted = lock(&self.0.redacted).len();
        f.debug_struct("Secrets").field("known", &known).field("redacted", &redacted).finish()
    }
}

/// A placeholder that this [`Secrets`] did not make.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{placeholder} stands for an unknown secret; read the original text again")]
#[non_exhaustive]
pub struct UnknownPlaceholder {
    /// The placeholder as it occurs in the text.
    pub placeholder: String,
}

impl Secrets {
    /// Makes an instance that redacts these values. Values that are too short or obviously not
    /// secret (paths, hosts, `true`) are ignored: redacting them would make texts unreadable.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let secrets = Self::default();
        secrets.add(values);
        secrets
    }

    /// Adds known values, for example after a login.
    pub fn add(&self, values: impl IntoIterator<Item = String>) {
        let mut known = unpoisoned(self.0.known.write());
        known.add(values);
    }

    /// Replaces known values and everything that looks like a credential with placeholders.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_all(text, |text, spans| {
            self.find_known(text, spans);
            find_credentials(text, spans);
        })
    }

    /// Replaces only known values, also in base64, in URLs and in JSON.
    pub fn redact_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_all(text, |text, spans| self.find_known(text, spans))
    }

    /// Redacts every string and every field name. Returns true if anything was replaced.
    pub fn redact_json(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.redact(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(redacted) => {
                    *text = redacted;
                    true
                }
            },
            Value::Array(values) => {
                let mut found = false;
                for value in values {
                    found |= self.redact_json(value);
                }
                found
            }
            Value::Object(fields) => {
                let plain = |name: &String| matches!(self.redact(name), Cow::Borrowed(_));
                let mut found = !fields.keys().all(plain);
                if found {
                    *fields = std::mem::take(fields)
                        .into_iter()
                        .map(|(name, value)| (self.redact(&name).into_owned(), value))
                        .collect();
                }
                for (name, value) in fields.iter_mut() {
                    found |= self.redact_json(value);
                    // The name may show that the value is a secret.
                    if let Value::String(text) = value
                        && context::is_secret_field(name, text)
                    {
                        *text = self.placeholder("secret", text);
                        found = true;
                    }
                }
                found
            }
            _ => false,
        }
    }

    /// Replaces placeholders with their secrets. Fails for a placeholder that was made elsewhere: a
    /// file with a placeholder in the place of a key would be broken.
    pub fn restore<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, UnknownPlaceholder> {
        let redacted = lock(&self.0.redacted);
        let mut restored = String::new();
        let mut done = 0;
        for range in placeholder::all(text) {
            let placeholder = &text[range.clone()];
            let Some(secret) = redacted.get(placeholder) else {
                return Err(UnknownPlaceholder { placeholder: placeholder.to_owned() });
            };
            restored.push_str(&text[done..range.start]);
            restored.push_str(secret);
            done = range.end;
        }
        if done == 0 {
            return Ok(Cow::Borrowed(text));
        }
        restored.push_str(&text[done..]);
        Ok(Cow::Owned(restored))
    }

    /// Returns true if the text contains a placeholder, made by any instance.
    pub fn has_placeholder(text: &str) -> bool {
        placeholder::all(text).next().is_some()
    }

    fn find_known(&self, text: &str, spans: &mut Vec<Span>) {
        unpoisoned(self.0.known.read()).find(text, spans);
    }

    /// Redacts until nothing is found: a secret may hide another one.
    fn redact_all<'a>(&self, text: &'a str, find: impl Fn(&str, &mut Vec<Span>)) -> Cow<'a, str> {
        let mut current = Cow::Borrowed(text);
        for _ in 0..MOST_ROUNDS {
            let mut spans = Vec::new();
            find(&current, &mut spans);
            let Some(redacted) = self.replace(&current, spans) else { break };
            current = Cow::Owned(redacted);
        }
        current
    }

    /// Replaces the spans that do not overlap a placeholder. Returns none if there are none.
    fn replace(&self, text: &str, mut spans: Vec<Span>) -> Option<String> {
        if spans.is_empty() {
            return None;
        }
        let placeholders: Vec<_> = placeholder::all(text).collect();
        let is_free = |span: &Span| {
            let after = placeholders.partition_point(|range| range.end <= span.start);
            placeholders.get(after).is_none_or(|range| range.start >= span.end)
        };
        spans.retain(|span| is_free(span) && span.start < span.end);
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for span in merged(spans) {
            out.push_str(&text[done..span.start]);
            out.push_str(&self.placeholder(span.kind, &text[span.start..span.end]));
            done = span.end;
        }
        if done == 0 {
            return None;
        }
        out.push_str(&text[done..]);
        Some(out)
    }

    /// Returns the placeholder for a secret. Secrets with the same short digest get longer ones.
    fn placeholder(&self, kind: Kind, secret: &str) -> String {
        let mut redacted = lock(&self.0.redacted);
        let mut digits = placeholder::LEAST_DIGITS;
        loop {
            let placeholder = placeholder::new(kind, secret, digits);
            match redacted.get(&placeholder) {
                Some(other) if other != secret && digits < placeholder::MOST_DIGITS => digits += 2,
                Some(_) => return placeholder,
                None => {
                    if redacted.len() < MOST_RESTORABLE {
                        redacted.insert(placeholder.clone(), secret.to_owned());
                    }
                    return placeholder;
                }
            }
        }
    }
}

/// Returns true if the text contains something that looks like a credential.
pub(crate) fn has_credential(text: &str) -> bool {
    let mut spans = Vec::new();
    find_credentials(text, &mut spans);
    !spans.is_empty()
}

fn find_credentials(text: &str, spans: &mut Vec<Span>) {
    shapes::find(text, spans);
    context::find(text, spans);
    blocks::find(text, spans);
}

/// Returns the kind of a known value, by its looks.
fn kind_of(value: &str) -> Kind {
    let mut spans = Vec::new();
    find_credentials(value, &mut spans);
    let whole = spans.iter().find(|span| span.start == 0 && span.end == value.len());
    whole.map_or("own-secret", |span| span.kind)
}

/// Sorts the spans and merges those that overlap. A merged span has the kind of the longest one, or
/// of the first of equally long ones.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut merged: Vec<(Span, usize)> = Vec::new();
    for span in spans {
        let length = span.end - span.start;
        match merged.last_mut() {
            Some((last, longest)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if length > *longest {
                    (*longest, last.kind) = (length, span.kind);
                }
            }
            _ => merged.push((span, length)),
        }
    }
    merged.into_iter().map(|(span, _)| span).collect()
}
