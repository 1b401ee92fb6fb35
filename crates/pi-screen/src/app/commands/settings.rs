//! `/settings`: shows and changes settings.

use crate::app::App;
use crate::app::settings;
use crate::panels::settings::{Answer, Options, SettingsPanel};

pub(super) fn run(app: &mut App, _argument: &str) {
    app.settings.reload();
    let panel = SettingsPanel::new(Options {
        store: &app.settings,
        has_images: app.display.capabilities.images.is_some(),
        mode: app.preferences.mode,
        theme: app.themes.setting(),
        themes: app.themes.names(),
        models: app.session.available_models(),
        keymap: &app.keymap,
    });
    app.panels.open_then(panel, |app, answer| match answer {
        Answer::Set { path, value } => settings::change(app, &path, value),
        Answer::Preview(setting) => settings::preview_theme(app, &setting),
    });
}
