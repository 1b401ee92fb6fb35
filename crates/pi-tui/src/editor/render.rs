//! Drawing the editor.

use crate::component::View;
use crate::line::{Line, LineEnd, Span};
use crate::style::Style;
use crate::text;

use super::Editor;
use super::layout::{TAB, unit_width};
use super::text::Position;
use super::units;
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
        let padding = self.padding.min((view.width - 1) / 2);
        let columns = match padding {
            // The last column is for the caret behind a full row.
            0 => view.width - 1,
            _ => view.width - 2 * padding,
        };
        self.buffer.set_width(columns);
        self.page = MIN_ROWS.max(view.rows * ROWS_PERCENT / 100);
        self.scroll();

        let total = self.buffer.layout.total();
        let above = self.buffer.layout.rows_before(self.top.line) + self.top.row;
        let visible = self.page.min(total - above.min(total));
        let below = total.saturating_sub(above + visible);

        let label = self.border.label.as_ref();
        let mut lines = vec![border(view.width, self.border.style, label, counter('↑', above))];
        let mut row = self.top;
        for _ in 0..visible {
            lines.push(self.draw_row(row, padding, view.width));
            row = self.buffer.row_below(row, 1);
        }
        lines.push(border(view.width, self.border.style, None, counter('↓', below)));
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
        let mut at = range.start;
        while at < range.end {
            let end = units::next(source, at);
            let is_caret = has_caret && at == caret.column;
            if is_caret {
                line.caret = Some(line.width());
            }
            let style = style_at(at, is_caret);
            let columns = unit_width(source, at, end, &buffer.pastes, max);
            match buffer.pastes.label_at(source, at) {
                Some(label) => {
                    line.append(&text::truncate(&Line::styled(label, style), max, ""));
                }
                None => line.push(drawn(&source[at..end], columns), style),
            }
            at = end;
        }
        if has_caret && line.caret.is_none() {
            line.caret = Some(line.width());
            if !self.has_hardware_cursor && line.width() < width {
                line.push_span(Span::layout(" ", Style::PLAIN.inverse()));
            }
        }
        line.end = if is_last { LineEnd::Hard } else { LineEnd::Joined };
        line
    }
}

/// Returns a unit as it is drawn in a number of columns.
fn drawn(unit: &str, columns: usize) -> &str {
    match unit {
        "\t" => TAB.get(..columns).unwrap_or(TAB),
        // A wide character in a row of one column.
        _ if text::width(unit) > columns => " ",
        _ => unit,
    }
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
