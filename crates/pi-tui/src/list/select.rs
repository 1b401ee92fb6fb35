//! A list of items, one of which is chosen: menus and simple selectors.

use super::ListEvent;
use super::filter::FilterList;
use crate::component::View;
use crate::input::{Input, Key, Keymap};
use crate::style::Style;
use crate::text;
use crate::text::Line;
use crate::theme::Token;

/// Descriptions are shown in lists that are wider.
const NARROW: usize = 40;
/// A description has at least this many columns.
const MIN_DESCRIPTION: usize = 10;
/// Spaces between the label and the description.
const GAP: usize = 2;

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item<T> {
    /// What the choice stands for.
    pub value: T,
    /// The text that is shown and searched.
    pub label: String,
    /// An explanation beside the label.
    pub description: Option<String>,
}

impl<T> Item<T> {
    /// Creates a row without a description.
    pub fn new(value: T, label: impl Into<String>) -> Self {
        Self { value, label: label.into(), description: None }
    }

    /// Returns the row with a description.
    #[must_use]
    pub fn description(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }
}

/// A list of items, one of which is selected.
#[derive(Debug, Clone)]
pub struct SelectList<T> {
    list: FilterList<Item<T>>,
    /// The least and the greatest width of the column of labels.
    columns: (usize, usize),
}

impl<T> SelectList<T> {
    /// Creates a list that shows at most `rows` of its items.
    pub fn new(items: Vec<Item<T>>, rows: usize) -> Self {
        let list = FilterList::new(items, rows, |item| item.label.clone());
        Self { list, columns: (12, 32) }
    }

    /// Returns the list with other limits for the width of the column of labels.
    #[must_use]
    pub fn with_columns(self, least: usize, greatest: usize) -> Self {
        Self { columns: (least, greatest.max(least)), ..self }
    }

    /// Returns the list with `j` and `k` as arrows.
    #[must_use]
    pub fn with_letter_keys(self) -> Self {
        Self { list: self.list.with_letter_keys(), ..self }
    }

    /// Shows the items that match a query, best first, and selects the first one.
    pub fn filter(&mut self, query: &str) {
        self.list.set_search(query);
        self.list.select(0);
    }

    /// Selects the first item for which `is_wanted` is true, if it is shown.
    pub fn select(&mut self, is_wanted: impl Fn(&T) -> bool) {
        self.list.select_where(|item| is_wanted(&item.value));
    }

    /// Changes how many items are visible at most.
    pub fn set_rows(&mut self, rows: usize) {
        self.list.set_rows(rows);
    }

    /// Returns the selected item; none if no item matches.
    pub fn selected(&self) -> Option<&Item<T>> {
        self.list.selected()
    }

    /// Returns the place of the selected item among all items; none if no item matches.
    pub fn selected_index(&self) -> Option<usize> {
        self.list.selected_index()
    }

    /// Returns the number of items that are shown or can be scrolled to.
    pub fn len(&self) -> usize {
        self.list.shown().len()
    }

    /// Returns true if no item matches.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Moves the selection by a key, or reports what the key means.
    pub fn handle(&mut self, key: &Key, keymap: &Keymap) -> ListEvent {
        self.list.handle_key(key, keymap)
    }

    /// Moves the selection or edits the search, or reports what the key means.
    pub fn handle_input(&mut self, input: &Input, keymap: &Keymap) -> ListEvent {
        self.list.handle(input, keymap)
    }

    /// Returns the line of the search.
    pub fn search_line(&mut self, view: View<'_>) -> Line {
        self.list.search_line(view)
    }

    /// Returns the lines of the list.
    pub fn lines(&self, view: View<'_>) -> Vec<Line> {
        if self.list.is_empty() {
            let line = Line::styled("  No matches", view.theme.fg(Token::Muted));
            return vec![text::truncate(&line, view.width, "…")];
        }
        let shown = self.list.shown().iter().filter_map(|index| self.list.items().get(*index));
        let longest = shown.map(|item| text::width(&item.label)).max().unwrap_or(0);
        let column = (longest + GAP).clamp(self.columns.0, self.columns.1);
        let rows = self.list.visible();
        let mut lines: Vec<Line> =
            rows.map(|(item, is_selected)| row_line(item, is_selected, column, view)).collect();
        lines.extend(self.list.position(view.theme));
        lines.into_iter().map(|line| text::truncate(&line, view.width, "…")).collect()
    }
}

fn row_line<T>(item: &Item<T>, is_selected: bool, column: usize, view: View<'_>) -> Line {
    let (marker, label_style, style) = if is_selected {
        let accent = view.theme.fg(Token::Accent);
        ("→ ", accent, accent)
    } else {
        ("  ", Style::PLAIN, view.theme.fg(Token::Muted))
    };
    let mut line = Line::styled(marker, label_style);
    let label = Line::styled(item.label.as_str(), label_style);
    // Two columns at the right stay free.
    let room = view.width.saturating_sub(line.width() + 2);
    let description = item.description.as_deref().filter(|description| {
        let has_room = view.width > NARROW && room.saturating_sub(column) > MIN_DESCRIPTION;
        has_room && !description.trim().is_empty()
    });
    let Some(description) = description else {
        line.append(&text::truncate(&label, room.max(1), "…"));
        return line;
    };
    line.append(&text::truncate(&label, column - GAP.min(column), "…"));
    line.push(" ".repeat((marker.chars().count() + column).saturating_sub(line.width())), style);
    let description = Line::styled(description, style);
    line.append(&text::truncate(&description, room - column, "…"));
    line
}
