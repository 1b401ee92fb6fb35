//! The state of the screen that extensions read at any time.

use pi_coding_agent::extension::FooterData;

use pi_tui::Size;
use pi_tui::input::Keymap;

use super::app::App;
use super::themes::Themes;
use super::ui::ScreenUi;

/// Publishes what changed since the last frame. Costs nothing without extensions.
pub(super) fn publish(app: &mut App) {
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
pub(super) fn start(ui: &ScreenUi, keymap: &Keymap, themes: &Themes, size: Size) {
    keys(ui, keymap);
    let mut shared = ui.shared();
    shared.size = (size.columns, size.rows);
    shared.theme = themes.offered();
}

/// Publishes the keys of the actions. Called when they were read.
pub(super) fn keys(ui: &ScreenUi, keymap: &Keymap) {
    let keys = keymap.bindings().map(|(action, keys)| {
        let keys = keys.iter().map(ToString::to_string).collect();
        (action.to_owned(), keys)
    });
    ui.shared().keys = keys.collect();
}
