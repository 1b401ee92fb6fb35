//! The submenu of themes: one theme, or one for each appearance of the terminal.

use pi_tui::input::{Input, Keymap};
use pi_tui::list::{ListEvent, Selection, Setting, SettingsEvent, SettingsList};
use pi_tui::theme::ThemeChoice;
use pi_tui::{Line, Style, Token, View, text};

use super::super::frame;

/// Consequence of input to the submenu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ThemeEvent {
    Nothing,
    /// Shows the screen in the colors of this setting.
    Preview(String),
    /// Stores this setting.
    Choose(String),
    /// Goes back with the colors of this setting.
    Back(String),
}

/// The submenu.
pub(super) struct ThemeMenu {
    /// The setting when the submenu was opened.
    original: ThemeChoice,
    names: Vec<String>,
    selection: Selection,
    /// The second step: a pair of themes.
    pair: Option<SettingsList>,
    hint: String,
}

const AUTOMATIC: &str = "automatic";
const ROWS: usize = 10;

impl ThemeMenu {
    /// Creates the submenu for a setting.
    pub(super) fn new(setting: &str, themes: &[String], keymap: &Keymap) -> Self {
        let mut names = themes.to_vec();
        names.insert(1.min(names.len()), AUTOMATIC.to_owned());
        let original = ThemeChoice::from_setting(setting);
        let present = match &original {
            ThemeChoice::Single(name) => name.as_str(),
            ThemeChoice::Automatic { .. } => AUTOMATIC,
        };
        let mut selection = Selection::new(names.len(), ROWS);
        selection.select(names.iter().position(|name| name == present).unwrap_or(0));
        let (confirm, cancel) =
            (keymap.label("tui.select.confirm"), keymap.label("tui.select.cancel"));
        Self {
            original,
            names,
            selection,
            pair: None,
            hint: format!("{confirm} selects · {cancel} goes back"),
        }
    }

    /// Handles input.
    pub(super) fn handle(&mut self, input: &Input, keymap: &Keymap) -> ThemeEvent {
        if self.pair.is_some() {
            return self.handle_pair(input, keymap);
        }
        let Input::Key(key) = input else { return ThemeEvent::Nothing };
        let selected = |menu: &Self| menu.names.get(menu.selection.index()).cloned();
        match self.selection.handle(key, keymap) {
            ListEvent::Cancelled => ThemeEvent::Back(self.original.to_string()),
            ListEvent::Moved => match selected(self) {
                Some(name) if name == AUTOMATIC => ThemeEvent::Preview(self.automatic()),
                Some(name) => ThemeEvent::Preview(name),
                None => ThemeEvent::Nothing,
            },
            ListEvent::Confirmed => match selected(self) {
                Some(name) if name == AUTOMATIC => {
                    self.open_pair(keymap);
                    ThemeEvent::Preview(self.automatic())
                }
                Some(name) => ThemeEvent::Choose(name),
                None => ThemeEvent::Nothing,
            },
            _ => ThemeEvent::Nothing,
        }
    }

    /// Returns the setting of the pair: the one that is being chosen, or that at the beginning.
    fn automatic(&self) -> String {
        let (light, dark) = self.themes_of_pair();
        format!("{light}/{dark}")
    }

    fn themes_of_pair(&self) -> (String, String) {
        if let Some(pair) = &self.pair {
            let value = |id: &str| pair.value(id).unwrap_or("system").to_owned();
            return (value("light"), value("dark"));
        }
        match &self.original {
            ThemeChoice::Automatic { light, dark } => (light.clone(), dark.clone()),
            ThemeChoice::Single(name) => (name.clone(), name.clone()),
        }
    }

    fn open_pair(&mut self, keymap: &Keymap) {
        let (light, dark) = self.themes_of_pair();
        let themes: Vec<String> =
            self.names.iter().filter(|name| *name != AUTOMATIC).cloned().collect();
        let row = |id: &str, label: &str, description: &str, value: String, values: Vec<String>| {
            Setting {
                id: id.to_owned(),
                label: label.to_owned(),
                description: description.to_owned(),
                value,
                values,
                ..Setting::default()
            }
        };
        let rows = vec![
            row(
                "light",
                "Light theme",
                "Colors while the terminal is light.",
                light,
                themes.clone(),
            ),
            row("dark", "Dark theme", "Colors while the terminal is dark.", dark, themes),
            row("apply", "Apply", "Stores the pair.", "save and go back".to_owned(), Vec::new()),
            row(
                "single",
                "Change mode",
                "Goes back to the list of themes.",
                "switch to single theme".to_owned(),
                Vec::new(),
            ),
        ];
        let (confirm, cancel) =
            (keymap.label("tui.select.confirm"), keymap.label("tui.select.cancel"));
        self.pair = Some(SettingsList::new(
            rows,
            ROWS,
            format!("{confirm}/space changes · {cancel} goes back"),
        ));
    }

    fn handle_pair(&mut self, input: &Input, keymap: &Keymap) -> ThemeEvent {
        let Some(pair) = &mut self.pair else { return ThemeEvent::Nothing };
        match pair.handle(input, keymap) {
            SettingsEvent::Changed { .. } => ThemeEvent::Preview(self.automatic()),
            SettingsEvent::Opened { id } if id == "apply" => ThemeEvent::Choose(self.automatic()),
            SettingsEvent::Opened { .. } | SettingsEvent::Cancelled => {
                self.pair = None;
                ThemeEvent::Preview(self.original.to_string())
            }
            _ => ThemeEvent::Nothing,
        }
    }

    /// Returns the lines.
    pub(super) fn lines(&mut self, view: View<'_>) -> Vec<Line> {
        let muted = view.theme.fg(Token::Muted);
        if let Some(pair) = &mut self.pair {
            let mut lines = vec![frame::title("Automatic Theme", view), Line::new()];
            let text =
                "One theme for each appearance of the terminal. It must report its appearance.";
            lines.extend(frame::sentence(text, muted, view));
            lines.push(Line::new());
            lines.extend(pair.lines(view));
            return lines;
        }
        let mut lines = vec![frame::title("Theme", view), Line::new()];
        let text = "One theme, or automatic: one for each appearance of the terminal.";
        lines.extend(frame::sentence(text, muted, view));
        lines.push(Line::new());
        for row in self.selection.visible() {
            lines.extend(self.names.get(row).map(|name| self.row(row, name, view)));
        }
        lines.extend(self.selection.position(view.theme));
        lines.extend([
            Line::new(),
            Line::styled(format!("  {}", self.hint), view.theme.fg(Token::Dim)),
        ]);
        lines
    }

    fn row(&self, row: usize, name: &str, view: View<'_>) -> Line {
        let accent = view.theme.fg(Token::Accent);
        let is_selected = row == self.selection.index();
        let (style, muted) = match is_selected {
            true => (accent, accent),
            false => (Style::PLAIN, view.theme.fg(Token::Muted)),
        };
        let is_present = match &self.original {
            ThemeChoice::Single(present) => present == name,
            ThemeChoice::Automatic { .. } => name == AUTOMATIC,
        };
        let mut line = Line::styled(frame::marks(is_selected, is_present), style);
        line.push(name, style);
        let description = match name {
            "system" => "made from the colors of the terminal",
            AUTOMATIC => "a theme for light and one for dark terminals",
            _ => return line,
        };
        line.push(" ".repeat(15_usize.saturating_sub(line.width())), style);
        line.push(description, muted);
        text::truncate(&line, view.width, "…")
    }
}
