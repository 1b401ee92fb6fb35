//! Formulas as several lines: fractions are stacked, limits are above and below.

use super::inline::{self, single_spaced};
use super::parse::{Alignment, Node, parse};
use super::symbols;
use crate::text;

/// Lines and columns of a formula that are drawn.
const HEIGHT_LIMIT: usize = 40;
const WIDTH_LIMIT: usize = 400;

/// Returns a formula as lines, or nothing if it is not supported.
pub(in crate::markdown) fn display(formula: &str) -> Option<Vec<String>> {
    let drawn = draw(&parse(formula.trim())?)?;
    let lines = drawn.rows.into_iter().map(|row| row.trim_end().to_owned());
    Some(lines.collect())
}

/// A drawn part: rows of equal width. The base line is that on which it stands in a line.
#[derive(Debug, Clone)]
struct Drawing {
    rows: Vec<String>,
    base: usize,
    width: usize,
}

impl Drawing {
    fn text(text: &str) -> Self {
        Self { rows: vec![text.to_owned()], base: 0, width: text::width(text) }
    }

    fn height(&self) -> usize {
        self.rows.len()
    }

    /// Returns the rows centered in a width.
    fn centered(&self, width: usize) -> impl Iterator<Item = String> {
        let left = width.saturating_sub(self.width) / 2;
        let right = width.saturating_sub(self.width + left);
        self.rows.iter().map(move |row| format!("{}{row}{}", " ".repeat(left), " ".repeat(right)))
    }

    /// Places drawings beside each other on one base line.
    fn beside(parts: &[Self]) -> Self {
        let base = parts.iter().map(|part| part.base).max().unwrap_or(0);
        let below = parts.iter().map(|part| part.height() - part.base).max().unwrap_or(1);
        let mut rows = vec![String::new(); base + below];
        for part in parts {
            let first = base - part.base;
            for (at, row) in rows.iter_mut().enumerate() {
                match at.checked_sub(first).and_then(|at| part.rows.get(at)) {
                    Some(text) => row.push_str(text),
                    None => row.extend(std::iter::repeat_n(' ', part.width)),
                }
            }
        }
        Self { rows, base, width: parts.iter().map(|part| part.width).sum() }
    }

    /// Places drawings above each other; the base line is that of the row `base`.
    fn stacked(parts: &[Self], base: usize) -> Self {
        let width = parts.iter().map(|part| part.width).max().unwrap_or(0);
        let rows = parts.iter().flat_map(|part| part.centered(width)).collect();
        Self { rows, base, width }
    }
}

fn draw(node: &Node) -> Option<Drawing> {
    let drawing = match node {
        Node::Text(text) => Drawing::text(text),
        Node::Large(symbol) => Drawing::text(symbol),
        Node::Row(nodes) => row(nodes)?,
        Node::Fraction(above, below) => {
            let (above, below) = (trimmed(above)?, trimmed(below)?);
            let bar = Drawing::text(&"─".repeat(above.width.max(below.width).max(1)));
            let base = above.height();
            Drawing::stacked(&[above, bar, below], base)
        }
        Node::Root(degree, content) => root(node, degree.as_deref(), content)?,
        Node::Scripts { base, sub, sup } => scripts(base, sub.as_deref(), sup.as_deref())?,
        Node::Grid { rows, open, close, alignment } => grid(rows, open, close, *alignment)?,
        Node::Fenced { open, content, close } => fenced(open, &trimmed(content)?, close),
    };
    let fits = drawing.height() <= HEIGHT_LIMIT && drawing.width <= WIDTH_LIMIT;
    fits.then_some(drawing)
}

/// Draws a part without space around it.
fn trimmed(node: &Node) -> Option<Drawing> {
    let Node::Row(nodes) = node else { return draw(node) };
    let is_space = |node: &Node| matches!(node, Node::Text(text) if text.trim().is_empty());
    let first = nodes.iter().position(|node| !is_space(node)).unwrap_or(0);
    let last = nodes.iter().rposition(|node| !is_space(node)).map_or(0, |last| last + 1);
    row(nodes.get(first..last).unwrap_or_default())
}

/// Draws a row. Texts in it are joined first, so that spaces are not doubled.
fn row(nodes: &[Node]) -> Option<Drawing> {
    let mut parts: Vec<Drawing> = Vec::new();
    let mut text = String::new();
    let mut after_large = false;
    let flush = |text: &mut String, parts: &mut Vec<Drawing>| {
        if !text.is_empty() {
            let lead = if text.starts_with(' ') { " " } else { "" };
            let trail = if text.ends_with(' ') && !text.trim().is_empty() { " " } else { "" };
            let words = single_spaced(text.trim());
            parts.push(Drawing::text(&format!("{lead}{words}{trail}")));
            text.clear();
        }
    };
    for node in nodes {
        let is_large = match node {
            Node::Large(_) => true,
            Node::Scripts { base, .. } => matches!(**base, Node::Large(_)),
            _ => false,
        };
        let drawing = draw(node)?;
        let is_spaced = drawing.rows.first().is_some_and(|row| row.starts_with(' '));
        if after_large && !is_spaced {
            text.push(' ');
        }
        after_large = is_large;
        if drawing.height() == 1 && !is_large {
            text.push_str(drawing.rows.first().map_or("", String::as_str));
        } else {
            flush(&mut text, &mut parts);
            parts.push(drawing);
        }
    }
    flush(&mut text, &mut parts);
    if parts.is_empty() {
        return Some(Drawing::text(""));
    }
    Some(Drawing::beside(&parts))
}

fn root(node: &Node, degree: Option<&Node>, content: &Node) -> Option<Drawing> {
    let inner = trimmed(content)?;
    if inner.height() == 1 {
        return Some(Drawing::text(&single_spaced(&inline::line(node)?)));
    }
    let degree = match degree {
        Some(degree) => symbols::raised(inline::line(degree)?.trim())?,
        None => String::new(),
    };
    let lead = text::width(&degree) + 1;
    let mut rows = vec![format!("{}┌{}", " ".repeat(lead), "─".repeat(inner.width))];
    let last = inner.height() - 1;
    for (at, row) in inner.rows.iter().enumerate() {
        let sign = if at == last { format!("{degree}√") } else { " ".repeat(lead) };
        rows.push(format!("{sign}│{row}"));
    }
    Some(Drawing { rows, base: inner.base + 1, width: inner.width + lead + 1 })
}

fn scripts(base: &Node, sub: Option<&Node>, sup: Option<&Node>) -> Option<Drawing> {
    let drawn = |script: Option<&Node>| match script {
        Some(script) => trimmed(script).map(Some),
        None => Some(None),
    };
    let (below, above) = (drawn(sub)?, drawn(sup)?);
    if let Node::Large(symbol) = base {
        let parts: Vec<Drawing> =
            above.iter().chain([&Drawing::text(symbol)]).chain(&below).cloned().collect();
        let base = above.map_or(0, |above| above.height());
        return Some(Drawing::stacked(&parts, base));
    }
    let drawing = draw(base)?;
    if drawing.height() == 1 {
        let is_flat = |part: &Option<Drawing>| part.as_ref().is_none_or(|part| part.height() == 1);
        if is_flat(&below) && is_flat(&above) {
            return Some(Drawing::text(&single_spaced(&inline::scripts(base, sub, sup)?)));
        }
    }
    // The scripts of something tall are at its right, above and below the base line.
    let width = [&above, &below].into_iter().flatten().map(|part| part.width).max().unwrap_or(0);
    let blank = |height: usize| vec![" ".repeat(width); height];
    let padded = |part: &Drawing| -> Vec<String> {
        let pad = |row: &String| format!("{row}{}", " ".repeat(width.saturating_sub(part.width)));
        part.rows.iter().map(pad).collect()
    };
    let top = drawing.base.max(1);
    let bottom = (drawing.height() - drawing.base - 1).max(1);
    let above = above.as_ref().map(&padded).unwrap_or_default();
    let below = below.as_ref().map(&padded).unwrap_or_default();
    let base_row = top.max(above.len());
    let mut rows = above.clone();
    rows.extend(blank(base_row - above.len()));
    rows.extend(blank(1));
    let gap = bottom.max(below.len()) - below.len();
    if !below.is_empty() {
        rows.extend(blank(gap));
    }
    rows.extend(below);
    let side = Drawing { rows, base: base_row, width };
    Some(Drawing::beside(&[drawing, side]))
}

fn grid(rows: &[Vec<Node>], open: &str, close: &str, alignment: Alignment) -> Option<Drawing> {
    let mut cells: Vec<Vec<Drawing>> = Vec::new();
    for row in rows {
        let row: Option<Vec<Drawing>> = row.iter().map(trimmed).collect();
        cells.push(row?);
    }
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let width = |row: &Vec<Drawing>| row.get(column).map_or(0, |cell| cell.width);
            cells.iter().map(width).max().unwrap_or(0)
        })
        .collect();
    let mut lines = Vec::new();
    for row in &cells {
        let mut parts = Vec::new();
        for (column, width) in widths.iter().enumerate() {
            if column > 0 {
                parts.push(Drawing::text(if alignment == Alignment::Equation {
                    " "
                } else {
                    "  "
                }));
            }
            let cell = row.get(column).cloned().unwrap_or_else(|| Drawing::text(""));
            parts.push(aligned(&cell, *width, alignment, column));
        }
        lines.push(Drawing::beside(&parts));
    }
    let height: usize = lines.iter().map(Drawing::height).sum();
    let base = match lines.as_slice() {
        [single] => single.base,
        _ => height.saturating_sub(1) / 2,
    };
    let content = Drawing::stacked(&lines, base);
    Some(fenced(open, &content, close))
}

/// Extends a cell to the width of its column.
fn aligned(cell: &Drawing, width: usize, alignment: Alignment, column: usize) -> Drawing {
    let free = width.saturating_sub(cell.width);
    let left = match alignment {
        Alignment::Equation if column.is_multiple_of(2) => free,
        Alignment::Equation | Alignment::Left => 0,
        Alignment::Center => free / 2,
    };
    let pad = |row: &String| format!("{}{row}{}", " ".repeat(left), " ".repeat(free - left));
    Drawing { rows: cell.rows.iter().map(pad).collect(), base: cell.base, width }
}

/// The parts of tall brackets: top, middle, bottom, and the middle of a brace.
const TALL: &[(&str, [&str; 4])] = &[
    ("(", ["⎛", "⎜", "⎝", "⎜"]),
    (")", ["⎞", "⎟", "⎠", "⎟"]),
    ("[", ["⎡", "⎢", "⎣", "⎢"]),
    ("]", ["⎤", "⎥", "⎦", "⎥"]),
    ("{", ["⎧", "⎪", "⎩", "⎨"]),
    ("}", ["⎫", "⎪", "⎭", "⎬"]),
];

/// Puts brackets around a drawing.
fn fenced(open: &str, content: &Drawing, close: &str) -> Drawing {
    let side = |bracket: &str| {
        let height = content.height();
        let tall = TALL.iter().find(|(name, _)| *name == bracket).map(|(_, parts)| parts);
        let sign = |at: usize| match tall {
            Some(parts) if height > 1 => match at {
                0 => parts[0],
                at if at + 1 == height => parts[2],
                at if at == height / 2 => parts[3],
                _ => parts[1],
            },
            _ if bracket == "|" && height > 1 => "│",
            _ => bracket,
        };
        let rows = (0..height).map(|at| sign(at).to_owned()).collect();
        Drawing { rows, base: content.base, width: text::width(bracket) }
    };
    let mut parts = Vec::new();
    if !open.is_empty() {
        parts.push(side(open));
    }
    parts.push(content.clone());
    if !close.is_empty() {
        parts.push(side(close));
    }
    Drawing::beside(&parts)
}
