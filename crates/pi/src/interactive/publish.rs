//! The state of the screen that extensions read at any time.

use pi_coding_agent::extension::FooterData;

use super::app::App;

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

/// Publishes the keys of the actions. Called when they were read.
pub(super) fn keys(app: &App) {
    let keys = app.keymap.bindings().map(|(action, keys)| {
        let keys = keys.iter().map(ToString::to_string).collect();
        (action.to_owned(), keys)
    });
    app.ui.shared().keys = keys.collect();
}
