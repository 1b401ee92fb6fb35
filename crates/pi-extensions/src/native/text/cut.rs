//! Parts of a text by columns.

use super::ansi::{Piece, Tracker, pieces, width};

const RESET: &str = "\u{1b}[0m";
/// Ends styles and links before and after a part of another line.
const SEGMENT_RESET: &str = "\u{1b}[0m\u{1b}]8;;\u{7}";

/// Cuts a text to a width and adds an ellipsis; `pads` fills the width with spaces.
pub(super) fn truncate(text: &str, max: usize, ellipsis: &str, pads: bool) -> String {
    if max == 0 {
        return String::new();
    }
    let columns = width(text);
    if columns <= max {
        return if pads { padded(text.to_owned(), columns, max) } else { text.to_owned() };
    }
    let ellipsis_columns = width(ellipsis);
    if ellipsis_columns >= max {
        let (part, columns) = fitting(ellipsis, max);
        if columns == 0 {
            return if pads { " ".repeat(max) } else { String::new() };
        }
        let cut = format!("{RESET}{part}{RESET}");
        return if pads { padded(cut, columns, max) } else { cut };
    }
    let mut kept = String::new();
    let mut pending = String::new();
    let mut tracker = Tracker::default();
    let mut columns = 0;
    for piece in pieces(text) {
        match piece {
            Piece::Sequence(sequence) => pending.push_str(sequence),
            Piece::Cluster(cluster, wide) => {
                if columns + wide > max - ellipsis_columns {
                    break;
                }
                tracker.read(&pending);
                kept.push_str(&std::mem::take(&mut pending));
                kept.push_str(cluster);
                columns += wide;
            }
        }
    }
    let link_end = tracker.link_end();
    let mut cut = format!("{kept}{link_end}{RESET}");
    if !ellipsis.is_empty() {
        cut.push_str(ellipsis);
        cut.push_str(RESET);
    }
    if pads { padded(cut, columns + ellipsis_columns, max) } else { cut }
}

fn padded(mut text: String, columns: usize, max: usize) -> String {
    text.extend(std::iter::repeat_n(' ', max.saturating_sub(columns)));
    text
}

/// Returns the clusters of a text that fit, and their columns.
fn fitting(text: &str, max: usize) -> (String, usize) {
    let mut part = String::new();
    let mut columns = 0;
    for piece in pieces(text) {
        match piece {
            Piece::Sequence(sequence) => part.push_str(sequence),
            Piece::Cluster(cluster, wide) if columns + wide <= max => {
                part.push_str(cluster);
                columns += wide;
            }
            Piece::Cluster(..) => break,
        }
    }
    (part, columns)
}

/// Returns `length` columns from `start` on, with the sequences before them. A wide character at
/// the end stays unless `is_strict`.
pub(super) fn slice(text: &str, start: usize, length: usize, is_strict: bool) -> String {
    slice_with_width(text, start, length, is_strict).0
}

fn slice_with_width(text: &str, start: usize, length: usize, is_strict: bool) -> (String, usize) {
    let end = start.saturating_add(length);
    let mut part = String::new();
    let mut pending = String::new();
    let (mut column, mut taken) = (0, 0);
    if length == 0 {
        return (part, 0);
    }
    for piece in pieces(text) {
        match piece {
            Piece::Sequence(sequence) if column >= end => {
                let _ = sequence;
                break;
            }
            Piece::Sequence(sequence) => pending.push_str(sequence),
            Piece::Cluster(cluster, wide) => {
                let is_inside =
                    column >= start && column < end && (!is_strict || column + wide <= end);
                if is_inside {
                    part.push_str(&std::mem::take(&mut pending));
                    part.push_str(cluster);
                    taken += wide;
                }
                column += wide;
                if column >= end {
                    break;
                }
            }
        }
    }
    (part, taken)
}

/// Places `over` on a line of `total` columns, from column `start` on, in `width` columns.
pub(super) fn compose(base: &str, over: &str, start: usize, width: usize, total: usize) -> String {
    let (before, before_columns) = slice_with_width(base, 0, start, true);
    let (middle, middle_columns) = slice_with_width(over, 0, width, true);
    let after_start = start + width;
    let after_room = total.saturating_sub(after_start);
    let (after, after_columns) = after(base, after_start, after_room);
    let pad = |columns: usize| " ".repeat(columns);
    format!(
        "{before}{}{SEGMENT_RESET}{middle}{}{SEGMENT_RESET}{after}{}",
        pad(start.saturating_sub(before_columns)),
        pad(width.saturating_sub(middle_columns)),
        pad(after_room.saturating_sub(after_columns)),
    )
}

/// Returns the columns from `start` on, behind the styles that are in force there.
fn after(text: &str, start: usize, length: usize) -> (String, usize) {
    let mut tracker = Tracker::default();
    let mut part = String::new();
    let (mut column, mut taken) = (0, 0);
    for piece in pieces(text) {
        match piece {
            Piece::Sequence(sequence) if taken == 0 => tracker.apply(sequence),
            Piece::Sequence(sequence) => part.push_str(sequence),
            Piece::Cluster(cluster, wide) => {
                if column >= start && column + wide <= start.saturating_add(length) {
                    if taken == 0 {
                        part = tracker.active();
                    }
                    part.push_str(cluster);
                    taken += wide;
                }
                column += wide;
                if column >= start.saturating_add(length) {
                    break;
                }
            }
        }
    }
    (part, taken)
}
