//! The logout: a list of the providers with stored credentials.

use pi_tui::input::{Input, Keymap};
use pi_tui::{LineCache, Lines, View};

use super::super::panel::{Panel, PanelEvent};
use super::providers::{Provider, ProviderList};
use super::question::Answer;

/// The logout. It answers with a provider.
pub(crate) struct LogoutPanel {
    list: ProviderList,
    cache: LineCache,
}

impl LogoutPanel {
    pub(crate) fn new(stored: Vec<Provider>, keymap: &Keymap) -> Self {
        let list = ProviderList::new("Select provider to logout:", stored, keymap);
        Self { list, cache: LineCache::default() }
    }
}

impl Panel<Provider> for LogoutPanel {
    fn render(&mut self, view: View<'_>) -> Lines {
        let list = &mut self.list;
        self.cache.get(view, || list.lines(view))
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Provider> {
        self.cache.clear();
        match self.list.handle(input, keymap) {
            Answer::Ignored => PanelEvent::Ignored,
            Answer::Changed => PanelEvent::Changed,
            Answer::Chosen(provider) => PanelEvent::Close(Some(provider)),
            Answer::Cancelled => PanelEvent::Close(None),
        }
    }
}
