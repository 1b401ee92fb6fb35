//! The keys of `settings.json` with their descriptions, from the JSON Schema: for programs that
//! list, check and change single settings.

use serde_json::{Map, Value};

use super::keys::{find, settings_schema};
use super::layer::{typed, without_type_names, wrapped};
use super::{SettingKey, SettingLabel};

/// A setting: a value of `settings.json` that is not a group of others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// Path of the value.
    pub path: Vec<String>,
    /// Description of the value.
    pub description: String,
    /// The value that applies if no file has one, unless it depends on other settings.
    pub default: Option<Value>,
    /// The row of the settings screen.
    pub label: Option<SettingLabel>,
    /// Description on the settings screen.
    pub summary: String,
    /// Values to choose from on the settings screen, such as `60` or `1 min=60000`. A submenu
    /// selects other values.
    pub values: Vec<String>,
    /// The setting is ignored in a project's file.
    pub user_only: bool,
    /// The setting has an effect in this version.
    pub has_effect: bool,
}

impl Setting {
    /// Returns the path with dots.
    pub fn key(&self) -> String {
        self.path.join(".")
    }
}

/// The settings, as the schema describes them.
#[derive(Debug)]
pub struct SettingsCatalog {
    schema: Value,
}

impl SettingsCatalog {
    /// Builds the catalog.
    pub fn new() -> Self {
        Self { schema: settings_schema() }
    }

    /// Returns all settings, in the order of the schema. Settings of single models are one entry.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        self.add(&self.schema, &mut Vec::new(), &mut settings);
        settings
    }

    fn add(&self, object: &Value, path: &mut Vec<String>, settings: &mut Vec<Setting>) {
        for (name, property) in object["properties"].as_object().into_iter().flatten() {
            path.push(name.clone());
            let resolved = self.resolve(property);
            if resolved["properties"].is_object() {
                self.add(resolved, path, settings);
            } else {
                settings.push(self.setting(path.clone(), property));
            }
            path.pop();
        }
    }

    /// Finds the setting with a dotted key. Keys of single models contain dots themselves.
    pub fn find(&self, key: &str) -> Option<Setting> {
        let mut path = Vec::new();
        let mut property = &self.schema;
        let mut rest = Some(key);
        while let Some(text) = rest {
            let group = self.resolve(property);
            if let Some(properties) = group["properties"].as_object() {
                let (name, tail) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
                property = properties.get(name)?;
                path.push(name.to_owned());
                rest = tail;
            } else if group["additionalProperties"].is_object() {
                let inner = self.resolve(&group["additionalProperties"]);
                let split = text
                    .rsplit_once('.')
                    .filter(|(_, last)| inner["properties"][*last].is_object());
                let (name, tail) = split.map_or((text, None), |(name, last)| (name, Some(last)));
                property = &group["additionalProperties"];
                path.push(name.to_owned());
                rest = tail;
            } else if has_schema(group) {
                return None;
            } else {
                // Groups without effect have no schema.
                path.extend(text.split('.').map(str::to_owned));
                rest = None;
            }
        }
        // A group is not a setting.
        if self.resolve(property)["properties"].is_object() {
            return None;
        }
        Some(self.setting(path, property))
    }

    fn setting(&self, path: Vec<String>, property: &Value) -> Setting {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let description = property["description"].as_str().unwrap_or_default();
        let key = find(&path);
        let first = find(&path[..path.len().min(1)]);
        let idle = first.and_then(|first| first.idle);
        let summary = idle.unwrap_or(description).split("\n\n").next().unwrap_or_default();
        Setting {
            description: words(description),
            default: property.get("default").filter(|default| !default.is_null()).cloned(),
            label: key.and_then(|key| key.label),
            summary: words(summary),
            values: key.map(|key| self.values(key, property)).unwrap_or_default(),
            user_only: first.is_some_and(|first| first.user_only),
            has_effect: idle.is_none(),
            path,
        }
    }

    /// Returns the values to choose from: those of the table, or those of the type.
    fn values(&self, key: &SettingKey, property: &Value) -> Vec<String> {
        let schema = self.resolve(property);
        if !key.values.is_empty() {
            return key.values.iter().map(|value| (*value).to_owned()).collect();
        }
        if schema["type"] == "boolean" {
            return vec!["true".to_owned(), "false".to_owned()];
        }
        let listed = schema["enum"].as_array().into_iter().flatten();
        let described = schema["oneOf"].as_array().into_iter().flatten();
        let words = listed.chain(described.map(|one| &one["const"]));
        words.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Follows references, and leaves out that a value may be absent.
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        loop {
            let given = schema["anyOf"]
                .as_array()
                .and_then(|any| any.iter().find(|one| one["type"] != "null"));
            let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"));
            schema = match (given, name) {
                (Some(given), _) => given,
                (None, Some(name)) => &self.schema["$defs"][name],
                (None, None) => return schema,
            };
        }
    }
}

impl Default for SettingsCatalog {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns true if a schema restricts its values.
fn has_schema(schema: &Value) -> bool {
    schema.as_object().is_some_and(|schema| schema.keys().any(|key| key != "description"))
}

/// Checks a value of a setting. The error describes the problem.
pub fn check_setting(path: &[String], value: &Value) -> Result<(), String> {
    let checked = typed(&wrapped(path, value));
    checked.map(drop).map_err(|error| without_type_names(&error.to_string()))
}

/// Returns the value at a path.
pub(super) fn value_at<'a>(layer: &'a Map<String, Value>, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(layer.get(first)?, |value, name| value.get(name))
}
