//! The pause that a server requests before a retry. Pure: the clock is an argument.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

/// Returns the pause of the headers `retry-after-ms` or `retry-after`.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let get = |name: &str| headers.get(name)?.to_str().ok();
    let millis = get("retry-after-ms").and_then(|text| non_negative(text, 1e-3));
    millis.or_else(|| {
        let text = get("retry-after")?;
        non_negative(text, 1.0).or_else(|| {
            let at = httpdate::parse_http_date(text).ok()?;
            Some(at.duration_since(now).unwrap_or_default())
        })
    })
}

fn non_negative(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64((number * unit).max(0.0)).ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_are_read_in_every_form() {
        let now = httpdate::parse_http_date("Sun, 15 Nov 2026 12:00:00 GMT").unwrap();
        let cases: &[(&[(&str, &str)], Option<Duration>)] = &[
            (&[], None),
            (&[("retry-after", "2")], Some(2 * SECOND)),
            (&[("retry-after", "1.5")], Some(Duration::from_millis(1500))),
            (&[("retry-after-ms", "250"), ("retry-after", "9")], Some(SECOND / 4)),
            (&[("retry-after", "Sun, 15 Nov 2026 12:00:05 GMT")], Some(5 * SECOND)),
            (&[("retry-after", "Sun, 15 Nov 2026 11:00:00 GMT")], Some(Duration::ZERO)),
            (&[("retry-after", "-3")], Some(Duration::ZERO)),
            (&[("retry-after", "soon")], None),
        ];
        for (fields, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in *fields {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            assert_eq!(retry_after(&headers, now), *expected, "{fields:?}");
        }
    }
}
