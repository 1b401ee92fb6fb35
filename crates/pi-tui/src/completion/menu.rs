//! The menu of completions under an editor.

use pi_base::text::one_line;

use crate::component::View;
use crate::input::{Key, Keymap};
use crate::list::{Item, ListEvent, SelectList, window};
use crate::text::Line;

use super::{Completion, CompletionKind, Completions};

/// Columns of the names in menus of anything but commands, whose names are short.
const NAME_COLUMNS: usize = 32;

/// Completions with a selected one.
#[derive(Debug, Clone)]
pub(crate) struct Menu {
    pub(crate) completions: Completions,
    /// The items by their index.
    list: SelectList<usize>,
    rows: usize,
    /// The text that the items replace.
    typed: String,
    /// The user moved the selection for this text: it wins over an exact name.
    is_chosen: bool,
    /// Tab opened the menu: it stays open for words that open none by themselves.
    pub(crate) is_forced: bool,
}

impl Menu {
    /// Creates a menu; `completions` has items. `typed` is the text that they replace.
    pub(crate) fn new(completions: Completions, rows: usize, typed: &str) -> Self {
        let mut list = list(&completions, rows);
        if let Some(exact) = completions.items.iter().position(|item| is_exact(item, typed)) {
            list.select(|index| *index == exact);
        }
        Self {
            completions,
            list,
            rows,
            typed: typed.to_owned(),
            is_chosen: false,
            is_forced: false,
        }
    }

    /// Replaces the completions. What the user selected stays selected if it is still there and the
    /// text is the same: more arrived. Typing on is another choice.
    pub(crate) fn update(&mut self, completions: Completions, rows: usize, typed: &str) {
        let chosen = match self.selected() {
            Some(chosen) if self.is_chosen && self.typed == typed => {
                completions.items.iter().position(|item| item.insert == chosen.insert)
            }
            _ => None,
        };
        let is_forced = self.is_forced;
        *self = Self { is_forced, ..Self::new(completions, rows, typed) };
        if let Some(chosen) = chosen {
            self.list.select(|index| *index == chosen);
            self.is_chosen = true;
        }
    }

    /// Returns the selected item.
    pub(crate) fn selected(&self) -> Option<&Completion> {
        self.completions.items.get(self.list.selected()?.value)
    }

    /// Moves the selection by a key, or reports what the key means.
    pub(crate) fn handle(&mut self, key: &Key, keymap: &Keymap) -> ListEvent {
        let event = self.list.handle(key, keymap);
        self.is_chosen |= event == ListEvent::Moved;
        event
    }

    /// Selects the item in a row of the menu. Returns false if there is none.
    pub(crate) fn click(&mut self, row: usize) -> bool {
        let selected = self.list.selected().map_or(0, |item| item.value);
        let visible = window(self.completions.items.len(), selected, self.rows);
        let clicked = visible.start + row;
        if !visible.contains(&clicked) {
            return false;
        }
        self.list.select(|index| *index == clicked);
        self.is_chosen = true;
        true
    }

    /// Returns the lines.
    pub(crate) fn lines(&self, view: View<'_>) -> Vec<Line> {
        self.list.lines(view)
    }
}

fn list(completions: &Completions, rows: usize) -> SelectList<usize> {
    let items = completions.items.iter().enumerate().map(|(index, item)| Item {
        value: index,
        label: one_line(&item.label),
        description: item.description.as_deref().map(one_line),
    });
    let list = SelectList::new(items.collect(), rows);
    match completions.kind {
        CompletionKind::Command => list,
        _ => list.with_columns(NAME_COLUMNS, NAME_COLUMNS),
    }
}

/// Returns true if the typed text is the whole completion.
pub(crate) fn is_exact(item: &Completion, typed: &str) -> bool {
    item.insert.trim_end() == typed
}
