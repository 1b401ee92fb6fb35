//! The selector of the models to cycle through. `scope` is its state, this file its keys and lines.

mod scope;
#[cfg(test)]
mod tests;

use pi_coding_agent::session::ScopedModel;
use pi_tui::input::{Input, Key, Keymap};
use pi_tui::list::{FilterList, ListEvent};
use pi_tui::{Line, Token, View, text};

use super::super::panel::{Panel, PanelEvent};
use super::frame::{self, ModelRow};
use super::model::{Found, ServerSearch};
use scope::Entry;
pub(crate) use scope::Scope;

const ROWS: usize = 8;

/// Change made by the user.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// The models to cycle through in this session; none for all.
    Cycle(Vec<ScopedModel>),
    /// The value of `enabledModels`; `None` removes it.
    Save(Option<Vec<String>>),
}

/// The panel.
pub(crate) struct ScopedModelsPanel {
    scope: Scope,
    /// The entries of the scope.
    list: FilterList<Entry>,
    is_changed: bool,
    servers: ServerSearch,
    hints: Vec<String>,
    save: String,
}

impl ScopedModelsPanel {
    pub(crate) fn new(scope: Scope, found: Found, keymap: &Keymap) -> Self {
        let label = |action| keymap.label(action);
        let (up, down) = (label("app.models.reorderUp"), label("app.models.reorderDown"));
        let mut panel = Self {
            scope,
            list: FilterList::new(Vec::new(), ROWS, Entry::search_text),
            is_changed: false,
            servers: ServerSearch::new(found),
            hints: vec![
                format!("{} toggle", label("tui.select.confirm")),
                format!("{} all", label("app.models.enableAll")),
                format!("{} clear", label("app.models.clearAll")),
                format!("{} provider", label("app.models.toggleProvider")),
                format!("{up}/{down} reorder"),
                format!("{} save", label("app.models.save")),
            ],
            save: label("app.models.save"),
        };
        panel.filter();
        panel
    }

    fn filter(&mut self) {
        self.list.set_items(self.scope.entries().to_vec());
    }

    fn take_found(&mut self) -> bool {
        let Some(found) = self.servers.take() else { return false };
        self.scope.add(found);
        self.filter();
        true
    }

    /// Handles keys that change the scope. Returns false if the key does not.
    fn change(&mut self, key: &Key, keymap: &Keymap) -> bool {
        let is = |action| keymap.is(key, action);
        let selected = self.list.selected_index();
        if is("app.models.enableAll") {
            self.scope.set(self.list.shown(), true);
        } else if is("app.models.clearAll") {
            self.scope.set(self.list.shown(), false);
        } else if is("app.models.toggleProvider") {
            selected.into_iter().for_each(|at| self.scope.toggle_provider(at));
        } else if is("app.models.reorderUp") || is("app.models.reorderDown") {
            let moved = selected.filter(|_| self.list.search().is_empty());
            let moved = moved.and_then(|at| self.scope.reorder(at, is("app.models.reorderUp")));
            let Some(at) = moved else { return true };
            self.list.select(at);
        } else if is("tui.select.confirm") {
            selected.into_iter().for_each(|at| self.scope.toggle(at));
        } else {
            return false;
        }
        self.is_changed = true;
        self.filter();
        true
    }

    fn content(&mut self, view: View<'_>) -> Vec<Line> {
        self.list.set_rows(frame::list_rows(ROWS, view));
        let theme = view.theme;
        let muted = theme.fg(Token::Muted);
        let mut lines = vec![Line::new(), frame::title("Model Configuration", view)];
        let text = format!("Changes hold for this session; {} stores them.", self.save);
        lines.extend(frame::sentence(&text, muted, view));
        lines.extend([Line::new(), self.list.search_line(view), Line::new()]);
        if self.list.is_empty() {
            lines.push(Line::styled("  No models match", muted));
        }
        let rows = self.list.visible();
        lines.extend(rows.map(|(entry, is_selected)| row(entry, is_selected, view)));
        lines.extend(self.list.position(theme));
        if let Some(entry) = self.list.selected() {
            lines.push(Line::new());
            lines.push(Line::styled(format!("  {}", entry.explanation()), muted));
        }
        lines.push(Line::new());
        lines.push(self.servers.line(self.scope.counts().1 > 0, view));
        lines.extend(self.footer(view));
        lines
    }

    fn footer(&self, view: View<'_>) -> Vec<Line> {
        let (enabled, all) = self.scope.counts();
        let dim = view.theme.fg(Token::Dim);
        let text = format!("{} · {enabled}/{all} enabled", self.hints.join(" · "));
        let mut line = Line::styled(text, dim);
        if enabled == 0 {
            line.push(" (none: cycles through all)", dim);
        }
        if self.is_changed {
            line.push(" (unsaved)", view.theme.fg(Token::Warning));
        }
        text::wrap_indented(&line, view.width, &Line::plain("  "), &Line::new())
    }
}

fn row(entry: &Entry, is_selected: bool, view: View<'_>) -> Line {
    let row = match &entry.model {
        Some(model) => ModelRow::of(model),
        None => ModelRow { id: &entry.pattern, is_struck: true, ..ModelRow::default() },
    };
    ModelRow { is_selected, is_marked: entry.is_enabled, ..row }.line(view)
}

impl Panel<Answer> for ScopedModelsPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        frame::bordered(self.content(view), view)
    }

    fn update(&mut self) -> bool {
        self.take_found()
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        self.take_found();
        if let Input::Key(key) = input {
            if keymap.is(key, "app.models.save") {
                self.is_changed = false;
                return PanelEvent::Do(Answer::Save(self.scope.patterns()));
            }
            if keymap.is(key, "app.clear") && !self.list.search().is_empty() {
                self.list.set_search("");
                return PanelEvent::Changed;
            }
            if self.change(key, keymap) {
                return PanelEvent::Do(Answer::Cycle(self.scope.models()));
            }
        }
        match self.list.handle(input, keymap) {
            ListEvent::Cancelled => PanelEvent::Close(None),
            ListEvent::Ignored => PanelEvent::Ignored,
            _ => PanelEvent::Changed,
        }
    }
}
