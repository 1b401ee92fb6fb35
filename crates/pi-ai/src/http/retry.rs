//! Retry decisions before an answer begins. Pure: the clock and the jitter are arguments.

use std::time::{Duration, SystemTime};

use pi_protocol::RetryOptions;
use pi_web::client::retry_after;
use pi_web::http::HeaderMap;

/// A failed attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt<'a> {
    /// Number of attempts before this one.
    pub(super) number: u32,
    /// The HTTP status; `None` if there was no response.
    pub(super) status: Option<u16>,
    pub(super) hints: &'a Hints,
}

/// Hints of the server about retries.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Hints {
    /// The header `x-should-retry`.
    pub(super) should_retry: Option<bool>,
    /// The header `retry-after-ms` or `retry-after`.
    pub(super) delay: Option<Duration>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Decision {
    GiveUp,
    /// The server requests a longer pause than allowed.
    TooLong(Duration),
    After(Duration),
}

/// Decides whether to retry after a failed attempt. `jitter` is between 0 and 1.
pub(super) fn decide(attempt: Attempt<'_>, options: &RetryOptions, jitter: f64) -> Decision {
    let retryable = attempt.hints.should_retry.unwrap_or(match attempt.status {
        None => true,
        Some(status) => matches!(status, 408 | 409 | 429) || status >= 500,
    });
    if !retryable || attempt.number >= options.max_retries {
        return Decision::GiveUp;
    }
    match attempt.hints.delay {
        Some(delay) if !options.max_delay.is_zero() && delay > options.max_delay => {
            Decision::TooLong(delay)
        }
        Some(delay) => Decision::After(delay),
        None => {
            let seconds = (0.5 * 2_f64.powi(attempt.number.min(16).cast_signed())).min(8.0);
            Decision::After(Duration::from_secs_f64(
                seconds * (1.0 - jitter.clamp(0.0, 1.0) * 0.25),
            ))
        }
    }
}

impl Hints {
    /// Reads the headers of a response; `now` is for a date in `retry-after`.
    pub(super) fn read(headers: &HeaderMap, now: SystemTime) -> Self {
        let should_retry = match headers.get("x-should-retry").map(|value| value.as_bytes()) {
            Some(b"true") => Some(true),
            Some(b"false") => Some(false),
            _ => None,
        };
        Self { should_retry, delay: retry_after(headers, now) }
    }
}

#[cfg(test)]
mod tests {
    use pi_web::http::HeaderValue;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn options(max_retries: u32) -> RetryOptions {
        RetryOptions::new(max_retries, 60 * SECOND)
    }

    #[test]
    fn status_hints_and_attempts_decide() {
        let hint = |should_retry, delay| Hints { should_retry, delay };
        let none = hint(None, None);
        let half = Decision::After(SECOND / 2);
        let cases: &[(&str, u32, Option<u16>, Hints, u32, Decision)] = &[
            ("no retries wanted", 0, Some(500), none.clone(), 0, Decision::GiveUp),
            ("no answer", 0, None, none.clone(), 1, Decision::After(SECOND / 2)),
            ("408", 0, Some(408), none.clone(), 1, Decision::After(SECOND / 2)),
            ("409", 0, Some(409), none.clone(), 1, Decision::After(SECOND / 2)),
            ("429", 0, Some(429), none.clone(), 1, half),
            ("529", 0, Some(529), none.clone(), 1, Decision::After(SECOND / 2)),
            ("400", 0, Some(400), none.clone(), 1, Decision::GiveUp),
            ("401", 0, Some(401), none.clone(), 1, Decision::GiveUp),
            ("no retries left", 1, Some(500), none.clone(), 1, Decision::GiveUp),
            ("doubles", 2, Some(500), none.clone(), 9, Decision::After(2 * SECOND)),
            ("at most 8 s", 30, Some(500), none, 99, Decision::After(8 * SECOND)),
            ("server forbids", 0, Some(500), hint(Some(false), None), 1, Decision::GiveUp),
            (
                "server asks for a retry",
                0,
                Some(400),
                hint(Some(true), None),
                1,
                Decision::After(SECOND / 2),
            ),
            (
                "server names a pause",
                0,
                Some(429),
                hint(None, Some(3 * SECOND)),
                1,
                Decision::After(3 * SECOND),
            ),
            (
                "too long",
                0,
                Some(429),
                hint(None, Some(61 * SECOND)),
                1,
                Decision::TooLong(61 * SECOND),
            ),
        ];
        for (what, number, status, hints, max, expected) in cases {
            let attempt = Attempt { number: *number, status: *status, hints };
            assert_eq!(decide(attempt, &options(*max), 0.0), *expected, "{what}");
        }
        let hints = hint(None, Some(3600 * SECOND));
        let attempt = Attempt { number: 0, status: Some(429), hints: &hints };
        let unlimited = RetryOptions::new(1, Duration::ZERO);
        assert_eq!(decide(attempt, &unlimited, 0.0), Decision::After(3600 * SECOND));
    }

    #[test]
    fn jitter_shortens_the_pause_by_up_to_a_quarter() {
        let hints = Hints::default();
        let attempt = Attempt { number: 1, status: None, hints: &hints };
        let decision = decide(attempt, &options(5), 1.0);
        assert_eq!(decision, Decision::After(Duration::from_millis(750)));
    }

    #[test]
    fn hints_are_read_from_headers() {
        let cases: &[(&[(&str, &str)], Option<bool>, Option<Duration>)] = &[
            (&[], None, None),
            (&[("retry-after", "2")], None, Some(2 * SECOND)),
            (
                &[("x-should-retry", "true"), ("retry-after-ms", "250")],
                Some(true),
                Some(SECOND / 4),
            ),
            (&[("x-should-retry", "false")], Some(false), None),
            (&[("x-should-retry", "maybe")], None, None),
        ];
        for (fields, should_retry, delay) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in *fields {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            let expected = Hints { should_retry: *should_retry, delay: *delay };
            assert_eq!(Hints::read(&headers, SystemTime::UNIX_EPOCH), expected, "{fields:?}");
        }
    }
}
