//! A list of settings with their values: a search, the rows, and an explanation of the selected one.

use super::ListEvent;
use super::filter::FilterList;
use crate::component::View;
use crate::input::{Input, KeyKind, Keymap};
use crate::style::Style;
use crate::text;
use crate::text::Line;
use crate::theme::Token;

/// A setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setting {
    /// Name of the setting for the program.
    pub id: String,
    /// Name of the setting on the screen.
    pub label: String,
    /// Heading above the settings of the same group that follow each other. May be empty.
    pub group: String,
    /// An explanation that is shown while the row is selected.
    pub description: String,
    /// The present value.
    pub value: String,
    /// The values that the key goes through. If there are none, the key opens a submenu.
    pub values: Vec<String>,
}

/// The meaning of a key for a list of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsEvent {
    /// The key has no meaning here.
    Ignored,
    /// The list looks different: another row is selected, or the search changed.
    Moved,
    /// A setting has a new value.
    Changed {
        /// Name of the setting.
        id: String,
        /// The new value.
        value: String,
    },
    /// The submenu of a setting was asked for.
    Opened {
        /// Name of the setting.
        id: String,
    },
    /// The list was closed.
    Cancelled,
}

/// A list of settings, one of which is selected.
#[derive(Debug)]
pub struct SettingsList {
    list: FilterList<Setting>,
    /// The most rows that are visible.
    rows: usize,
    has_search: bool,
    hint: String,
}

impl SettingsList {
    /// Creates a list that shows at most `rows` settings. The hint is the last line.
    pub fn new(settings: Vec<Setting>, rows: usize, hint: impl Into<String>) -> Self {
        let list = FilterList::new(settings, rows, |setting| setting.label.clone());
        Self { list, rows, has_search: false, hint: hint.into() }
    }

    /// Returns the list with a search.
    #[must_use]
    pub fn with_search(self) -> Self {
        Self { has_search: true, ..self }
    }

    /// Returns the present value of a setting.
    pub fn value(&self, id: &str) -> Option<&str> {
        let mut settings = self.list.items().iter();
        settings.find(|setting| setting.id == id).map(|it| it.value.as_str())
    }

    /// Changes the value that is shown for a setting, after a submenu.
    pub fn set_value(&mut self, id: &str, value: impl Into<String>) {
        let mut settings = self.list.items_mut().iter_mut();
        if let Some(setting) = settings.find(|setting| setting.id == id) {
            setting.value = value.into();
        }
    }

    /// Moves the selection, changes a value or the search.
    pub fn handle(&mut self, input: &Input, keymap: &Keymap) -> SettingsEvent {
        if let Input::Key(key) = input {
            match self.list.handle_key(key, keymap) {
                ListEvent::Moved => return SettingsEvent::Moved,
                ListEvent::Cancelled => return SettingsEvent::Cancelled,
                ListEvent::Confirmed => return self.activate(),
                ListEvent::Ignored => {}
            }
            // A search may contain spaces, but does not begin with one.
            let is_searching = self.has_search && !self.list.search().is_empty();
            if key.is("space") && key.kind != KeyKind::Release && !is_searching {
                return self.activate();
            }
        }
        match self.has_search && self.list.handle_search(input, keymap) != ListEvent::Ignored {
            true => SettingsEvent::Moved,
            false => SettingsEvent::Ignored,
        }
    }

    /// Takes the next value of the selected setting.
    fn activate(&mut self) -> SettingsEvent {
        let selected = self.list.selected_index();
        let Some(setting) = selected.and_then(|index| self.list.items_mut().get_mut(index)) else {
            return SettingsEvent::Ignored;
        };
        let present = setting.values.iter().position(|value| *value == setting.value);
        let next = present.map_or(0, |index| (index + 1) % setting.values.len());
        let id = setting.id.clone();
        match setting.values.get(next) {
            Some(value) => {
                setting.value.clone_from(value);
                SettingsEvent::Changed { id, value: value.clone() }
            }
            None => SettingsEvent::Opened { id },
        }
    }

    /// Returns the lines of the list.
    pub fn lines(&mut self, view: View<'_>) -> Vec<Line> {
        // On a small screen there must be room for the search, the description and the hint.
        self.list.set_rows(self.rows.min(view.rows.saturating_sub(10)).max(3));
        let muted = view.theme.fg(Token::Muted);
        let mut lines = Vec::new();
        if self.has_search {
            lines.extend([self.list.search_line(view), Line::new()]);
        }
        if self.list.is_empty() {
            lines.push(Line::styled("  No matches", muted));
        }
        let mut group = "";
        for (setting, is_selected) in self.list.visible() {
            if setting.group != group && self.list.search().is_empty() {
                let heading = format!("  {}", setting.group);
                lines.push(Line::styled(heading, muted.bold()));
            }
            group = &setting.group;
            lines.push(self.row(setting, is_selected, view));
        }
        lines.extend(self.list.position(view.theme));
        if let Some(setting) =
            self.list.selected().filter(|setting| !setting.description.is_empty())
        {
            let description = Line::styled(setting.description.as_str(), muted);
            let indent = Line::plain("  ");
            lines.push(Line::new());
            lines.extend(text::wrap_indented(&description, view.width, &indent, &indent));
        }
        lines.push(Line::new());
        lines.push(Line::styled(format!("  {}", self.hint), view.theme.fg(Token::Dim)));
        lines.into_iter().map(|line| text::truncate(&line, view.width, "…")).collect()
    }

    fn row(&self, setting: &Setting, is_selected: bool, view: View<'_>) -> Line {
        let labels = self.list.items().iter().map(|it| text::width(&it.label));
        let longest = labels.max().unwrap_or(0);
        // In a narrow terminal the values keep a third of the width.
        let column = longest.min(view.width.saturating_sub(4) * 2 / 3).max(1);
        let (marker, label_style, style) = if is_selected {
            let accent = view.theme.fg(Token::Accent);
            ("→ ", accent, accent)
        } else {
            ("  ", Style::PLAIN, view.theme.fg(Token::Muted))
        };
        let mut line = Line::styled(marker, label_style);
        let label = Line::styled(setting.label.as_str(), label_style);
        line.append(&text::truncate(&label, column, "…"));
        line.pad_to(2 + column + 2, Style::PLAIN);
        line.push(setting.value.as_str(), style);
        line
    }
}
