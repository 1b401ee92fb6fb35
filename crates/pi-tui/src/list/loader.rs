//! The mark of work in progress. The clock belongs to the caller.

use std::time::Duration;

use crate::style::Style;
use crate::text::Line;

/// The pictures of the mark, one after the other.
pub const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The time for which a picture is shown.
pub const INTERVAL: Duration = Duration::from_millis(80);

/// Returns the picture after some time.
pub fn frame(elapsed: Duration) -> &'static str {
    let step = elapsed.as_millis() / INTERVAL.as_millis();
    let index = usize::try_from(step % FRAMES.len() as u128).unwrap_or(0);
    FRAMES.get(index).copied().unwrap_or_default()
}

/// Returns the time until the next picture is due.
pub fn until_next(elapsed: Duration) -> Duration {
    let since = elapsed.as_nanos() % INTERVAL.as_nanos();
    INTERVAL.saturating_sub(Duration::from_nanos(u64::try_from(since).unwrap_or(0)))
}

/// Returns the line of the mark: the picture in `mark`, a space, and the label in `style`.
pub fn line(elapsed: Duration, label: &str, mark: Style, style: Style) -> Line {
    let mut line = Line::styled(frame(elapsed), mark);
    if !label.is_empty() {
        line.push(format!(" {label}"), style);
    }
    line
}
