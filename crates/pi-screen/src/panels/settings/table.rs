//! The rows of the settings screen, from the table of settings.

use pi_config::SettingsStore;
use pi_config::settings::{Setting as Row, SettingsCatalog};
use pi_tui::list::Setting;
use serde_json::Value;

/// Rows that are shown only in terminals with images.
const IMAGES: [&str; 2] = ["terminal.showImages", "terminal.imageWidthCells"];

/// The groups of the screen with their keys, the most important ones first.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Look",
        &[
            "theme",
            "tuiMode",
            "hideThinkingBlock",
            "markdown.mermaid",
            "quietStartup",
            "outputPad",
            "terminal.showImages",
            "terminal.imageWidthCells",
            "showCacheMissNotices",
            "collapseChangelog",
        ],
    ),
    (
        "Model and session",
        &[
            "modelThinkingLevels",
            "compaction.enabled",
            "steeringMode",
            "followUpMode",
            "enableSkillCommands",
            "cacheWarming",
            "images.autoResize",
            "images.blockImages",
            "defaultProjectTrust",
        ],
    ),
    (
        "Keys and editor",
        &[
            "clearKeyInterrupts",
            "doubleEscapeAction",
            "vimMode",
            "promptHistory",
            "autocompleteMaxVisible",
            "treeFilterMode",
            "editorPaddingX",
            "showHardwareCursor",
        ],
    ),
    (
        "Full screen",
        &[
            "terminal.mouse",
            "fullscreenCopyOnSelect",
            "fullscreenScrollbar",
            "fullscreenWheelScrollLines",
            "fullscreenExitOutput",
        ],
    ),
    ("Terminal", &["notifications", "terminal.showTerminalProgress", "accessible"]),
    ("Network", &["transport", "httpIdleTimeoutMs"]),
    (
        "Without effect in this version",
        &[
            "warnings",
            "terminal.clearOnShrink",
            "sessionShareDestination",
            "enableInstallTelemetry",
        ],
    ),
];

/// Returns the place of a key on the screen and its group. A key without a group is last.
fn place(key: &str) -> (usize, &'static str) {
    let keys = GROUPS.iter().flat_map(|(group, keys)| keys.iter().map(move |key| (*key, *group)));
    let mut places = keys.enumerate();
    let found = places.find(|(_, (other, _))| *other == key);
    found.map_or((usize::MAX, ""), |(at, (_, group))| (at, group))
}

/// Returns the path of a key.
pub(super) fn path(key: &str) -> Vec<String> {
    key.split('.').map(str::to_owned).collect()
}

/// Returns the rows with their present values, in the order of the screen.
pub(super) fn settings(store: &SettingsStore, has_images: bool) -> Vec<Setting> {
    let mut rows = SettingsCatalog::new().settings();
    rows.retain(|row| has_images || !IMAGES.contains(&row.key().as_str()));
    rows.sort_by_key(|row| place(&row.key()).0);
    let shown = rows.into_iter().filter_map(|row| {
        let label = row.label?.name.to_owned();
        let value = store.value(&row.path).map(|(value, _)| value).or_else(|| row.default.clone());
        Some(Setting {
            group: place(&row.key()).1.to_owned(),
            id: row.key(),
            label,
            value: shown(&row, value.as_ref()),
            values: row.values.iter().map(|value| named(value).0.to_owned()).collect(),
            description: row.summary,
        })
    });
    shown.collect()
}

/// Splits a value of the table: its name on the screen, and what stands in the file.
fn named(value: &str) -> (&str, &str) {
    value.split_once('=').unwrap_or((value, value))
}

/// Returns the value of a row as it is shown.
fn shown(row: &Row, value: Option<&Value>) -> String {
    match (row.key().as_str(), value) {
        ("warnings", _) => "configure".to_owned(),
        ("modelThinkingLevels", value) => levels(value),
        // The first value is the default of a key that has no effect.
        (_, None) => row.values.first().cloned().unwrap_or_default(),
        (_, Some(value)) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let mut names = row.values.iter().map(|value| named(value));
            let name = names.find(|(_, stored)| *stored == text).map(|(name, _)| name.to_owned());
            name.unwrap_or(text)
        }
    }
}

/// Returns the value of the row of levels per model.
pub(super) fn levels(value: Option<&Value>) -> String {
    match value.and_then(Value::as_object).map_or(0, |levels| levels.len()) {
        0 => "none".to_owned(),
        1 => "1 model".to_owned(),
        count => format!("{count} models"),
    }
}

/// Returns the value for the file of what a row shows.
pub(super) fn stored(key: &str, shown: &str) -> Value {
    let row = SettingsCatalog::new().find(key);
    let values = row.map(|row| row.values).unwrap_or_default();
    let mut values = values.iter().map(|value| named(value));
    let text = values.find(|(name, _)| *name == shown).map_or(shown, |(_, stored)| stored);
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}
