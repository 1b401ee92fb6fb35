//! Times in answers and files: RFC 3339, and the form with `UTC` that older AWS tools write.

use std::time::{Duration, SystemTime};

/// Parses a time such as `2026-11-16T08:30:00Z`. Times before 1970 are not accepted.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-')?;
    let clock_end = time.find(|one: char| !(one.is_ascii_digit() || one == ':' || one == '.'));
    let (clock, zone) = time.split_at(clock_end.unwrap_or(time.len()));
    // Fractions of a second do not matter for an expiry.
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let [hour, minute, second] = numbers(clock, ':')?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !in_range {
        return None;
    }
    let local = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    let seconds = u64::try_from(local - offset(zone)?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
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
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (day, second) = (since / 86_400, since % 86_400);
    // The civil date of a day number, with years that begin in March.
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut next = || {
        let part = parts.next()?;
        let digits = (1..=4).contains(&part.len()) && part.bytes().all(|one| one.is_ascii_digit());
        if digits { part.parse().ok() } else { None }
    };
    let numbers = [next()?, next()?, next()?];
    if parts.next().is_some() { None } else { Some(numbers) }
}

/// Returns the offset of a zone in seconds.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z" | "UTC") {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':').or_else(|| rest.split_at_checked(2))?;
    let number = |text: &str| {
        let digits = text.len() == 2 && text.bytes().all(|one| one.is_ascii_digit());
        if digits { text.parse::<i64>().ok() } else { None }
    };
    Some(sign * (number(hours)? * 3600 + number(minutes)? * 60))
}

/// Returns the days from 1970-01-01 to a civil date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let (era, of_era) = (year / 400, year % 400);
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
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
            ("2026-11-16T08:30Z", None),
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
