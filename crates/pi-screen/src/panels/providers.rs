//! A list of providers with a search, as the login and the logout show it.

use pi_tui::input::{Input, Keymap};
use pi_tui::list::{Item, ListEvent, SelectList};
use pi_tui::{Line, Token, View};

use super::super::panel::{Panel, PanelEvent};
use super::dialog_frame::{Hints, framed, inner};
use super::frame;

/// The providers that are visible at once.
const ROWS: usize = 8;

/// A provider in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provider {
    pub(crate) id: String,
    /// The name for people.
    pub(crate) name: String,
    /// The state of its credential, such as `configured`; `None` if it has none.
    pub(crate) source: Option<String>,
    pub(crate) ways: Ways,
    /// The account needs a client id of the user, since the provider gives none to this program.
    pub(crate) is_closed: bool,
}

/// The ways to sign in to a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    /// With an account or a subscription.
    pub(crate) account: bool,
    /// With a key.
    pub(crate) key: bool,
    /// A key needs more than itself, such as a region.
    pub(crate) form: bool,
}

/// A list of providers with a search.
pub(crate) struct ProviderList {
    title: &'static str,
    list: SelectList<Provider>,
    hints: Hints,
}

impl ProviderList {
    /// Creates a list. With `marks_closed`, accounts that are closed to this program are last.
    pub(crate) fn new(
        title: &'static str,
        providers: Vec<Provider>,
        marks_closed: bool,
        keymap: &Keymap,
    ) -> Self {
        let mut providers = providers;
        // The sort keeps the order of the others.
        providers.sort_by_key(|provider| marks_closed && provider.is_closed);
        let item = |provider: Provider| {
            let mark = match &provider.source {
                Some(source) => format!("✓ {source}"),
                None if marks_closed && provider.is_closed => {
                    "• needs your own client id".to_owned()
                }
                None => "• not configured".to_owned(),
            };
            let name = provider.name.clone();
            Item::new(provider, name).description(mark)
        };
        let items = providers.into_iter().map(item).collect();
        let hints =
            [("↑↓", "navigate"), ("tui.select.confirm", "select"), ("tui.select.cancel", "back")];
        Self { title, list: SelectList::new(items, ROWS), hints: Hints::new(keymap, &hints) }
    }
}

impl Panel<Provider> for ProviderList {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        let inside = inner(view);
        self.list.set_rows(frame::list_rows(ROWS, view));
        let title = Line::styled(self.title, inside.theme.fg(Token::Accent).bold());
        let search = self.list.search_line(inside);
        let mut body = vec![Line::new(), title, Line::new(), search, Line::new()];
        body.extend(self.list.lines(inside));
        body.push(Line::new());
        body.extend(self.hints.lines(inside));
        body.push(Line::new());
        framed(&body, view)
    }
    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Provider> {
        match self.list.handle_input(input, keymap) {
            ListEvent::Ignored => PanelEvent::Ignored,
            ListEvent::Moved => PanelEvent::Changed,
            ListEvent::Cancelled => PanelEvent::Close(None),
            _ => match self.list.selected() {
                Some(item) => PanelEvent::Close(Some(item.value.clone())),
                None => PanelEvent::Ignored,
            },
        }
    }
}
