//! Settings that keys and panels change.

use serde_json::Value;

use pi_coding_agent::config::SettingsScope;

use super::app::App;

/// Stores a setting in the user's file. It applies to this process even if it cannot be written.
pub(super) fn store(app: &mut App, path: &[&str], value: Value) {
    let result = app.settings.update(SettingsScope::User, |changes| changes.set(path, value));
    if let Err(error) = result {
        app.error(format!("the setting is not stored: {error}"));
    }
}
