//! Time stamps as session files have them.

use jiff::Timestamp;

/// Now, as ISO 8601 with milliseconds: `2026-11-15T06:32:52.596Z`.
pub(crate) fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// A time stamp in milliseconds since the epoch.
pub(crate) fn parse_ms(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}
