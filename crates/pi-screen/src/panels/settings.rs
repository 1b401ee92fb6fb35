//! The settings screen. `table` lists the settings, `theme` and `levels` are submenus.

mod levels;
mod table;
#[cfg(test)]
mod tests;
mod theme;

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_ai::{Model, ThinkingLevel};
use pi_config::SettingsStore;
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{Setting, SettingsEvent, SettingsList};
use pi_tui::{Line, View};
use serde_json::Value;

use super::super::panel::{Panel, PanelEvent};
use super::super::preferences::TuiMode;
use super::frame;
use levels::{LevelsEvent, LevelsMenu};
use theme::{ThemeEvent, ThemeMenu};

const ROWS: usize = 10;

/// Change made by the user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// Stores a value; `None` removes it.
    Set { path: Vec<String>, value: Option<Value> },
    /// Shows the screen in the colors of this setting of the theme, without storing it.
    Preview(String),
}

impl Answer {
    fn set(key: &str, value: Value) -> Self {
        Self::Set { path: table::path(key), value: Some(value) }
    }
}

/// Input of the panel.
pub(crate) struct Options<'a> {
    pub(crate) store: &'a SettingsStore,
    /// The terminal shows images.
    pub(crate) has_images: bool,
    /// The mode in use, which may be that of the command line.
    pub(crate) mode: TuiMode,
    /// The theme in use, as its setting.
    pub(crate) theme: String,
    pub(crate) themes: Vec<String>,
    pub(crate) models: Vec<Arc<Model>>,
    pub(crate) keymap: &'a Keymap,
}

/// The panel.
pub(crate) struct SettingsPanel {
    list: SettingsList,
    menu: Option<Menu>,
    theme: String,
    themes: Vec<String>,
    models: Vec<Arc<Model>>,
    levels: BTreeMap<String, ThinkingLevel>,
    warnings: bool,
}

/// The submenu that is open.
enum Menu {
    Theme(ThemeMenu),
    Levels(Box<LevelsMenu>),
    Warnings(SettingsList),
}

fn hint(keymap: &Keymap, first: &str) -> String {
    let (confirm, cancel) = (keymap.label("tui.select.confirm"), keymap.label("tui.select.cancel"));
    format!("{first}{confirm}/space changes · {cancel} closes")
}

impl SettingsPanel {
    pub(crate) fn new(options: Options<'_>) -> Self {
        let Options { store, has_images, mode, theme, themes, models, keymap } = options;
        let mut rows = table::settings(store, has_images);
        for row in &mut rows {
            match row.id.as_str() {
                "tuiMode" => row.value = mode.as_str().to_owned(),
                "theme" => row.value.clone_from(&theme),
                _ => {}
            }
        }
        let warning = store.value(&table::path("warnings.anthropicExtraUsage"));
        Self {
            list: SettingsList::new(rows, ROWS, hint(keymap, "type to search · ")).with_search(),
            menu: None,
            theme,
            themes,
            models,
            levels: store.settings().model_thinking_levels.clone().unwrap_or_default(),
            warnings: warning.and_then(|(value, _)| value.as_bool()).unwrap_or(true),
        }
    }

    fn open(&mut self, id: &str, keymap: &Keymap) {
        self.menu = match id {
            "theme" => Some(Menu::Theme(ThemeMenu::new(&self.theme, &self.themes, keymap))),
            "modelThinkingLevels" => {
                let menu = LevelsMenu::new(self.models.clone(), self.levels.clone(), keymap);
                Some(Menu::Levels(Box::new(menu)))
            }
            "warnings" => Some(Menu::Warnings(SettingsList::new(
                vec![Setting {
                    id: "warnings.anthropicExtraUsage".to_owned(),
                    label: "Anthropic extra usage".to_owned(),
                    description: "No effect in this version, which has no such warning.".to_owned(),
                    value: self.warnings.to_string(),
                    values: vec!["true".to_owned(), "false".to_owned()],
                    ..Setting::default()
                }],
                ROWS,
                hint(keymap, ""),
            ))),
            _ => None,
        };
    }

    fn handle_menu(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        match &mut self.menu {
            Some(Menu::Theme(menu)) => match menu.handle(input, keymap) {
                ThemeEvent::Nothing => PanelEvent::Changed,
                ThemeEvent::Preview(setting) => PanelEvent::Do(Answer::Preview(setting)),
                ThemeEvent::Back(setting) => {
                    self.menu = None;
                    PanelEvent::Do(Answer::Preview(setting))
                }
                ThemeEvent::Choose(setting) => {
                    self.menu = None;
                    self.list.set_value("theme", setting.as_str());
                    self.theme.clone_from(&setting);
                    PanelEvent::Do(Answer::set("theme", setting.into()))
                }
            },
            Some(Menu::Levels(menu)) => match menu.handle(input, keymap) {
                LevelsEvent::Nothing => PanelEvent::Changed,
                LevelsEvent::Back => {
                    self.menu = None;
                    PanelEvent::Changed
                }
                LevelsEvent::Set { model, level } => self.set_level(model, level),
            },
            Some(Menu::Warnings(list)) => match list.handle(input, keymap) {
                SettingsEvent::Changed { id, value } => {
                    self.warnings = value == "true";
                    PanelEvent::Do(Answer::set(&id, self.warnings.into()))
                }
                SettingsEvent::Cancelled => {
                    self.menu = None;
                    PanelEvent::Changed
                }
                _ => PanelEvent::Changed,
            },
            None => PanelEvent::Ignored,
        }
    }

    fn set_level(&mut self, model: String, level: Option<ThinkingLevel>) -> PanelEvent<Answer> {
        match level {
            Some(level) => self.levels.insert(model.clone(), level),
            None => self.levels.remove(&model),
        };
        let count: serde_json::Map<String, Value> =
            self.levels.keys().map(|key| (key.clone(), Value::Null)).collect();
        self.list.set_value("modelThinkingLevels", table::levels(Some(&count.into())));
        PanelEvent::Do(Answer::Set {
            path: vec!["modelThinkingLevels".to_owned(), model],
            value: level.map(|level| level.as_str().into()),
        })
    }

    fn content(&mut self, view: View<'_>) -> Vec<Line> {
        match &mut self.menu {
            Some(Menu::Theme(menu)) => menu.lines(view),
            Some(Menu::Levels(menu)) => menu.lines(view),
            Some(Menu::Warnings(list)) => {
                let mut lines = vec![frame::title("Warnings", view), Line::new()];
                lines.extend(list.lines(view));
                lines
            }
            None => self.list.lines(view),
        }
    }
}

impl Panel<Answer> for SettingsPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        frame::bordered(self.content(view), view)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        if self.menu.is_some() {
            return self.handle_menu(input, keymap);
        }
        match self.list.handle(input, keymap) {
            SettingsEvent::Changed { id, value } => {
                let value = table::stored(&id, &value);
                PanelEvent::Do(Answer::set(&id, value))
            }
            SettingsEvent::Opened { id } => {
                self.open(&id, keymap);
                PanelEvent::Changed
            }
            SettingsEvent::Cancelled => PanelEvent::Close(None),
            SettingsEvent::Moved => PanelEvent::Changed,
            _ => PanelEvent::Ignored,
        }
    }
}
