//! Panels: what replaces the editor for a while, such as the model selector or a dialog.

use pi_tui::input::{Input, Keymap};
use pi_tui::{Lines, View};

use super::tasks::Effect;

/// A part of the screen that replaces the editor and takes the keyboard.
///
/// Contract: `render` caches its lines until something changes. `handle` returns at once; slow work
/// is started by an effect.
pub(super) trait Panel {
    /// Returns the lines, borders included.
    fn render(&mut self, view: View<'_>) -> Lines;

    /// Handles a key, a paste or a click on the panel (rows and columns count from its corner).
    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent;

    /// Called when the panel is closed from outside, such as by the end of a dialog's time.
    fn closed(&mut self) {}
}

/// What follows from input to a panel.
pub(super) enum PanelEvent {
    /// The input has no meaning here.
    Ignored,
    /// The panel may look different now.
    Changed,
    /// The panel closes; then the effect is applied.
    Close(Option<Effect>),
    /// The effect is applied and the panel stays open.
    Do(Effect),
}

impl PanelEvent {
    /// Closes the panel and applies an effect.
    pub(super) fn close_then(effect: impl FnOnce(&mut super::app::App) + 'static) -> Self {
        Self::Close(Some(Box::new(effect)))
    }

    /// Applies an effect and keeps the panel open.
    pub(super) fn apply(effect: impl FnOnce(&mut super::app::App) + 'static) -> Self {
        Self::Do(Box::new(effect))
    }
}

/// Identity of an open panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PanelId(u64);

/// The open panels; the last one is shown.
#[derive(Default)]
pub(super) struct Panels {
    next: u64,
    open: Vec<(PanelId, Box<dyn Panel>)>,
}

impl Panels {
    pub(super) fn open(&mut self, panel: Box<dyn Panel>) -> PanelId {
        self.next += 1;
        let id = PanelId(self.next);
        self.open.push((id, panel));
        id
    }

    /// Closes a panel, wherever it is in the stack.
    pub(super) fn close(&mut self, id: PanelId) {
        if let Some(at) = self.open.iter().position(|(other, _)| *other == id) {
            let (_, mut panel) = self.open.remove(at);
            panel.closed();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the panel that is shown.
    pub(super) fn top(&mut self) -> Option<(PanelId, &mut dyn Panel)> {
        self.open.last_mut().map(|(id, panel)| (*id, &mut **panel as &mut dyn Panel))
    }
}
