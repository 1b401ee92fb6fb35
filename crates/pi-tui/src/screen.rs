//! Screens: documents on a terminal, written as the difference to what is there.
//!
//! A screen appends bytes to a buffer; it does no I/O. The caller writes the buffer in one piece,
//! and skips frames while the terminal does not accept output.

mod cells;
pub mod encode;
pub mod full;
mod images;
pub mod regular;

use std::rc::Rc;
use std::time::Instant;

use crate::text::{Line, Lines};
use crate::theme::Theme;

pub use encode::Encoder;
pub use full::{FullScreen, MouseOutcome, Scroll, Scrollbar, SearchStatus, WheelLines};
pub use regular::RegularScreen;

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Size {
    /// Creates a size of at least one cell.
    pub fn new(columns: usize, rows: usize) -> Self {
        Self { columns: columns.max(1), rows: rows.max(1) }
    }
}

/// Lines that cover a part of the visible rows.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // The names say it.
pub struct PlacedOverlay {
    /// Row of the first line, from the top of the screen.
    pub row: usize,
    /// First column.
    pub column: usize,
    pub width: usize,
    pub lines: Lines,
}

/// What a frame shows besides the document.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The colors.
    pub theme: &'a Theme,
    /// The lines below the document: editor, footer.
    pub dock: &'a [Line],
    /// Lines over the visible rows, the topmost last.
    pub overlays: &'a [PlacedOverlay],
    /// The time of the frame, for what disappears after a while.
    pub now: Instant,
    /// Shows the terminal's cursor. It stands on the caret even while it is hidden.
    pub cursor: bool,
    /// The text of the label that leads back to the end, in fullscreen mode.
    pub label: &'a str,
}

impl<'a> Frame<'a> {
    /// Creates a frame without overlays, with a hidden cursor.
    pub fn new(theme: &'a Theme, dock: &'a [Line], now: Instant) -> Self {
        Self { theme, dock, overlays: &[], now, cursor: false, label: "" }
    }
}

/// A line on the screen. Lines of blocks are shared with the block.
#[derive(Debug, Clone)]
struct Row {
    lines: Lines,
    index: usize,
}

impl Row {
    fn shared(lines: &Lines, index: usize) -> Self {
        Self { lines: Rc::clone(lines), index }
    }

    fn own(line: Line) -> Self {
        Self { lines: Rc::new([line]), index: 0 }
    }

    fn line(&self) -> &Line {
        &self.lines[self.index]
    }

    fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.lines, &other.lines) && self.index == other.index
            || self.line() == other.line()
    }
}

/// Appends a frame. One that changes rows is shown at once, without what is in between.
fn finish_frame(body: &[u8], is_change: bool, out: &mut Vec<u8>) {
    if is_change {
        out.extend_from_slice(b"\x1b[?2026h");
    }
    out.extend_from_slice(body);
    if is_change {
        out.extend_from_slice(b"\x1b[?2026l");
    }
}

/// Puts overlays over the visible rows. The caret of an overlay replaces that of the rows.
fn compose(rows: &mut [Row], overlays: &[PlacedOverlay], columns: usize) {
    for overlay in overlays {
        let width = overlay.width.min(columns.saturating_sub(overlay.column));
        if width == 0 {
            continue;
        }
        if overlay.lines.iter().any(|line| line.caret.is_some()) {
            for row in rows.iter_mut().filter(|row| row.line().caret.is_some()) {
                let mut line = row.line().clone();
                line.caret = None;
                *row = Row::own(line);
            }
        }
        let below = rows.iter_mut().skip(overlay.row);
        for (row, over) in below.zip(overlay.lines.iter()) {
            *row = Row::own(over_line(row.line(), over, overlay.column, width));
        }
    }
}

/// Replaces `width` columns of a line.
fn over_line(base: &Line, over: &Line, column: usize, width: usize) -> Line {
    let mut line = crate::text::slice(base, 0, column);
    line.caret = base.caret;
    line.pad_to(column, crate::Style::PLAIN);
    let mut part = crate::text::slice(over, 0, width);
    part.caret = over.caret;
    part.pad_to(width, crate::Style::PLAIN);
    line.append(&part);
    line.append(&crate::text::slice(base, column + width, base.width().max(column + width)));
    line
}

/// Limits the dock to some rows: the part with the caret and what is below it stays.
fn fit_dock(dock: &[Line], rows: usize) -> &[Line] {
    if dock.len() <= rows {
        return dock;
    }
    let caret = dock.iter().rposition(|line| line.caret.is_some()).unwrap_or(dock.len() - 1);
    let first = (dock.len() - rows).min(caret);
    &dock[first..first + rows]
}
