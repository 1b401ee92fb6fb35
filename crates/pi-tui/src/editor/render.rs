//! Drawing the editor.

use std::ops::Range;

use crate::buffer::layout::TAB;
use crate::buffer::paste::Pastes;
use crate::buffer::{Position, units};
use crate::component::View;
use crate::style::Style;
use crate::text;
use crate::text::{Line, LineEnd, Span};

use super::Editor;
use super::outside::Rows;
use super::visual::RowId;

/// The look of the borders of an editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Border {
    /// The color.
    pub style: Style,
    /// A text in the upper border. If there is no room for it, only its first character is shown:
    /// the spinner.
    pub label: Option<Line>,
}

/// The least number of visible rows.
const MIN_ROWS: usize = 5;
/// The part of the terminal's rows that may be visible, in percent.
const ROWS_PERCENT: usize = 30;

impl Editor {
    pub(super) fn draw(&mut self, view: View<'_>) -> Vec<Line> {
        if view.width == 0 {
            return Vec::new();
        }
        let Rows { lines: rows, above, below } = self.content(view);
        let padding = self.drawn_padding;
        let style = self.border.style;
        let label = self.border.label.clone();
        let mut lines = vec![self.upper.get((view.width, style, label, above), upper)];
        lines.extend(rows);
        lines.push(self.lower.get((view.width, style, None, below), lower));
        if let Some(menu) = &self.menu {
            let view = view.with_width(view.width - 2 * padding);
            let rows = menu.lines(view);
            lines.extend(rows.into_iter().map(|line| match padding {
                0 => line,
                _ => line.indented(padding, Style::PLAIN),
            }));
        }
        lines
    }

    /// Returns the rows of text for a width that is not 0.
    pub(super) fn content(&mut self, view: View<'_>) -> Rows {
        let padding = self.padding.min((view.width - 1) / 2);
        let columns = match padding {
            // The last column is for the caret behind a full row.
            0 => view.width - 1,
            _ => view.width - 2 * padding,
        };
        self.buffer.set_width(columns);
        self.drawn_padding = padding;
        self.page = MIN_ROWS.max(view.rows * ROWS_PERCENT / 100);
        self.scroll();

        let total = self.buffer.layout.total();
        let above = self.buffer.layout.rows_before(self.top.line) + self.top.row;
        let visible = self.visible_rows();
        let below = total.saturating_sub(above + visible);

        let mut lines = Vec::with_capacity(visible);
        let mut row = self.top;
        for _ in 0..visible {
            lines.push(self.draw_row(row, padding, view.width));
            row = self.buffer.row_below(row, 1);
        }
        Rows { lines, above, below }
    }

    /// Returns the number of rows between the borders.
    pub(super) fn visible_rows(&self) -> usize {
        self.page.min(self.buffer.layout.total())
    }

    /// Moves the visible part so that it contains the caret and no empty rows below the text.
    fn scroll(&mut self) {
        let buffer = &self.buffer;
        let caret = buffer.caret_row();
        let first = buffer.row_above(caret, self.page - 1);
        let last_line = buffer.lines().len() - 1;
        let end = RowId { line: last_line, row: buffer.layout.rows(last_line) - 1 };
        let last = buffer.row_above(end, self.page - 1);
        let top = self.top.clamp(first, caret).min(last);
        // The line may have fewer rows than before.
        self.top = RowId { row: top.row.min(buffer.layout.rows(top.line) - 1), ..top };
    }

    fn draw_row(&self, row: RowId, padding: usize, width: usize) -> Line {
        let buffer = &self.buffer;
        let source = buffer.line(row.line);
        let range = buffer.row_range(row);
        let is_last = row.row + 1 == buffer.layout.rows(row.line);
        let caret = buffer.caret();
        let has_caret = self.is_focused
            && caret.line == row.line
            && range.start <= caret.column
            && (caret.column < range.end || is_last);
        let selection = self.vim.as_ref().and_then(|vim| vim.selection(buffer));
        let is_selected = |column: usize| {
            let place = Position::new(row.line, column);
            selection.as_ref().is_some_and(|range| range.contains(&place))
        };
        // The caret is the cell that differs from those around it.
        let style_at = |column: usize, is_caret: bool| {
            let is_drawn = is_caret && !self.has_hardware_cursor;
            if is_drawn != is_selected(column) { Style::PLAIN.inverse() } else { Style::PLAIN }
        };

        let mut line = Line::new();
        line.push_span(Span::layout(" ".repeat(padding), Style::PLAIN));
        let max = buffer.layout.width();
        // Text that is drawn as it is, in one style, is added at once.
        let mut run = range.start;
        let mut run_style = Style::PLAIN;
        let mut at = range.start;
        while at < range.end {
            let end = units::next(source, at);
            let is_caret = has_caret && at == caret.column;
            let style = style_at(at, is_caret);
            let drawn = drawn(source, at..end, max, &buffer.pastes);
            if style != run_style || is_caret || drawn.is_some() {
                line.push(&source[run..at], run_style);
                run = at;
                run_style = style;
            }
            if is_caret {
                line.caret = Some(line.width());
            }
            if let Some(drawn) = drawn {
                line.push(drawn, style);
                run = end;
            }
            at = end;
        }
        line.push(&source[run..at], run_style);
        if has_caret && line.caret.is_none() {
            line.caret = Some(line.width());
            if !self.has_hardware_cursor && line.width() < width {
                line.push_span(Span::layout(" ", Style::PLAIN.inverse()));
            }
        }
        // Characters that are never written may stand between others that then join and grow.
        if line.width() > width {
            line = text::truncate(&line, width, "");
        }
        line.end = if is_last { LineEnd::Hard } else { LineEnd::Joined };
        line
    }
}

/// Returns how a unit is drawn, if not as it is: the label of a marker, the columns of a tab, a
/// space for a wide character in a row of one column.
fn drawn(line: &str, unit: Range<usize>, max: usize, pastes: &Pastes) -> Option<String> {
    if let [byte] = line.as_bytes()[unit.clone()] {
        return (byte == b'\t').then(|| TAB.chars().take(max).collect());
    }
    if let Some(label) = pastes.label_at(line, unit.start) {
        return Some(text::truncate(&Line::plain(label), max, "").text());
    }
    (max == 1 && text::width(&line[unit]) > max).then(|| " ".to_owned())
}

/// What a border depends on: width, style, label, number of hidden rows.
type BorderKey = (usize, Style, Option<Line>, usize);

/// A border that was drawn.
#[derive(Debug, Default)]
pub(super) struct BorderCache(Option<(BorderKey, Line)>);

impl BorderCache {
    fn get(&mut self, key: BorderKey, draw: impl FnOnce(&BorderKey) -> Line) -> Line {
        match &self.0 {
            Some((known, line)) if *known == key => line.clone(),
            _ => {
                let line = draw(&key);
                self.0 = Some((key, line.clone()));
                line
            }
        }
    }
}

fn upper((width, style, label, above): &BorderKey) -> Line {
    border(*width, *style, label.as_ref(), counter('↑', *above))
}

fn lower((width, style, label, below): &BorderKey) -> Line {
    border(*width, *style, label.as_ref(), counter('↓', *below))
}

fn counter(arrow: char, rows: usize) -> Option<String> {
    (rows > 0).then(|| format!(" {arrow} {rows} more "))
}

/// Returns a border over the full width, with a label at its left and a counter in its middle.
fn border(width: usize, style: Style, label: Option<&Line>, counter: Option<String>) -> Line {
    let rule = |columns: usize| Span::layout("─".repeat(columns), style);
    let mut line = Line::new();
    if let Some(label) = label.filter(|label| label.width() > 0)
        && let Some(label) = fitting(label, width.saturating_sub(5))
    {
        line.push_span(rule(2));
        line.push_span(Span::layout(" ", style));
        for span in label.spans() {
            line.push_span(Span { is_layout: true, ..span.clone() });
        }
        line.push_span(Span::layout(" ", style));
    }
    if let Some(counter) = counter {
        let columns = text::width(&counter);
        let start = width.saturating_sub(columns) / 2;
        if start > line.width() {
            line.push_span(rule(start - line.width()));
            line.push_span(Span::layout(counter, style));
        }
    }
    line.push_span(rule(width.saturating_sub(line.width())));
    line
}

/// Returns a label, or its first character if there is no room for it.
fn fitting(label: &Line, columns: usize) -> Option<Line> {
    if label.width() <= columns {
        return Some(label.clone());
    }
    let first = label.spans().first()?;
    let end = units::next(&first.text, 0);
    let first = Line::from_spans([Span { text: first.text[..end].to_owned(), ..first.clone() }]);
    (first.width() <= columns).then_some(first)
}
