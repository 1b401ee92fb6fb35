//! Reads the limits that providers report in the headers of a response.
//!
//! The vocabulary is small and shared: a prefix, then the words of resource, value and period in any
//! order (`x-ratelimit-remaining-tokens`, `anthropic-ratelimit-input-tokens-reset`,
//! `x-ratelimit-limit-req-minute`). A name with a word that is not known is ignored, since a limit of
//! something else must not be shown as a limit of requests. Windows of subscriptions are in
//! `windows`, times in `time`.
//!
//! Pure: the clock is an argument. Headers come from outside, so every value may be nonsense, which
//! counts as absent.

pub(crate) mod time;
mod windows;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use pi_protocol::{RateLimit, RateLimits};

/// Prefixes of limits, with the resource that a name without one belongs to.
const PREFIXES: &[(&str, Resource)] = &[
    ("anthropic-ratelimit-", Resource::Requests),
    ("x-ratelimit-", Resource::Requests),
    ("ratelimit-", Resource::Requests),
    ("x-tokenlimit-", Resource::Tokens),
    ("ratelimitbysize-", Resource::Tokens),
    ("x-ratelimitbysize-", Resource::Tokens),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Resource {
    Requests,
    Tokens,
    InputTokens,
    OutputTokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Limit,
    Remaining,
    Reset,
}

/// The meaning of a header name.
#[derive(Debug, PartialEq, Eq)]
struct Name<'a> {
    resource: Resource,
    value: Value,
    period: Option<&'a str>,
}

/// Reads the limits from the header fields of a response that arrived at `now`. Names are compared
/// without regard to case.
pub fn read<'h>(
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    now: SystemTime,
) -> RateLimits {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut limits: BTreeMap<(Resource, Option<String>), RateLimit> = BTreeMap::new();
    let mut windows = windows::Windows::default();
    let mut pauses = Pauses::default();
    for (name, text) in headers {
        let (name, text) = (name.to_ascii_lowercase(), text.trim());
        if pauses.read(&name, text, now) || windows.read(&name, text, now) {
            continue;
        }
        if name == "ratelimit" {
            structured(text, now, &mut limits);
            continue;
        }
        let Some(Name { resource, value, period }) = meaning(&name) else { continue };
        let limit = limits.entry((resource, period.map(str::to_owned))).or_default();
        match value {
            Value::Limit => limit.limit = amount(text),
            Value::Remaining => limit.remaining = amount(text),
            Value::Reset => limit.reset = time::read(text, now).map(millis),
        }
    }
    let mut found = RateLimits::default();
    found.windows = windows.into_list();
    found.retry_after_ms = pauses.into_pause();
    for ((resource, period), mut limit) in limits {
        if limit.is_empty() {
            continue;
        }
        limit.period = period;
        let slot = match resource {
            Resource::Requests => &mut found.requests,
            Resource::Tokens => &mut found.tokens,
            Resource::InputTokens => &mut found.input_tokens,
            Resource::OutputTokens => &mut found.output_tokens,
        };
        match slot {
            Some(other) if !is_tighter(&limit, other) => {}
            _ => *slot = Some(limit),
        }
    }
    found
}

/// Reads the meaning of a header name in lower case.
fn meaning(name: &str) -> Option<Name<'_>> {
    let (rest, default) = PREFIXES
        .iter()
        .find_map(|(prefix, resource)| Some((name.strip_prefix(prefix)?, *resource)))?;
    let (mut value, mut resource, mut period) = (None, None, None);
    for word in rest.split('-') {
        match word {
            "limit" => value = Some(Value::Limit),
            "remaining" => value = Some(Value::Remaining),
            "reset" => value = Some(Value::Reset),
            "requests" | "req" => resource = Some(Resource::Requests),
            "tokens" => resource = resource.or(Some(Resource::Tokens)),
            "input" | "prompt" => resource = Some(Resource::InputTokens),
            "output" | "generated" => resource = Some(Resource::OutputTokens),
            "second" | "minute" | "hour" | "day" | "month" => period = Some(word),
            _ => return None,
        }
    }
    Some(Name { value: value?, resource: resource.unwrap_or(default), period })
}

/// Reads the structured field `RateLimit: "policy";r=REMAINING;t=SECONDS`, or its older form
/// `limit=N, remaining=N, reset=SECONDS`.
fn structured(
    text: &str,
    now: Duration,
    limits: &mut BTreeMap<(Resource, Option<String>), RateLimit>,
) {
    let limit = limits.entry((Resource::Requests, None)).or_default();
    for part in text.split([';', ',']) {
        let Some((key, value)) = part.split_once('=') else { continue };
        let value = value.trim();
        match key.trim() {
            "limit" => limit.limit = amount(value),
            "r" | "remaining" => limit.remaining = amount(value),
            "t" | "reset" => limit.reset = time::read(value, now).map(millis),
            _ => {}
        }
    }
}

/// Returns true if less of `a` is left than of `b`.
fn is_tighter(a: &RateLimit, b: &RateLimit) -> bool {
    match (a.remaining_share(), b.remaining_share()) {
        (Some(a), Some(b)) => a < b,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// Reads an amount. Some servers write fractions; negative numbers stand for "unlimited".
fn amount(text: &str) -> Option<u64> {
    let number: f64 = text.parse().ok()?;
    // The cast saturates, as intended here.
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The pause that a server asks for; milliseconds are more exact than seconds.
#[derive(Debug, Default)]
struct Pauses {
    exact: Option<Duration>,
    seconds: Option<Duration>,
}

impl Pauses {
    /// Reads a header. Returns true if it is one of a pause.
    fn read(&mut self, name: &str, text: &str, now: Duration) -> bool {
        match name {
            "retry-after-ms" => self.exact = time::seconds(text).map(|pause| pause / 1000),
            "retry-after" => {
                self.seconds = time::seconds(text).or_else(|| {
                    let at = httpdate::parse_http_date(text).ok()?;
                    let at = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
                    Some(at.saturating_sub(now))
                });
            }
            _ => return false,
        }
        true
    }

    fn into_pause(self) -> Option<u64> {
        self.exact.or(self.seconds).map(millis)
    }
}

#[cfg(test)]
mod tests;
