//! Lines as bytes for the terminal: the only place where text is written.
//!
//! Text never carries control characters to the terminal, even if a line contains some. Every piece of
//! output ends in the terminal's own colors, without a link.

use std::io::Write as _;
use std::rc::Rc;

use super::cells::{Cell, cells, trimmed};
use crate::style::{Attributes, Color, ColorDepth, Style};
use crate::text::Line;

/// An encoder of lines.
#[derive(Debug, Clone, Copy)]
pub struct Encoder {
    /// The colors that are written.
    pub depth: ColorDepth,
    /// Writes links, so that the terminal opens them.
    pub hyperlinks: bool,
    /// The terminal wraps at the right edge, and has to be told when it must not.
    pub(super) wraps: bool,
}

/// The longest address of a link; terminals ignore longer ones.
const MAX_LINK: usize = 2_083;

/// Attributes, with the parameters that switch them on and off.
const ATTRIBUTES: &[(Attributes, u8, u8)] = &[
    (Attributes::BOLD, 1, 22),
    (Attributes::FAINT, 2, 22),
    (Attributes::ITALIC, 3, 23),
    (Attributes::UNDERLINE, 4, 24),
    (Attributes::INVERSE, 7, 27),
    (Attributes::STRIKE, 9, 29),
];

/// The part of a line that differs from what is on the screen.
#[derive(Debug)]
pub(super) struct Change<'a> {
    cells: Vec<Cell<'a>>,
    /// The column where writing starts.
    pub(super) column: usize,
    /// The column where the terminal's cursor stands afterwards.
    pub(super) end: usize,
    erase: Erase,
}

#[derive(Debug, PartialEq)]
enum Erase {
    Nothing,
    /// The rest of the row after the text.
    Rest,
    /// The row before the text is written.
    Row,
}

impl Encoder {
    /// Creates an encoder that writes no links.
    pub fn new(depth: ColorDepth) -> Self {
        Self { depth, hyperlinks: false, wraps: true }
    }

    /// Returns the encoder with links that the terminal opens.
    #[must_use]
    pub fn with_hyperlinks(self) -> Self {
        Self { hyperlinks: true, ..self }
    }

    /// Appends a line, at most `width` columns, without the blank cells at its end. Returns the
    /// number of columns that were written.
    pub fn line(&self, line: &Line, width: usize, out: &mut Vec<u8>) -> usize {
        let cells = cells(line, width);
        let cells = &cells[..trimmed(&cells)];
        self.cells(cells, width, out);
        cells.last().map_or(0, Cell::end)
    }

    /// Compares a line with what is on its row. Returns `None` if nothing is to be written.
    pub(super) fn change<'a>(&self, old: &Line, new: &'a Line, width: usize) -> Option<Change<'a>> {
        let mut before = cells(old, width);
        before.truncate(trimmed(&before));
        let mut after = cells(new, width);
        after.truncate(trimmed(&after));
        let (old_end, new_end) =
            (before.last().map_or(0, Cell::end), after.last().map_or(0, Cell::end));

        let same = before.iter().zip(&after).take_while(|(old, new)| self.looks_same(old, new));
        let mut same = same.count();
        if same == before.len() {
            // The rest of the row is blank.
            same += after[same..].iter().take_while(|cell| cell.is_blank()).count();
            if same == after.len() {
                return None;
            }
        }
        if before.iter().chain(&after).any(|cell| cell.is_doubtful) {
            return Some(Change { cells: after, column: 0, end: new_end, erase: Erase::Row });
        }
        let mut last = after.len();
        if old_end == new_end {
            let tail = before.iter().skip(same).rev().zip(after[same..].iter().rev());
            last -= tail.take_while(|(old, new)| self.looks_same(old, new)).count();
        }
        let erase = if new_end < old_end { Erase::Rest } else { Erase::Nothing };
        let column = after.get(same).map_or(new_end, |cell| cell.column);
        let end = after.get(last).map_or(new_end, |cell| cell.column);
        let cells = after.drain(same..last).collect();
        Some(Change { cells, column, end, erase })
    }

    /// Appends a change; the terminal's cursor must stand at its column.
    pub(super) fn write_change(&self, change: &Change<'_>, width: usize, out: &mut Vec<u8>) {
        if change.erase == Erase::Row {
            out.extend_from_slice(b"\x1b[2K");
        }
        self.cells(&change.cells, width, out);
        if change.erase == Erase::Rest {
            out.extend_from_slice(b"\x1b[K");
        }
    }

    fn looks_same(&self, one: &Cell<'_>, other: &Cell<'_>) -> bool {
        one.text == other.text
            && one.column == other.column
            && self.reduce(one.style) == self.reduce(other.style)
            && (!self.hyperlinks || one.link == other.link)
    }

    fn cells(&self, cells: &[Cell<'_>], width: usize, out: &mut Vec<u8>) {
        // A cluster that the terminal thinks wider must not wrap at the right edge.
        let may_wrap = self.wraps
            && cells.iter().any(|cell| {
                cell.is_doubtful && cell.column + 2 * cell.text.chars().count() > width
            });
        if may_wrap {
            out.extend_from_slice(b"\x1b[?7l");
        }
        let mut style = Style::PLAIN;
        let mut link: Option<&Rc<str>> = None;
        for cell in cells {
            let wanted = self.reduce(cell.style);
            if wanted != style {
                write_style(style, wanted, out);
                style = wanted;
            }
            if self.hyperlinks && cell.link != link {
                write_link(cell.link, out);
                link = cell.link;
            }
            out.extend_from_slice(cell.text.as_bytes());
            if cell.is_doubtful {
                let _ = write!(out, "\x1b[{}G", cell.end() + 1);
            }
        }
        if link.is_some() {
            write_link(None, out);
        }
        if style != Style::PLAIN {
            out.extend_from_slice(b"\x1b[m");
        }
        if may_wrap {
            out.extend_from_slice(b"\x1b[?7h");
        }
    }

    fn reduce(&self, style: Style) -> Style {
        let reduce = |color: Color| color.reduced(self.depth);
        Style { fg: reduce(style.fg), bg: reduce(style.bg), attributes: style.attributes }
    }
}

/// Appends the parameters that lead from one style to another.
fn write_style(old: Style, new: Style, out: &mut Vec<u8>) {
    if new == Style::PLAIN {
        out.extend_from_slice(b"\x1b[m");
        return;
    }
    out.extend_from_slice(b"\x1b[");
    let start = out.len();
    let mut kept = old.attributes;
    for (attribute, _, off) in ATTRIBUTES {
        if kept.contains(*attribute) && !new.attributes.contains(*attribute) {
            let _ = write!(out, "{off};");
            // One parameter switches off both bold and faint.
            for (other, _, _) in ATTRIBUTES.iter().filter(|(_, _, other)| other == off) {
                kept = kept.without(*other);
            }
        }
    }
    for (attribute, on, _) in ATTRIBUTES {
        if new.attributes.contains(*attribute) && !kept.contains(*attribute) {
            let _ = write!(out, "{on};");
        }
    }
    if old.fg != new.fg {
        write_color(new.fg, 30, out);
    }
    if old.bg != new.bg {
        write_color(new.bg, 40, out);
    }
    if out.len() > start {
        out.pop();
    }
    out.push(b'm');
}

fn write_color(color: Color, base: u8, out: &mut Vec<u8>) {
    let _ = match color {
        Color::Default => write!(out, "{};", base + 9),
        Color::Indexed(index @ 0..8) => write!(out, "{};", base + index),
        Color::Indexed(index @ 8..16) => write!(out, "{};", base + 52 + index),
        Color::Indexed(index) => write!(out, "{};5;{index};", base + 8),
        Color::Rgb(red, green, blue) => write!(out, "{};2;{red};{green};{blue};", base + 8),
    };
}

/// Appends the begin of a link, or the end of the last one. Only printable ASCII is written.
fn write_link(link: Option<&Rc<str>>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1b]8;;");
    let start = out.len();
    for byte in link.map_or(&[][..], |link| link.as_bytes()) {
        if byte.is_ascii_graphic() {
            out.push(*byte);
        } else if !byte.is_ascii_control() {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    if out.len() - start > MAX_LINK {
        out.truncate(start);
    }
    out.extend_from_slice(b"\x1b\\");
}
