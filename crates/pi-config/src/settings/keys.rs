//! The table of settings: the macro that declares its rows, and the keys in it.

use serde_json::{Map, Value, json};

use super::{ScreenSettings, Settings};
use crate::file_schema::file_schema;

/// Declares a group of settings: the type with the values in force, its defaults and its keys.
///
/// A row consists of the description, the key in the file, the field, its type, its default and
/// the marks of its [`SettingKey`]. The JSON Schema, `docs/settings.md`, `pi config` and the
/// settings screen follow from the row. The screen shows the first paragraph of the description.
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $group:ident {$(
            $(#[$field_attribute:meta])*
            $key:literal $field:ident: $type:ty = $default:expr
                $(, $mark:ident($($argument:tt)*))*;
        )*}
        $($(#[$flat_attribute:meta])* flatten $flat:ident: $flat_type:ident;)?
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default)]
        #[non_exhaustive]
        $visibility struct $group {
            $(
                $(#[$field_attribute])*
                #[serde(rename = $key)]
                pub $field: $type,
            )*
            $($(#[$flat_attribute])* #[serde(flatten)] pub $flat: $flat_type,)?
        }

        impl Default for $group {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($flat: $flat_type::default(),)?
                }
            }
        }

        impl $group {
            /// The keys of the group.
            pub(crate) const KEYS: &[$crate::settings::SettingKey] = &[
                $($crate::settings::SettingKey::new($key)$(.$mark($($argument)*))*,)*
            ];
        }
    };
}
pub(super) use settings;

/// A key of `settings.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingKey {
    /// Name of the key in the file.
    pub name: &'static str,
    /// The key is ignored in a project's file.
    pub user_only: bool,
    /// An invalid value is an error and not ignored: without it, commands would run with more
    /// rights, without a limit or on another machine than the user meant.
    pub(super) is_strict: bool,
    /// Description of a key that has no effect in this version. It is kept in the file for other
    /// programs and later versions.
    pub idle: Option<&'static str>,
    /// The row of the settings screen.
    pub label: Option<SettingLabel>,
    /// Values to choose from, unless they follow from the type.
    pub(super) values: &'static [&'static str],
    /// The keys of a group.
    group: &'static [SettingKey],
}

/// A row of the settings screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingLabel {
    /// Position of the row.
    pub position: u8,
    /// Name of the setting on the screen.
    pub name: &'static str,
}

impl SettingKey {
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            user_only: false,
            is_strict: false,
            idle: None,
            label: None,
            values: &[],
            group: &[],
        }
    }

    const fn idle(name: &'static str, description: &'static str) -> Self {
        Self { idle: Some(description), ..Self::new(name) }
    }

    /// Marks a key that is ignored in a project's file.
    pub(super) const fn user_only(self) -> Self {
        Self { user_only: true, ..self }
    }

    /// Marks a key whose invalid values are errors.
    pub(super) const fn strict(self) -> Self {
        Self { is_strict: true, ..self }
    }

    /// Marks a key that contains others.
    pub(super) const fn group(self, group: &'static [Self]) -> Self {
        Self { group, ..self }
    }

    /// Marks a key that the settings screen shows.
    pub(super) const fn label(self, position: u8, name: &'static str) -> Self {
        Self { label: Some(SettingLabel { position, name }), ..self }
    }

    /// Sets the values to choose from: `60`, or `1 min=60000` for a value with a name.
    pub(super) const fn values(self, values: &'static [&'static str]) -> Self {
        Self { values, ..self }
    }
}

/// The keys without effect. The last paragraph of a description is the one of the schema.
const IDLE: &[SettingKey] = &[
    SettingKey::idle(
        "sessionShareDestination",
        "No effect in this version.\n\nDestination of shared sessions: auto, gist or radius.",
    )
    .label(16, "Session share destination")
    .values(&["auto", "gist", "radius"]),
    SettingKey::idle("selfUpdateCommand", "Command that updates the program.").user_only(),
    SettingKey::idle(
        "enableInstallTelemetry",
        "No effect: this program reports nothing to anyone.\n\nReports installations.",
    )
    .label(24, "Install telemetry")
    .values(&["true", "false"]),
    SettingKey::idle("enableAnalytics", "Reports usage."),
    SettingKey::idle("warnings", "Warnings that can be switched off.").label(28, "Warnings"),
    SettingKey::idle(
        "extensionChangelogVersions",
        "Versions of packages whose changes were shown last.",
    ),
    SettingKey::idle("trackingId", "Id of the installation in usage reports."),
    SettingKey::idle("deviceId", "Id of the installation for providers.").user_only(),
];

/// Returns all keys of the file. The row of a group applies to everything in it.
pub fn keys() -> impl Iterator<Item = &'static SettingKey> {
    Settings::KEYS.iter().chain(ScreenSettings::KEYS).chain(IDLE)
}

/// Finds the key at a path.
pub(super) fn find(path: &[String]) -> Option<&'static SettingKey> {
    let (first, rest) = path.split_first()?;
    let key = keys().find(|key| key.name == first)?;
    rest.iter().try_fold(key, |key, name| key.group.iter().find(|inner| inner.name == name))
}

/// Removes values that are `null`: such a key counts as absent.
pub(super) fn remove_nulls(layer: &mut Map<String, Value>) {
    remove_nulls_of(layer, keys());
}

fn remove_nulls_of<'a>(
    object: &mut Map<String, Value>,
    keys: impl Iterator<Item = &'a SettingKey>,
) {
    for key in keys {
        match object.get_mut(key.name) {
            Some(Value::Null) => drop(object.shift_remove(key.name)),
            Some(Value::Object(inner)) => remove_nulls_of(inner, key.group.iter()),
            _ => {}
        }
    }
}

/// Returns the schema of the file. Keys without effect are in it, so that editors know them.
pub fn settings_schema() -> Value {
    let mut schema = file_schema::<Settings>("pi settings");
    let Some(properties) = schema["properties"].as_object_mut() else { return schema };
    for key in keys() {
        let property = properties.entry(key.name).or_insert_with(|| json!({}));
        if let Some(text) = key.idle {
            let description = text.rsplit("\n\n").next().unwrap_or_default();
            property["description"] =
                format!("{description} Without effect in this version.").into();
        } else if key.user_only {
            let description = property["description"].as_str().unwrap_or_default();
            property["description"] = format!("{description} Only in the user's file.").into();
        }
    }
    schema
}
