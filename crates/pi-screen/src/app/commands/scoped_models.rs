//! `/scoped-models`: selects the models to cycle through.

use pi_config::SettingsScope;

use crate::app::App;
use crate::panels::scoped_models::{Answer, Scope, ScopedModelsPanel};

pub(super) fn run(app: &mut App, _argument: &str) {
    app.settings.reload();
    let patterns = app.settings.settings().enabled_models.clone().unwrap_or_default();
    let scope = Scope::new(app.session.scoped_models(), app.session.available_models(), &patterns);
    let panel = ScopedModelsPanel::new(scope, super::model::find(app), &app.keymap);
    app.panels.open_then(panel, |app, answer| match answer {
        Answer::Cycle(models) => app.session.set_scoped_models(models),
        Answer::Save(patterns) => save(app, patterns),
    });
}

fn save(app: &mut App, patterns: Option<Vec<String>>) {
    let result = app.settings.update(SettingsScope::User, |changes| match patterns {
        Some(patterns) => changes.set(&["enabledModels"], patterns),
        None => changes.remove(&["enabledModels"]),
    });
    match result {
        Ok(()) => app.status("The models to cycle through are stored in your settings"),
        Err(error) => app.error(format!("the setting is not stored: {error}")),
    }
}
