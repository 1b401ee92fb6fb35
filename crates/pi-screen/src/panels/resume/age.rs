//! The age of a session in a few characters: now, 5m, 3h, 2d, 1w, 2mo, 1y.

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Returns the time between two times in milliseconds as a short text.
pub(super) fn age(then: i64, now: i64) -> String {
    let seconds = now.saturating_sub(then) / 1000;
    let days = seconds / DAY;
    match days {
        _ if seconds < MINUTE => "now".to_owned(),
        _ if seconds < HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < DAY => format!("{}h", seconds / HOUR),
        _ if days < 7 => format!("{days}d"),
        _ if days < 30 => format!("{}w", days / 7),
        _ if days < 365 => format!("{}mo", days / 30),
        _ => format!("{}y", days / 365),
    }
}
