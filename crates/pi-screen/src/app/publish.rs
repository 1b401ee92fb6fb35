//! The state of the screen that extensions read at any time.

use pi_coding_agent::extension::FooterData;

use pi_tui::Size;
use pi_tui::input::Keymap;

use crate::app::App;
use crate::themes::Themes;
use crate::ui::ScreenUi;

/// Publishes what changed since the last frame. Costs nothing without extensions.
pub(crate) fn publish(app: &mut App) {
    if app.session.extensions().registry().is_empty() {
        return;
    }
    let size = app.display.size();
    let footer = FooterData {
        branch: app.footer.branch.clone(),
        statuses: app.footer.statuses.clone(),
        available_providers: app.footer.providers,
    };
    let mut shared = app.ui.shared();
    shared.size = (size.columns, size.rows);
    if shared.footer != footer {
        shared.footer = footer;
    }
}

/// Publishes what extensions read before the first frame.
pub(crate) fn start(ui: &ScreenUi, keymap: &Keymap, themes: &Themes, size: Size) {
    keys(ui, keymap);
    let mut shared = ui.shared();
    shared.size = (size.columns, size.rows);
    shared.theme = themes.offered();
}

/// Publishes the keys of the actions. Called when they were read.
pub(crate) fn keys(ui: &ScreenUi, keymap: &Keymap) {
    let keys = keymap.bindings().map(|(action, keys)| {
        let keys = keys.iter().map(ToString::to_string).collect();
        (action.to_owned(), keys)
    });
    ui.shared().keys = keys.collect();
}
