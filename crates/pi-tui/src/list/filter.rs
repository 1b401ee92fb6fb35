//! A list with a search: an input line, the items that match it, and the selected one.
//!
//! The owner draws the rows, and decides what an event means.

use super::ListEvent;
use super::selection::Selection;
use crate::component::View;
use crate::fuzzy;
use crate::input::{Input, Key, Keymap};
use crate::input_line::{InputEvent, InputLine};
use crate::text::Line;
use crate::theme::Theme;

/// Items with a search.
#[derive(Debug, Clone)]
pub struct FilterList<T> {
    items: Vec<T>,
    /// Returns the text of an item that is searched.
    text: fn(&T) -> String,
    keeps_order: bool,
    /// Returns the class of a match, which counts before its score. Lower is better.
    class: Option<fn(&T, &str) -> u8>,
    /// The items that match.
    shown: Vec<usize>,
    selection: Selection,
    search: InputLine,
}

impl<T> FilterList<T> {
    /// Creates a list that shows at most `rows` items. `text` is what the search looks at.
    pub fn new(items: Vec<T>, rows: usize, text: fn(&T) -> String) -> Self {
        let shown = (0..items.len()).collect();
        let selection = Selection::new(items.len(), rows);
        Self {
            items,
            text,
            keeps_order: false,
            class: None,
            shown,
            selection,
            search: InputLine::new(),
        }
    }

    /// Returns the list with matches in the order of the items, instead of the best first.
    #[must_use]
    pub fn keeping_order(self) -> Self {
        Self { keeps_order: true, ..self }
    }

    /// Returns the list with matches in classes, the lowest first. `class` gets an item and the text
    /// of the search.
    #[must_use]
    pub fn with_classes(self, class: fn(&T, &str) -> u8) -> Self {
        Self { class: Some(class), ..self }
    }

    /// Returns the list with `j` and `k` as arrows, if its owner has no line for the search.
    #[must_use]
    pub fn with_letter_keys(self) -> Self {
        Self { selection: self.selection.with_letter_keys(), ..self }
    }

    /// Returns all items.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Returns all items, to change what the search does not look at.
    pub fn items_mut(&mut self) -> &mut [T] {
        &mut self.items
    }

    /// Replaces the items. The search stays, and the selected row as far as it exists.
    pub fn set_items(&mut self, items: Vec<T>) {
        self.items = items;
        self.filter();
    }

    /// Returns the text of the search.
    pub fn search(&self) -> &str {
        self.search.text()
    }

    /// Replaces the text of the search.
    pub fn set_search(&mut self, text: &str) {
        self.search.set_text(text);
        self.filter();
    }

    fn filter(&mut self) {
        self.shown = fuzzy::filter(self.search.text(), &self.items, self.text);
        if self.keeps_order {
            self.shown.sort_unstable();
        }
        let search = self.search.text().trim();
        if let Some(class) = self.class.filter(|_| !search.is_empty()) {
            let items = &self.items;
            let class_of = |index: &usize| items.get(*index).map(|item| class(item, search));
            self.shown.sort_by_cached_key(class_of);
        }
        self.selection.set_len(self.shown.len());
    }

    /// Returns true if no item matches.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns the indices of the items that match, in the order of the rows.
    pub fn shown(&self) -> &[usize] {
        &self.shown
    }

    /// Returns the index of the selected item.
    pub fn selected_index(&self) -> Option<usize> {
        self.shown.get(self.selection.index()).copied()
    }

    /// Returns the selected item.
    pub fn selected(&self) -> Option<&T> {
        self.items.get(self.selected_index()?)
    }

    /// Selects a row.
    pub fn select(&mut self, row: usize) {
        self.selection.select(row);
    }

    /// Selects the first item for which `is_wanted` is true, if it is shown.
    pub fn select_where(&mut self, is_wanted: impl Fn(&T) -> bool) {
        let mut shown = self.shown.iter().map(|index| self.items.get(*index));
        if let Some(row) = shown.position(|item| item.is_some_and(&is_wanted)) {
            self.selection.select(row);
        }
    }

    /// Changes how many rows are visible.
    pub fn set_rows(&mut self, rows: usize) {
        self.selection.set_rows(rows);
    }

    /// Returns the visible items, and true for the selected one.
    pub fn visible(&self) -> impl Iterator<Item = (&T, bool)> {
        let rows = self.selection.visible();
        rows.filter_map(|row| {
            let item = self.items.get(*self.shown.get(row)?)?;
            Some((item, row == self.selection.index()))
        })
    }

    /// Returns the line `(n/m)`, if there are more rows than are visible.
    pub fn position(&self, theme: &Theme) -> Option<Line> {
        self.selection.position(theme)
    }

    /// Returns the line of the search.
    pub fn search_line(&mut self, view: View<'_>) -> Line {
        self.search.line(view)
    }

    /// Moves the selection by a key, or reports what the key means.
    pub fn handle_key(&mut self, key: &Key, keymap: &Keymap) -> ListEvent {
        self.selection.handle(key, keymap)
    }

    /// Moves the selection, edits the search, or reports what the key means.
    pub fn handle(&mut self, input: &Input, keymap: &Keymap) -> ListEvent {
        if let Input::Key(key) = input {
            match self.handle_key(key, keymap) {
                ListEvent::Ignored => {}
                event => return event,
            }
        }
        self.handle_search(input, keymap)
    }

    /// Edits the search. Other matches select the first row.
    pub fn handle_search(&mut self, input: &Input, keymap: &Keymap) -> ListEvent {
        match self.search.handle(input, keymap) {
            InputEvent::Ignored => return ListEvent::Ignored,
            InputEvent::Changed => {
                self.filter();
                self.selection.select(0);
            }
            _ => {}
        }
        ListEvent::Moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::defaults::Platform;
    use crate::input::{KeyCode, Modifiers};

    fn list() -> FilterList<&'static str> {
        FilterList::new(vec!["beta", "alpha", "gamma", "a"], 2, |item| (*item).to_owned())
    }

    fn visible(list: &FilterList<&'static str>) -> Vec<(&'static str, bool)> {
        list.visible().map(|(item, is_selected)| (*item, is_selected)).collect()
    }

    #[test]
    fn typing_filters_and_selects_the_best() {
        let keymap = Keymap::with_defaults(Platform::Unix, &[]);
        let mut list = list();
        assert_eq!(visible(&list), [("beta", true), ("alpha", false)]);
        let down = Input::Key(Key::new(KeyCode::Down, Modifiers::NONE));
        assert_eq!(list.handle(&down, &keymap), ListEvent::Moved);
        assert_eq!(list.selected(), Some(&"alpha"));
        assert_eq!(list.handle(&Input::Key(Key::typed('a')), &keymap), ListEvent::Moved);
        assert_eq!(visible(&list).first(), Some(&("a", true)), "an equal text is the best match");
        list.set_search("zzz");
        assert!(list.is_empty() && list.selected().is_none());
        assert_eq!(list.handle(&Input::Focus(true), &keymap), ListEvent::Ignored);
    }

    #[test]
    fn the_order_can_be_kept() {
        let mut list = list().keeping_order();
        list.set_search("a");
        assert_eq!(list.shown(), [0, 1, 2, 3]);
        list.select_where(|item| *item == "gamma");
        assert_eq!(list.selected_index(), Some(2));
        list.set_items(vec!["a"]);
        assert_eq!(list.selected(), Some(&"a"), "the selection stays inside of the list");
    }
}
