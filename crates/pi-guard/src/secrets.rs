//! Credentials in texts: recognised, and replaced by a mask that says what was there.
//!
//! Two kinds are found: the values that this process itself was given as secrets, wherever and
//! however they are spelled, and what looks like a credential of somebody's. A mask such as
//! `[masked:github-token:3f9a2c]` has the kind and a short digest, so that one secret always looks
//! the same and two look different; whoever has the [`Secrets`] that made it can put the text back.
//!
//! Everything here is pure: no file, no environment, no clock.

mod blocks;
mod context;
mod own;
mod placeholder;
mod random;
mod shapes;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use own::Own;
use serde_json::Value;

pub use own::environment_secrets;

/// What a secret is, in a word or two.
type Kind = &'static str;

/// A secret in a text.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    kind: Kind,
}

/// More secrets than this are masked, but not remembered.
const REMEMBERED: usize = 10_000;

/// What is known to be secret, and what was masked. Clones share it.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Shared>);

#[derive(Default)]
struct Shared {
    own: RwLock<Own>,
    /// What each mask stands for.
    given: Mutex<HashMap<String, String>>,
}

/// How many, not which.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.0.own.read().unwrap_or_else(PoisonError::into_inner).len();
        let masked = self.0.given.lock().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Secrets").field("own", &own).field("masked", &masked).finish()
    }
}

/// A mask whose text is not known here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{placeholder} stands for a text that is not known here; read it again where it came from")]
pub struct UnknownPlaceholder {
    /// The mask.
    pub placeholder: String,
}

impl Secrets {
    /// Knows these values of the process itself. Those that are too short or obviously no secret
    /// (paths, hosts, `true`) are ignored: masking them would blind every text.
    pub fn new(own: impl IntoIterator<Item = String>) -> Self {
        let secrets = Self::default();
        secrets.add(own);
        secrets
    }

    /// More values of the process, as a login brings them.
    pub fn add(&self, own: impl IntoIterator<Item = String>) {
        let mut known = self.0.own.write().unwrap_or_else(PoisonError::into_inner);
        known.learn(own, kind_of);
    }

    /// The text with masks for own values and for everything that looks like a credential.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.until_nothing_is_left(text, |text, spans| {
            self.find_own(text, spans);
            find_shapes(text, spans);
        })
    }

    /// The text with masks for own values only, also in base64, as parts of addresses and in JSON.
    pub fn redact_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.until_nothing_is_left(text, |text, spans| self.find_own(text, spans))
    }

    /// Masks every string, and every name of a field. Says whether there was anything to mask.
    pub fn redact_json(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.redact(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(masked) => {
                    *text = masked;
                    true
                }
            },
            Value::Array(values) => {
                values.iter_mut().fold(false, |found, value| self.redact_json(value) | found)
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
                    // The name may be what gives the value away.
                    if let Value::String(text) = value
                        && context::is_secret_field(name, text)
                    {
                        *text = self.give("secret", text);
                        found = true;
                    }
                }
                found
            }
            _ => false,
        }
    }

    /// The text that masks of this value stand for. One that it did not give out is an error: a
    /// file with a mask in it instead of a key would be a broken file.
    pub fn restore<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, UnknownPlaceholder> {
        let given = self.0.given.lock().unwrap_or_else(PoisonError::into_inner);
        let mut restored = String::new();
        let mut done = 0;
        for place in placeholder::all(text) {
            let mask = &text[place.clone()];
            let secret = given
                .get(mask)
                .ok_or_else(|| UnknownPlaceholder { placeholder: mask.to_owned() })?;
            restored.push_str(&text[done..place.start]);
            restored.push_str(secret);
            done = place.end;
        }
        if done == 0 {
            return Ok(Cow::Borrowed(text));
        }
        restored.push_str(&text[done..]);
        Ok(Cow::Owned(restored))
    }

    /// Whether there is a mask in the text, whoever made it.
    pub fn has_placeholder(text: &str) -> bool {
        placeholder::all(text).next().is_some()
    }

    fn find_own(&self, text: &str, spans: &mut Vec<Span>) {
        self.0.own.read().unwrap_or_else(PoisonError::into_inner).find(text, spans);
    }

    /// Masks, and looks again: what was hidden by one secret may be another.
    fn until_nothing_is_left<'a>(
        &self,
        text: &'a str,
        find: impl Fn(&str, &mut Vec<Span>),
    ) -> Cow<'a, str> {
        let mut current = Cow::Borrowed(text);
        // Each round takes something away, so this ends; the bound is for the impatient.
        for _ in 0..16 {
            let mut spans = Vec::new();
            find(&current, &mut spans);
            let Some(masked) = self.replace(&current, spans) else { break };
            current = Cow::Owned(masked);
        }
        current
    }

    fn replace(&self, text: &str, mut spans: Vec<Span>) -> Option<String> {
        if spans.is_empty() {
            return None;
        }
        let masks: Vec<_> = placeholder::all(text).collect();
        let free = |span: &Span| {
            let after = masks.partition_point(|mask| mask.end <= span.start);
            masks.get(after).is_none_or(|mask| mask.start >= span.end)
        };
        spans.retain(|span| free(span) && span.start < span.end);
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for span in merged(spans) {
            out.push_str(&text[done..span.start]);
            out.push_str(&self.give(span.kind, &text[span.start..span.end]));
            done = span.end;
        }
        if done == 0 {
            return None;
        }
        out.push_str(&text[done..]);
        Some(out)
    }

    /// The mask for a secret. Two that have the same short digest get longer ones.
    fn give(&self, kind: Kind, secret: &str) -> String {
        let mut given = self.0.given.lock().unwrap_or_else(PoisonError::into_inner);
        let mut digits = placeholder::LEAST_DIGITS;
        loop {
            let mask = placeholder::new(kind, secret, digits);
            match given.get(&mask) {
                Some(known) if known != secret && digits < placeholder::MOST_DIGITS => digits += 2,
                Some(_) => return mask,
                None => {
                    if given.len() < REMEMBERED {
                        given.insert(mask.clone(), secret.to_owned());
                    }
                    return mask;
                }
            }
        }
    }
}

fn find_shapes(text: &str, spans: &mut Vec<Span>) {
    shapes::find(text, spans);
    context::find(text, spans);
    blocks::find(text, spans);
}

/// What an own value is, by its looks.
fn kind_of(value: &str) -> Kind {
    let mut spans = Vec::new();
    find_shapes(value, &mut spans);
    let whole = spans.iter().find(|span| span.start == 0 && span.end == value.len());
    whole.map_or("own-secret", |span| span.kind)
}

/// In order, and those that overlap as one, under the name of the longest; of two that are equally
/// long the first found.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut merged: Vec<(Span, usize)> = Vec::new();
    for span in spans {
        let long = span.end - span.start;
        match merged.last_mut() {
            Some((last, longest)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if long > *longest {
                    (*longest, last.kind) = (long, span.kind);
                }
            }
            _ => merged.push((span, long)),
        }
    }
    merged.into_iter().map(|(span, _)| span).collect()
}
