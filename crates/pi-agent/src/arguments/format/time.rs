//! Dates and times of RFC 3339, durations of ISO 8601.

/// `2024-02-29`.
pub(super) fn is_date(text: &str) -> bool {
    let Some([year, month, day]) = numbers(text, '-', [4, 2, 2]) else { return false };
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap_year => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// `12:00:00.5+02:00`. The sixtieth second exists only in the last minute of a day in UTC.
pub(super) fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else { return false };
    let Some([hour, minute, second]) = numbers(clock, ':', [2, 2, 2]) else { return false };
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|digit: char| digit.is_ascii_digit()),
        None => rest,
    };
    if rest.starts_with('.') && zone.len() + 1 == rest.len() {
        return false;
    }
    let Some(offset) = offset_minutes(zone) else { return false };
    let minute_of_day = i64::from(hour * 60 + minute) - offset;
    let is_last_minute = minute_of_day.rem_euclid(24 * 60) == 24 * 60 - 1;
    hour < 24 && minute < 60 && (second < 60 || (second == 60 && is_last_minute))
}

/// A date and a time with a `T` between them.
pub(super) fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time))
}

/// `P1Y2M3DT4H5M6S` or `P2W`: whole numbers, and no unit left out between two others.
pub(super) fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else { return false };
    let (date, time) = match rest.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (rest, None),
    };
    let Some(date) = unit_letters(date) else { return false };
    match time.map(unit_letters) {
        None => !date.is_empty() && ("YMD".contains(&date) || date == "W"),
        Some(Some(time)) => "YMD".contains(&date) && !time.is_empty() && "HMS".contains(&time),
        Some(None) => false,
    }
}

/// The letters after the numbers: `YMD` for `1Y2M3D`.
fn unit_letters(text: &str) -> Option<String> {
    let mut letters = String::new();
    let mut digits = 0;
    for character in text.chars() {
        match character {
            '0'..='9' => digits += 1,
            letter if digits > 0 => {
                letters.push(letter);
                digits = 0;
            }
            _ => return None,
        }
    }
    (digits == 0).then_some(letters)
}

/// The minutes that a zone (`Z`, `+02:00`) is ahead of UTC.
fn offset_minutes(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, offset) = match (zone.strip_prefix('+'), zone.strip_prefix('-')) {
        (Some(offset), _) => (1, offset),
        (_, Some(offset)) => (-1, offset),
        _ => return None,
    };
    let [hours, minutes] = numbers(offset, ':', [2, 2])?;
    (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 60 + minutes))
}

/// Numbers of fixed width with a separator between them, and nothing else.
fn numbers<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[u32; N]> {
    let parts: Vec<&str> = text.split(separator).collect();
    if !parts.iter().map(|part| part.len()).eq(widths) {
        return None;
    }
    let number = |part: &&str| {
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
    };
    parts.iter().map(number).collect::<Option<Vec<u32>>>()?.try_into().ok()
}
