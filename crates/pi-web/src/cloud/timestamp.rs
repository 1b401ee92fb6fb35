//! Times in answers and files: RFC 3339, and the form with `UTC` that older AWS tools write.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// Parses a time such as `2026-11-16T08:30:00Z`, without its fraction of a second. Times before 1970
/// are not accepted.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let moment: Timestamp = match text.strip_suffix("UTC") {
        Some(rest) => format!("{rest}Z").parse().ok()?,
        None => text.parse().ok()?,
    };
    from_seconds(u64::try_from(moment.as_second()).ok()?)
}

/// Returns the moment that is this many seconds ahead. A lifetime of more than a year is not
/// believed.
pub(super) fn after(seconds: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(seconds.min(365 * 24 * 60 * 60))
}

/// Returns the moment of a number of seconds since 1970.
pub(super) fn from_seconds(seconds: u64) -> Option<SystemTime> {
    // Later times are milliseconds that were taken for seconds.
    const YEAR_9999: u64 = 253_402_300_799;
    let valid = seconds <= YEAR_9999;
    if valid { SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)) } else { None }
}

/// Formats a time as RFC 3339 in UTC, with whole seconds.
pub(super) fn format(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        Some(parse(text)?.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn forms_of_times() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T23:59:59Z", Some(951_868_799)),
            ("2026-11-16T08:30:00Z", Some(1_794_817_800)),
            ("2026-11-16T08:30:00.123456789Z", Some(1_794_817_800)),
            ("2026-11-16T08:30:00UTC", Some(1_794_817_800)),
            ("2026-11-16T09:30:00+01:00", Some(1_794_817_800)),
            ("2026-11-16T03:30:00-0500", Some(1_794_817_800)),
            ("2026-11-16 08:30:00Z", Some(1_794_817_800)),
            ("2026-11-16T08:30:00", None),
            ("2026-13-16T08:30:00Z", None),
            ("2026-11-16", None),
            ("1969-12-31T23:59:59Z", None),
            ("1970-01-01T00:00:00+01:00", None),
            ("2026-11-16T08:30Z", Some(1_794_817_800)),
            ("2026-11-16T08:30:00+1", None),
            ("2026-11-16T08:30:00é", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_written_time_is_read_again(seconds in 0_u64..253_402_300_799) {
            let time = from_seconds(seconds).unwrap();
            prop_assert_eq!(parse(&format(time)), Some(time));
        }

        #[test]
        fn no_text_panics(text in "[-0-9TZ:+. é]{0,40}") {
            let _ = parse(&text);
        }
    }
}
