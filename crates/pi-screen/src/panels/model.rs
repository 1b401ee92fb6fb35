//! The model selector.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use pi_ai::Model;
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{FilterList, ListEvent};
use pi_tui::{Line, Token, View};

use super::super::panel::{Panel, PanelEvent};
use super::frame::{self, ModelRow};

const ROWS: usize = 10;

/// Choice of the user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The model for this session.
    Use(Arc<Model>),
    /// The model for this session and as the default.
    UseAsDefault(Arc<Model>),
    /// A model of the scope whose provider has no key.
    NoKey(Arc<Model>),
}

/// The models that are found while the panel is open; `None` as long as they are searched.
pub(crate) type Found = Rc<RefCell<Option<Vec<Arc<Model>>>>>;

/// The search for model servers on this machine.
pub(super) struct ServerSearch {
    found: Found,
    is_done: bool,
}

impl ServerSearch {
    pub(super) fn new(found: Found) -> Self {
        Self { found, is_done: false }
    }

    /// Takes the models that were found meanwhile.
    pub(super) fn take(&mut self) -> Option<Vec<Arc<Model>>> {
        let found = self.found.borrow_mut().take()?;
        self.is_done = true;
        Some(found)
    }

    /// Returns the state of the search, beside a list that may have models.
    pub(super) fn line(&self, has_models: bool, view: View<'_>) -> Line {
        let (text, token) = match (self.is_done, has_models) {
            (true, true) => ("Model servers on this machine are listed.", Token::Success),
            (true, false) => ("No model server answers on this machine.", Token::Muted),
            (false, _) => ("Looking for model servers on this machine…", Token::Muted),
        };
        Line::styled(format!("  {text}"), view.theme.fg(token))
    }
}

/// Input of the panel.
pub(crate) struct Options<'a> {
    /// Models whose providers have credentials.
    pub(crate) available: Vec<Arc<Model>>,
    /// Models to cycle through, in their order.
    pub(crate) scoped: Vec<Arc<Model>>,
    pub(crate) current: Option<Arc<Model>>,
    /// Provider and id of the default model.
    pub(crate) default: Option<(String, String)>,
    pub(crate) search: &'a str,
    pub(crate) found: Found,
    pub(crate) keymap: &'a Keymap,
}

/// The panel.
pub(crate) struct ModelPanel {
    available: Vec<Arc<Model>>,
    scoped: Vec<Arc<Model>>,
    shows_scope: bool,
    current: Option<Arc<Model>>,
    default: Option<(String, String)>,
    list: FilterList<Arc<Model>>,
    servers: ServerSearch,
    keys: Keys,
}

/// Keys, which the user can change.
struct Keys {
    confirm: String,
    save: String,
    cancel: String,
    tab: String,
}

/// Returns the class of a match: the name of a model or a provider, its beginning, words in one
/// piece, or only scattered letters.
fn class(model: &Arc<Model>, search: &str) -> u8 {
    let search = search.to_lowercase();
    let path = format!("{}/{}", model.provider, model.id);
    let names = [&model.id, &model.provider, &model.name, &path].map(|name| name.to_lowercase());
    if names.contains(&search) {
        return 0;
    }
    if names.iter().any(|name| name.starts_with(&search)) {
        return 1;
    }
    let mut words = search.split([' ', '/']).filter(|word| !word.is_empty());
    if words.all(|word| names.iter().any(|name| name.contains(word))) { 2 } else { 3 }
}

/// Returns true if both are the same model.
fn is_same(a: &Model, b: &Model) -> bool {
    a.provider == b.provider && a.id == b.id
}

impl ModelPanel {
    pub(crate) fn new(options: Options<'_>) -> Self {
        let Options { available, scoped, current, default, search, found, keymap } = options;
        let text = |model: &Arc<Model>| format!("{}/{} {}", model.provider, model.id, model.name);
        let mut list = FilterList::new(Vec::new(), ROWS, text).with_classes(class);
        list.set_search(search);
        let mut panel = Self {
            available,
            shows_scope: !scoped.is_empty(),
            scoped,
            current,
            default,
            list,
            servers: ServerSearch::new(found),
            keys: Keys {
                confirm: keymap.label("tui.select.confirm"),
                save: keymap.label("app.models.save"),
                cancel: keymap.label("tui.select.cancel"),
                tab: keymap.label("tui.input.tab"),
            },
        };
        panel.sort();
        panel.filter();
        panel
    }

    /// Puts the current model first, then the default, then the others by provider.
    fn sort(&mut self) {
        let rank = |model: &Model| {
            let is_current = self.current.as_ref().is_some_and(|other| is_same(model, other));
            if is_current { 0 } else { 2 - usize::from(is_default(&self.default, model)) }
        };
        self.available
            .sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.provider.cmp(&b.provider)));
    }

    fn filter(&mut self) {
        let models = if self.shows_scope { &self.scoped } else { &self.available };
        self.list.set_items(models.clone());
    }

    /// Takes the models that were found meanwhile. The selected one stays selected.
    fn take_found(&mut self) -> bool {
        let Some(found) = self.servers.take() else { return false };
        let selected = self.list.selected().cloned();
        self.available = found;
        self.sort();
        self.filter();
        let same =
            |model: &Arc<Model>| selected.as_ref().is_some_and(|other| is_same(model, other));
        self.list.select_where(same);
        true
    }

    fn is_usable(&self, model: &Model) -> bool {
        self.available.iter().any(|other| is_same(model, other))
    }

    fn choose(&self, answer: fn(Arc<Model>) -> Answer) -> PanelEvent<Answer> {
        match self.list.selected() {
            None => PanelEvent::Changed,
            Some(model) if !self.is_usable(model) => {
                PanelEvent::Do(Answer::NoKey(Arc::clone(model)))
            }
            Some(model) => PanelEvent::Close(Some(answer(Arc::clone(model)))),
        }
    }

    fn content(&mut self, view: View<'_>) -> Vec<Line> {
        self.list.set_rows(frame::list_rows(ROWS, view));
        let theme = view.theme;
        let (muted, dim) = (theme.fg(Token::Muted), theme.fg(Token::Dim));
        let mut lines = vec![Line::new()];
        lines.extend(self.heading(view));
        lines.extend([Line::new(), self.list.search_line(view), Line::new()]);
        if self.list.is_empty() {
            let (text, advice) = match self.available.is_empty() {
                true => ("No model can be used yet", "/login adds a key or an account"),
                false => ("No models match", "Models of providers without a key are not listed"),
            };
            lines.push(Line::styled(format!("  {text}"), muted));
            lines.push(Line::styled(format!("  {advice}"), dim));
        }
        let rows = self.list.visible();
        lines.extend(rows.map(|(model, is_selected)| self.row(model, is_selected, view)));
        lines.extend(self.list.position(theme));
        if let Some(model) = self.list.selected() {
            lines.push(Line::new());
            lines.push(Line::styled(format!("  Model Name: {}", model.name), muted));
        }
        lines.push(Line::new());
        lines.push(self.servers.line(!self.available.is_empty(), view));
        lines.push(Line::new());
        let Keys { confirm, save, cancel, .. } = &self.keys;
        let hints = [
            format!("{confirm} selects"),
            format!("{save} makes it the default"),
            format!("{cancel} closes"),
        ];
        lines.extend(frame::hints(&hints, view));
        lines
    }

    fn heading(&self, view: View<'_>) -> Vec<Line> {
        let theme = view.theme;
        if self.scoped.is_empty() {
            let text = "Models of providers with a key. Add others with /login.";
            return frame::sentence(text, theme.fg(Token::Warning), view);
        }
        let (muted, accent) = (theme.fg(Token::Muted), theme.fg(Token::Accent));
        let (all, scoped) = if self.shows_scope { (muted, accent) } else { (accent, muted) };
        let mut scope = Line::styled("Scope: ", muted);
        scope.push("all", all);
        scope.push(" | ", muted);
        scope.push("scoped", scoped);
        let hint = Line::styled(format!("{} all or scoped", self.keys.tab), theme.fg(Token::Dim));
        vec![scope, hint]
    }

    fn row(&self, model: &Model, is_selected: bool, view: View<'_>) -> Line {
        let is_usable = self.is_usable(model);
        ModelRow {
            remark: match (is_usable, is_default(&self.default, model)) {
                (false, _) => Some("no key"),
                (true, true) => Some("default"),
                (true, false) => None,
            },
            is_selected,
            is_marked: self.current.as_ref().is_some_and(|other| is_same(model, other)),
            is_struck: !is_usable,
            ..ModelRow::of(model)
        }
        .line(view)
    }
}

fn is_default(default: &Option<(String, String)>, model: &Model) -> bool {
    default.as_ref().is_some_and(|(provider, id)| model.provider == *provider && model.id == *id)
}

impl Panel<Answer> for ModelPanel {
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
                return self.choose(Answer::UseAsDefault);
            }
            if keymap.is(key, "tui.input.tab") && !self.scoped.is_empty() {
                self.shows_scope = !self.shows_scope;
                self.filter();
                self.list.select(0);
                return PanelEvent::Changed;
            }
        }
        match self.list.handle(input, keymap) {
            ListEvent::Confirmed => self.choose(Answer::Use),
            ListEvent::Cancelled => PanelEvent::Close(None),
            ListEvent::Ignored => PanelEvent::Ignored,
            _ => PanelEvent::Changed,
        }
    }
}
