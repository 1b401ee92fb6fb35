//! The submenu of thinking levels per model, in two steps: the model, then its level.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_ai::{Model, ThinkingLevel};
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{FilterList, ListEvent, Selection};
use pi_tui::{Line, Style, Token, View};

use super::super::frame::{self, ModelRow};
use super::super::thinking;

const ROWS: usize = 10;

/// Consequence of input to the submenu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LevelsEvent {
    Nothing,
    /// Stores the level of a model; `None` removes it.
    Set {
        model: String,
        level: Option<ThinkingLevel>,
    },
    Back,
}

/// The submenu.
pub(super) struct LevelsMenu {
    list: FilterList<Arc<Model>>,
    levels: BTreeMap<String, ThinkingLevel>,
    /// The second step: the model and its levels, then the row that removes the level.
    step: Option<(Arc<Model>, Selection)>,
    hint: String,
}

fn key(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

impl LevelsMenu {
    /// Creates the submenu for the models that have levels.
    pub(super) fn new(
        models: Vec<Arc<Model>>,
        levels: BTreeMap<String, ThinkingLevel>,
        keymap: &Keymap,
    ) -> Self {
        let models: Vec<Arc<Model>> =
            models.into_iter().filter(|model| model.thinking_levels().len() > 1).collect();
        let (confirm, cancel) =
            (keymap.label("tui.select.confirm"), keymap.label("tui.select.cancel"));
        Self {
            list: FilterList::new(models, ROWS, |model| format!("{} {}", key(model), model.name)),
            levels,
            step: None,
            hint: format!("{confirm} selects · {cancel} goes back"),
        }
    }

    /// Handles input.
    pub(super) fn handle(&mut self, input: &Input, keymap: &Keymap) -> LevelsEvent {
        if self.step.is_some() {
            return self.handle_level(input, keymap);
        }
        match self.list.handle(input, keymap) {
            ListEvent::Cancelled => return LevelsEvent::Back,
            ListEvent::Confirmed => self.open(),
            _ => {}
        }
        LevelsEvent::Nothing
    }

    fn open(&mut self) {
        let Some(model) = self.list.selected() else { return };
        let levels = model.thinking_levels();
        let present = self.levels.get(&key(model));
        let mut selection = Selection::new(levels.len() + usize::from(present.is_some()), ROWS);
        let at = levels.iter().position(|level| Some(level) == present);
        selection.select(at.unwrap_or(0));
        self.step = Some((Arc::clone(model), selection));
    }

    fn handle_level(&mut self, input: &Input, keymap: &Keymap) -> LevelsEvent {
        let (Input::Key(pressed), Some((model, selection))) = (input, &mut self.step) else {
            return LevelsEvent::Nothing;
        };
        match selection.handle(pressed, keymap) {
            ListEvent::Cancelled => {
                self.step = None;
                LevelsEvent::Nothing
            }
            ListEvent::Confirmed => {
                let level = model.thinking_levels().get(selection.index()).copied();
                let model = key(model);
                match level {
                    Some(level) => self.levels.insert(model.clone(), level),
                    None => self.levels.remove(&model),
                };
                self.step = None;
                LevelsEvent::Set { model, level }
            }
            _ => LevelsEvent::Nothing,
        }
    }

    /// Returns the lines.
    pub(super) fn lines(&mut self, view: View<'_>) -> Vec<Line> {
        let mut lines = match &self.step {
            Some((model, selection)) => self.level_lines(model, selection, view),
            None => self.model_lines(view),
        };
        lines.push(Line::new());
        lines.push(Line::styled(format!("  {}", self.hint), view.theme.fg(Token::Dim)));
        lines
    }

    fn model_lines(&mut self, view: View<'_>) -> Vec<Line> {
        let muted = view.theme.fg(Token::Muted);
        let mut lines = vec![frame::title("Default Thinking Level per Model", view), Line::new()];
        lines.extend(frame::sentence("Step 1/2 · Which model?", muted, view));
        lines.extend([Line::new(), self.list.search_line(view), Line::new()]);
        if self.list.is_empty() {
            lines.push(Line::styled("  No models match", muted));
        }
        for (model, is_selected) in self.list.visible() {
            let level = self.levels.get(&key(model)).map(|level| level.as_str());
            let row = ModelRow {
                remark: level,
                is_selected,
                is_marked: level.is_some(),
                ..ModelRow::of(model)
            };
            lines.push(row.line(view));
        }
        lines.extend(self.list.position(view.theme));
        lines
    }

    fn level_lines(&self, model: &Model, selection: &Selection, view: View<'_>) -> Vec<Line> {
        let title = format!("Thinking Level for {} [{}]", model.id, model.provider);
        let mut lines = vec![frame::title(title, view), Line::new()];
        let muted = view.theme.fg(Token::Muted);
        lines.extend(frame::sentence("Step 2/2 · Which level does it begin with?", muted, view));
        lines.push(Line::new());
        let levels = model.thinking_levels();
        let present = self.levels.get(&key(model));
        for (row, level) in levels.iter().enumerate() {
            let is_selected = row == selection.index();
            lines.push(thinking::row(*level, "", is_selected, Some(level) == present, view));
        }
        if present.is_some() {
            let is_selected = selection.index() == levels.len();
            let style = if is_selected { view.theme.fg(Token::Accent) } else { Style::PLAIN };
            let text = format!("{}clear     no level of its own", frame::marks(is_selected, false));
            lines.push(Line::styled(text, style));
        }
        lines
    }
}
