//! Time stamps as session files have them.

use jiff::Timestamp;

/// Returns the current time as ISO 8601 with milliseconds: `2026-11-15T06:32:52.596Z`.
pub(crate) fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// Parses a time stamp, in milliseconds since the epoch.
pub(crate) fn parse_ms(text: &str) -> Option<i64> {
    parse_usual(text.as_bytes())
        .or_else(|| text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond))
}

/// Formats a time as [`now`] does; `None` before 1970 and after 9999.
pub(crate) fn format_ms(ms: i64) -> Option<String> {
    if ms < 0 {
        return None;
    }
    let time = Timestamp::from_millisecond(ms).ok()?;
    Some(format!("{time:.3}"))
}

/// Parses a time stamp of exactly the form that [`now`] returns. Opening a session parses one per
/// entry, and a general parser is an order of magnitude slower.
fn parse_usual(text: &[u8]) -> Option<i64> {
    const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    if text.len() != FORM.len() {
        return None;
    }
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    };
    if !text.iter().zip(FORM).all(fits) {
        return None;
    }
    let number = |from: usize, to: usize| {
        text[from..to].iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    // Dates that do not exist and leap seconds are left to the general parser.
    let is_date = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = (days_since_epoch(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
    Some(seconds * 1000 + number(20, 23))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap_year),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts the days from 1970-01-01, for years from 0 on. The year is taken to begin in March, so
/// that the leap day is its last day.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // Five months from March on have 153 days, and so have five months from August on.
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_time_stamps_are_parsed_as_by_the_general_parser() {
        let general = |text: &str| text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond);
        for year in [0, 1, 1600, 1900, 1969, 1970, 2000, 2023, 2024, 2026, 2100, 9998] {
            for month in 1..=12 {
                for day in 1..=31 {
                    let text = format!("{year:04}-{month:02}-{day:02}T23:59:58.789Z");
                    assert_eq!(parse_ms(&text), general(&text), "{text}");
                    let usual = parse_usual(text.as_bytes());
                    assert_eq!(usual, general(&text), "{text}");
                }
            }
        }
        assert_eq!(parse_ms("1970-01-01T00:00:00.000Z"), Some(0));
        for text in [
            "2026-13-01T00:00:00.000Z",
            "2026-02-30T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-01T00:00:60.000Z",
            "2026-01-01T00:00:00.000z",
            "2026-01-01 00:00:00.000Z",
            "2026-01-01T00:00:00Z",
            "+026-01-01T00:00:00.000Z",
        ] {
            assert_eq!(parse_usual(text.as_bytes()), None, "{text}");
            assert_eq!(parse_ms(text), general(text), "{text}");
        }
    }
}
