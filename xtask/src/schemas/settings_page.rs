//! `docs/settings.md`, from the schema of `settings.json`.

use serde_json::{Map, Value};

const INTRODUCTION: &str = "\
# Settings

<!-- Generated from the table of settings by `cargo xtask schemas`. -->

Your settings are in `~/.pi/agent/settings.json`, those of a project in `.pi/settings.json`. The file of a project counts if the project is trusted (see [project-trust.md](project-trust.md)) and takes precedence; options of the command line take precedence over both. Groups are merged key by key. Keys that are marked are ignored in the file of a project.

```sh
pi config list
pi config set defaultModel claude-sonnet-4-5
pi config get compaction.enabled
```

Unknown keys are kept, and `pi doctor` reports them together with invalid values. An invalid value is ignored with a warning, except in `guard`, `limits` and `executor`: there it is an error, and nothing runs. If the file cannot be parsed, or `defaultProvider` or `defaultModel` is invalid, a model must be named with `--model`.

For completion and checks in an editor, save the schema and name it in the file:

```sh
pi config schema settings > ~/.pi/agent/settings.schema.json
pi config set '$schema' ./settings.schema.json
```
";

const USER_ONLY: &str = "Only in the user's file.";
const WITHOUT_EFFECT: &str = "Without effect in this version.";

/// A key with everything that the page says about it.
struct Row {
    key: String,
    values: String,
    default: String,
    description: String,
}

/// Returns the page.
pub(super) fn page(schema: &Value) -> String {
    let mut rows = Vec::new();
    if let Some(properties) = schema["properties"].as_object() {
        collect(schema, properties, "", &mut rows);
    }
    rows.retain(|row| row.key != "$schema");
    let (idle, active): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| row.description.contains(WITHOUT_EFFECT));
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## Keys\n\n| Key | Values | Default | |\n|---|---|---|---|\n");
    for Row { key, values, default, description } in &active {
        let description = description.replace(USER_ONLY, "*Only in your file.*");
        text.push_str(&format!("| `{key}` | {values} | {default} | {description} |\n"));
    }
    text.push_str(
        "\n## Keys without effect\n\nThis version keeps these keys for the TypeScript pi and for \
         later versions.\n\n| Key | |\n|---|---|\n",
    );
    for Row { key, description, .. } in &idle {
        let description = description.replace(WITHOUT_EFFECT, "").replace(USER_ONLY, "");
        text.push_str(&format!("| `{key}` | {} |\n", description.trim()));
    }
    text
}

fn collect(schema: &Value, properties: &Map<String, Value>, group: &str, rows: &mut Vec<Row>) {
    for (name, property) in properties {
        let key = format!("{group}{name}");
        let description = description(property);
        let resolved = resolve(schema, property);
        // A map has keys of its own, which the page cannot list.
        if let Some(inner) = resolved["properties"].as_object() {
            let before = rows.len();
            collect(schema, inner, &format!("{key}."), rows);
            if description.contains(USER_ONLY) {
                for row in &mut rows[before..] {
                    row.description = format!("{} {USER_ONLY}", row.description);
                }
            }
            continue;
        }
        let default = match &property["default"] {
            Value::Null => String::new(),
            value => format!("`{}`", plain(value)),
        };
        rows.push(Row { key, values: values(schema, resolved), default, description });
    }
}

fn description(property: &Value) -> String {
    let text = property["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Returns the definition that a property refers to, without the possibility of `null`.
fn resolve<'a>(schema: &'a Value, property: &'a Value) -> &'a Value {
    let variants = property["anyOf"].as_array().into_iter().flatten();
    let mut variants = variants.filter(|variant| variant["type"] != "null");
    let property = match (variants.next(), variants.next()) {
        (Some(only), None) => only,
        _ => property,
    };
    let name = property["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    name.map_or(property, |name| &schema["$defs"][name])
}

/// Describes the values that a key accepts.
fn values(schema: &Value, property: &Value) -> String {
    if let Some(choices) = property["enum"].as_array() {
        let names = choices.iter().filter(|choice| !choice.is_null());
        return names.map(|name| format!("`{}`", plain(name))).collect::<Vec<_>>().join(", ");
    }
    if let Some(one) = property.get("const") {
        return format!("`{}`", plain(one));
    }
    for combination in ["oneOf", "anyOf"] {
        if let Some(variants) = property[combination].as_array() {
            let variants = variants.iter().filter(|variant| variant["type"] != "null");
            let all = variants.map(|variant| values(schema, resolve(schema, variant)));
            return all.collect::<Vec<_>>().join(", ");
        }
    }
    let types = match &property["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        Value::String(one) => vec![one.as_str()],
        _ => Vec::new(),
    };
    let first = types.into_iter().find(|name| *name != "null").unwrap_or_default();
    match first {
        "integer" | "number" => "number".to_owned(),
        "boolean" => "`true`, `false`".to_owned(),
        "string" => "text".to_owned(),
        "array" => {
            let inner = values(schema, resolve(schema, &property["items"]));
            format!("list of {}", if inner.is_empty() { "values" } else { &inner })
        }
        "object" => "object".to_owned(),
        _ => String::new(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::repository;

    #[test]
    fn the_page_is_up_to_date() {
        let read = |path: &str| std::fs::read_to_string(repository::path(path)).unwrap();
        let schema = serde_json::from_str(&read("docs/schemas/settings.schema.json")).unwrap();
        assert_eq!(read("docs/settings.md"), page(&schema), "run `cargo xtask schemas`");
    }
}
