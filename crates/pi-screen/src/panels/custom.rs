//! A component of an extension in place of the editor.

use pi_tui::input::{Input, Keymap};
use pi_tui::{Component as _, Line, View};

use super::super::components::Adapter;
use super::super::panel::{Panel, PanelEvent};

/// A component of an extension. It gets every key, and decides itself when it is done.
pub(crate) struct CustomPanel(pub(crate) Adapter);

impl Panel for CustomPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        self.0.render(view).to_vec()
    }

    fn update(&mut self) -> bool {
        true
    }

    fn handle(&mut self, input: &Input, _keymap: &Keymap) -> PanelEvent {
        self.0.handle(input);
        PanelEvent::Changed
    }
}
