//! Settings that keys and panels change, and their effect on the screen and the session.

use serde_json::Value;

use pi_config::SettingsScope;

use crate::app::App;
use crate::preferences;

/// Stores a setting in the user's file. It applies to this process even if it cannot be written.
pub(crate) fn store(app: &mut App, path: &[&str], value: Value) {
    let result = app.settings.update(SettingsScope::User, |changes| changes.set(path, value));
    if let Err(error) = result {
        app.error(format!("the setting is not stored: {error}"));
    }
}

/// Stores a setting, or removes it, and uses it at once.
pub(crate) fn change(app: &mut App, path: &[String], value: Option<Value>) {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    if names == ["tuiMode"] && app.search.is_some() {
        return app.error("close the search before the screen changes");
    }
    let result = app.settings.update(SettingsScope::User, |changes| match value {
        Some(value) => changes.set(&names, value),
        None => changes.remove(&names),
    });
    if let Err(error) = result {
        app.error(format!("the setting is not stored: {error}"));
    }
    if let Some((_, SettingsScope::Project)) = app.settings.value(path) {
        let key = path.join(".");
        app.warning(format!("the settings of this project decide about `{key}`, not yours"));
    }
    // The user's choice on the screen is newer than the option of the command line.
    match names.first() {
        Some(&"tuiMode") => app.options.mode = None,
        Some(&"theme") => app.options.theme = None,
        _ => {}
    }
    apply(app);
}

/// Uses the settings as they are now, on the screen and in the session.
pub(crate) fn apply(app: &mut App) {
    let new = preferences::read(app.settings.settings(), &app.options, &app.environment);
    let old = std::mem::replace(&mut app.preferences, new.clone());
    app.editor.set_padding(new.editor_padding);
    app.editor.set_max_menu_rows(new.menu_rows);
    app.editor.set_hardware_cursor(new.hardware_cursor);
    app.editor.set_vim(new.vim);
    let images = app.display.image_limits(&new);
    app.transcript.change_options(|options| {
        options.output_pad = new.output_pad;
        options.code_indent.clone_from(&new.markdown.code_indent);
        options.hide_thinking = new.hide_thinking;
        options.cache_misses = new.cache_misses;
        options.mermaid = new.markdown.mermaid.as_str().to_owned();
        options.images = images;
    });
    if old.theme != new.theme {
        preview_theme(app, &new.theme);
    }
    app.display.use_settings(&new);
    app.runtime.apply_settings();
    app.footer.refresh(&app.session);
}

/// Shows the screen in the colors of a setting of the theme.
pub(crate) fn preview_theme(app: &mut App, setting: &str) {
    if let Err(error) = app.themes.select(setting) {
        app.error(error);
    }
    app.display.redraw();
}
