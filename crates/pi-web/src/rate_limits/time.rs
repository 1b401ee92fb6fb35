//! Times in headers: a date, a number of seconds, a moment since 1970, or a duration such as `6m0s`.

use std::time::Duration;

/// Numbers from here on are moments since 1970 and not seconds from now: 2001 in seconds, and 1973 in
/// milliseconds.
const FIRST_MOMENT: f64 = 1e9;
const FIRST_MOMENT_MS: f64 = 1e11;

/// Reads the moment at which a limit is reset, as time since 1970.
pub(super) fn read(text: &str, now: Duration) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        if number >= FIRST_MOMENT_MS {
            return Duration::try_from_secs_f64(number / 1000.0).ok();
        }
        if number >= FIRST_MOMENT {
            return Duration::try_from_secs_f64(number).ok();
        }
    }
    match seconds(text).or_else(|| duration(text)) {
        Some(wait) => now.checked_add(wait),
        None => date(text),
    }
}

/// Reads a number of seconds that is not negative.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    if number.is_nan() {
        return None;
    }
    Duration::try_from_secs_f64(number.max(0.0)).ok()
}

/// Reads a duration as Go writes it: `1h2m3.5s`, `120ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        let part = number.parse::<f64>().ok()? * seconds;
        total = total.checked_add(Duration::try_from_secs_f64(part).ok()?)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

/// Reads a date of RFC 3339: `2026-11-16T10:00:00Z`, with a fraction or an offset.
pub(crate) fn date(text: &str) -> Option<Duration> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    Duration::try_from(moment.duration_since(jiff::Timestamp::UNIX_EPOCH)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_in_every_form() {
        let now = Duration::from_secs(1_794_818_400); // 2026-11-16T08:40:00Z
        let after = |seconds: f64| Some(now + Duration::from_secs_f64(seconds));
        let rows = [
            ("1s", after(1.0)),
            ("6m0s", after(360.0)),
            ("2m59.56s", after(179.56)),
            ("7.66s", after(7.66)),
            ("120ms", after(0.12)),
            ("4h17m", after(15_420.0)),
            ("30", after(30.0)),
            ("33011.382867", after(33_011.382_867)),
            ("0", after(0.0)),
            ("-3", after(0.0)),
            ("1794818460", after(60.0)),
            ("1794818460000", after(60.0)),
            ("2026-11-16T08:41:00Z", after(60.0)),
            ("2026-11-16T09:41:00+01:00", after(60.0)),
            ("2026-11-16T03:41:00-05:00", after(60.0)),
            ("2026-11-16T08:41:00.5Z", after(60.5)),
            ("1970-01-01T00:00:00Z", Some(Duration::ZERO)),
            ("2024-02-29T00:00:00Z", Some(Duration::from_secs(1_709_164_800))),
            ("", None),
            ("soon", None),
            ("5x", None),
            ("NaN", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-11-16", None),
            ("99999999999999999999h", None),
        ];
        for (text, expected) in rows {
            assert_eq!(read(text, now), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}", digits in "[-0-9T:.+Zhms]{0,40}") {
            let _ = read(&text, Duration::from_secs(1));
            let _ = read(&digits, Duration::MAX);
        }
    }
}
