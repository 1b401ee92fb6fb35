//! The tree of the session: shows all branches, moves between them, labels entries.
//!
//! `nodes` decides which rows are shown, `filter` which entries, `source` reads the log, `text` turns
//! entries into lines of text, `rows` draws. This file connects them to the keys.

mod filter;
mod nodes;
mod rows;
mod source;
#[cfg(test)]
mod tests;
mod text;

use pi_coding_agent::AgentSession;
use pi_session::SessionError;
use pi_tui::input::{Input, Key, KeyCode, Keymap};
use pi_tui::list::{ListEvent, Selection};
use pi_tui::{InputEvent, InputLine, Line, View};

use super::super::panel::{Panel, PanelEvent};
use filter::Filter;
use nodes::{Nodes, Row};
use source::Texts;

/// Rows that are visible at least.
const LEAST_ROWS: usize = 5;

/// Choice of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Continue at this entry.
    Go { entry: String },
    /// The session is at the selected entry already.
    Stay,
    /// Copy this text.
    Copy(String),
    /// Label an entry; `None` removes its label.
    Label { entry: String, label: Option<String> },
}

/// The panel.
pub(crate) struct TreePanel {
    session: AgentSession,
    nodes: Nodes,
    texts: Texts,
    filter: Filter,
    search: String,
    rows: Vec<Row>,
    selection: Selection,
    shows_label_times: bool,
    /// The label that is edited, and its node.
    label: Option<(usize, InputLine)>,
    hints: rows::Hints,
}

impl TreePanel {
    /// Reads the tree. `filter` is the value of the setting, `at` the entry to select instead of
    /// the current one.
    pub(crate) fn new(
        session: &AgentSession,
        filter: &str,
        at: Option<&str>,
        keymap: &Keymap,
    ) -> Result<Self, SessionError> {
        let nodes = Nodes::new(source::nodes(session)?);
        let selected = match at {
            Some(id) => nodes.find(id),
            None => nodes.leaf(),
        };
        let mut panel = Self {
            session: session.clone(),
            nodes,
            texts: Texts::default(),
            filter: Filter::named(filter),
            search: String::new(),
            rows: Vec::new(),
            selection: Selection::new(0, LEAST_ROWS),
            shows_label_times: false,
            label: None,
            hints: rows::Hints::new(keymap),
        };
        panel.update(selected);
        Ok(panel)
    }

    /// Returns true if the session has no entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.len() == 0
    }

    fn selected(&self) -> Option<usize> {
        self.rows.get(self.selection.index()).map(|row| row.node)
    }

    /// Computes the rows and selects a node, or the nearest of its ancestors that is shown.
    fn update(&mut self, selected: Option<usize>) {
        let found = (!self.search.trim().is_empty())
            .then(|| self.texts.matching(&self.session, &self.nodes, &self.search));
        let matches =
            |at: usize| found.as_ref().is_none_or(|found| found.get(at).copied().unwrap_or(false));
        let matches: Option<&dyn Fn(usize) -> bool> =
            if found.is_some() { Some(&matches) } else { None };
        self.rows = self.nodes.rows(self.filter, matches);
        self.selection.set_len(self.rows.len());
        let place = |node: usize| self.rows.iter().position(|row| row.node == node);
        let at = selected.and_then(|at| self.nodes.nearest(at, |at| place(at).is_some()));
        let last = self.rows.len().saturating_sub(1);
        self.selection.select(at.and_then(place).unwrap_or(last));
    }

    fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
        self.update(self.selected());
    }

    /// Sets the filter, or the default one if it is set already.
    fn toggle_filter(&mut self, filter: Filter) {
        self.set_filter(if self.filter == filter { Filter::Default } else { filter });
    }

    fn set_search(&mut self, search: String) {
        let selected = self.selected();
        self.search = search;
        self.update(selected);
    }

    fn key(&mut self, key: &Key, keymap: &Keymap) -> PanelEvent<Answer> {
        let is = |action| keymap.is(key, action);
        if is("app.tree.filter.default") {
            self.set_filter(Filter::Default);
        } else if is("app.tree.filter.noTools") {
            self.toggle_filter(Filter::NoTools);
        } else if is("app.tree.filter.userOnly") {
            self.toggle_filter(Filter::UserOnly);
        } else if is("app.tree.filter.labeledOnly") {
            self.toggle_filter(Filter::LabeledOnly);
        } else if is("app.tree.filter.all") {
            self.toggle_filter(Filter::All);
        } else if is("app.tree.filter.cycleForward") {
            self.set_filter(self.filter.cycled(1));
        } else if is("app.tree.filter.cycleBackward") {
            self.set_filter(self.filter.previous());
        } else if is("app.tree.foldOrUp") {
            self.fold_or_up();
        } else if is("app.tree.unfoldOrDown") {
            self.unfold_or_down();
        } else if is("app.tree.editLabel") {
            self.edit_label();
        } else if is("app.tree.toggleLabelTimestamp") {
            self.shows_label_times = !self.shows_label_times;
        } else if is("app.message.copy") {
            return self.copy();
        } else if is("tui.editor.cursorLeft") {
            self.page(-1);
        } else if is("tui.editor.cursorRight") {
            self.page(1);
        } else {
            return self.list_key(key, keymap);
        }
        PanelEvent::Changed
    }

    fn list_key(&mut self, key: &Key, keymap: &Keymap) -> PanelEvent<Answer> {
        match self.selection.handle(key, keymap) {
            ListEvent::Confirmed => {
                let Some(node) = self.selected().and_then(|at| self.nodes.get(at)) else {
                    return PanelEvent::Changed;
                };
                PanelEvent::Close(Some(if node.is_leaf {
                    Answer::Stay
                } else {
                    Answer::Go { entry: node.id.clone() }
                }))
            }
            ListEvent::Cancelled if !self.search.is_empty() => {
                self.set_search(String::new());
                PanelEvent::Changed
            }
            ListEvent::Cancelled => PanelEvent::Close(None),
            ListEvent::Ignored => self.type_key(key, keymap),
            _ => PanelEvent::Changed,
        }
    }

    fn type_key(&mut self, key: &Key, keymap: &Keymap) -> PanelEvent<Answer> {
        let mut search = self.search.clone();
        if keymap.is(key, "tui.editor.deleteCharBackward") {
            search.pop();
        } else if keymap.is(key, "tui.editor.deleteWordBackward") {
            let kept = search.trim_end().rfind(' ').map_or(0, |at| at + 1);
            search.truncate(kept);
        } else if let Some(text) = &key.text
            && key.code != KeyCode::Tab
            && !text.chars().any(char::is_control)
        {
            search.push_str(text);
        } else {
            return PanelEvent::Ignored;
        }
        self.set_search(search);
        PanelEvent::Changed
    }

    /// Moves by as many rows as are visible, and stops at the ends.
    fn page(&mut self, direction: isize) {
        let rows = self.selection.visible().len() as isize;
        let target = self.selection.index().saturating_add_signed(direction * rows);
        self.selection.select(target);
    }

    /// Folds the branch that starts here; elsewhere moves up to the start of a branch.
    fn fold_or_up(&mut self) {
        let at = self.selection.index();
        match self.rows.get(at) {
            Some(row) if row.starts_branch && !row.is_folded => {
                let node = row.node;
                self.nodes.fold(node, true);
                self.update(Some(node));
            }
            _ => {
                let above = self.rows.iter().take(at).rposition(Row::is_branch);
                self.selection.select(above.unwrap_or(0));
            }
        }
    }

    /// Unfolds the branch that starts here; elsewhere moves down to the start of a branch.
    fn unfold_or_down(&mut self) {
        let at = self.selection.index();
        match self.rows.get(at) {
            Some(row) if row.is_folded => {
                let node = row.node;
                self.nodes.fold(node, false);
                self.update(Some(node));
            }
            _ => {
                let below = self.rows.iter().skip(at + 1).position(Row::is_branch);
                let last = self.rows.len().saturating_sub(1);
                self.selection.select(below.map_or(last, |below| at + 1 + below));
            }
        }
    }

    fn edit_label(&mut self) {
        let Some(at) = self.selected() else { return };
        let mut input = InputLine::new();
        let label = self.nodes.get(at).and_then(|node| node.label.clone());
        input.set_text(&label.unwrap_or_default());
        self.label = Some((at, input));
    }

    fn label_input(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        let Some((at, line)) = &mut self.label else { return PanelEvent::Ignored };
        let at = *at;
        let text = match line.handle(input, keymap) {
            InputEvent::Submit(text) => text.trim().to_owned(),
            InputEvent::Cancel => {
                self.label = None;
                return PanelEvent::Changed;
            }
            InputEvent::Ignored => return PanelEvent::Ignored,
            _ => return PanelEvent::Changed,
        };
        self.label = None;
        let label = Some(text).filter(|text| !text.is_empty());
        let Some(node) = self.nodes.get_mut(at) else { return PanelEvent::Changed };
        let entry = node.id.clone();
        node.label.clone_from(&label);
        node.labeled_at = label.is_some().then(|| jiff::Timestamp::now().to_string());
        self.texts.label_changed();
        self.update(Some(at));
        PanelEvent::Do(Answer::Label { entry, label })
    }

    fn copy(&mut self) -> PanelEvent<Answer> {
        let id = self.selected().and_then(|at| self.nodes.get(at)).map(|node| node.id.clone());
        let entry = id.and_then(|id| self.session.with_log(|log| log.entry(&id).ok()));
        match entry.as_ref().and_then(text::whole) {
            Some(text) => PanelEvent::Do(Answer::Copy(text)),
            None => PanelEvent::Changed,
        }
    }
}

impl Panel<Answer> for TreePanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        self.selection.set_rows(rows::visible(view).max(1));
        rows::panel(self, view)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Answer> {
        match input {
            _ if self.label.is_some() => self.label_input(input, keymap),
            Input::Key(key) => self.key(key, keymap),
            Input::Paste(text) => {
                let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                self.set_search(format!("{}{words}", self.search));
                PanelEvent::Changed
            }
            _ => PanelEvent::Ignored,
        }
    }
}
