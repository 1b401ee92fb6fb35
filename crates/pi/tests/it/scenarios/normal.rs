//! What differs from run to run, or is in each program's own words, replaced by what does not.
//!
//! Ids become numbers in the order they are first seen, times and durations a placeholder, and the
//! texts of prompts and descriptions of tools go, while the names of sections, tools and
//! parameters stay. A line of a prompt that has `MARK` in it comes from the scenario, and stays.

use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::{Map, Value, json};

/// Marks a line of a prompt that the scenario put there.
const MARK: &str = "MARK";

static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}[:-][0-9]{2}[:-][0-9]{2}[.-][0-9]{3}Z")
});
static PROJECT: LazyLock<Regex> = LazyLock::new(|| pattern("--[^/\"]*-work--"));
static SPILL: LazyLock<Regex> = LazyLock::new(|| pattern(r"pi-(bash|output)-[0-9A-Za-z-]+\.log"));
static ENTRY: LazyLock<Regex> = LazyLock::new(|| pattern("^[0-9a-f]{8}$"));
static SECTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^<([a-z][a-z0-9_-]*)>$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

/// What has been seen so far of one scenario.
#[derive(Debug, Default)]
pub(super) struct Names {
    root: String,
    url: String,
    uuids: Vec<String>,
    entries: Vec<String>,
}

impl Names {
    pub(super) fn new(root: &str, url: &str) -> Self {
        Self { root: root.to_owned(), url: url.to_owned(), ..Self::default() }
    }

    /// A text without paths, ports, ids and times.
    pub(super) fn text(&mut self, text: &str) -> String {
        let text = text.replace(&self.root, "$ROOT").replace(&self.url, "$URL");
        let uuids = &mut self.uuids;
        let text = UUID.replace_all(&text, |found: &regex_lite::Captures<'_>| {
            format!("uuid-{}", number(uuids, &found[0]))
        });
        let text = TIME.replace_all(&text, "<time>");
        let text = PROJECT.replace_all(&text, "--work--");
        SPILL.replace_all(&text, "pi-$1-N.log").into_owned()
    }

    /// A value without them, and without each program's own words.
    pub(super) fn value(&mut self, value: &Value) -> Value {
        self.clean("", value)
    }

    fn clean(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) if ENTRY.is_match(text) && is_id(key) => {
                format!("id-{}", number(&mut self.entries, text)).into()
            }
            Value::String(text) => self.text(text).into(),
            Value::Number(number) if key == "durationMs" || number.as_f64() > Some(1.5e12) => {
                "<ms>".into()
            }
            // They depend on the length of the prompt.
            Value::Number(_) if matches!(key, "tokensBefore" | "estimatedTokensAfter") => {
                "<tokens>".into()
            }
            Value::Array(items) => items
                .iter()
                .map(|item| if is_tools(key) { tool(item) } else { self.clean(key, item) })
                .collect(),
            Value::Object(fields) => self.object(fields),
            other => other.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Value {
        let system = fields.get("role").is_some_and(|role| role == "system" || role == "developer");
        let clean = |(key, value): (&String, &Value)| {
            let value = match (key.as_str(), value) {
                ("sections", Value::Object(sections)) => self.sections(sections),
                ("content", Value::String(text)) if system => self.prompt(text).into(),
                _ => self.clean(key, value),
            };
            (key.clone(), value)
        };
        fields.iter().map(clean).collect::<Map<_, _>>().into()
    }

    fn sections(&mut self, sections: &Map<String, Value>) -> Value {
        let own = |(name, text): (&String, &Value)| {
            let text = text.as_str().map(|text| Value::from(self.marked(text)));
            (name.clone(), text.unwrap_or(Value::Null))
        };
        sections.iter().map(own).collect::<Map<_, _>>().into()
    }

    /// The marked lines of a text in somebody's own words.
    fn marked(&mut self, text: &str) -> String {
        let lines = text.lines().filter(|line| line.contains(MARK));
        std::iter::once("<text>".to_owned())
            .chain(lines.map(|line| self.text(line)))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The names of a prompt's sections, and its marked lines.
    fn prompt(&mut self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let sections: Vec<&str> =
            SECTION.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str())).collect();
        format!("{} [{}]", self.marked(text), sections.join(" "))
    }

    /// A request to summarise: the conversation is the session's, the words around it are not.
    pub(super) fn summary_request(&mut self, text: &str) -> Option<String> {
        let (_, rest) = text.split_once("<conversation>")?;
        let (conversation, rest) = rest.split_once("</conversation>")?;
        let rest = self.marked(rest);
        Some(format!("<conversation>{}</conversation> {rest}", self.text(conversation)))
    }
}

fn is_id(key: &str) -> bool {
    key == "id" || key.ends_with("Id") || key.ends_with("Ids")
}

fn is_tools(key: &str) -> bool {
    matches!(key, "tools" | "toolsAdded")
}

fn number(seen: &mut Vec<String>, id: &str) -> usize {
    let at = seen.iter().position(|other| other == id).unwrap_or_else(|| {
        seen.push(id.to_owned());
        seen.len() - 1
    });
    at + 1
}

/// The name of a tool, and the names and types of its parameters.
fn tool(tool: &Value) -> Value {
    let function = tool.get("function").unwrap_or(tool);
    let (Some(name), Some(schema)) = (function.get("name"), function.get("parameters")) else {
        return tool.clone();
    };
    json!([name, shape(schema)])
}

fn shape(schema: &Value) -> Value {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        let kind = schema.get("type").cloned().unwrap_or_else(|| "any".into());
        return match schema.get("items") {
            Some(items) => json!([shape(items)]),
            None => kind,
        };
    };
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|other| other == name))
    };
    let field = |(name, schema): (&String, &Value)| {
        let name = if required(name) { name.clone() } else { format!("{name}?") };
        (name, shape(schema))
    };
    properties.iter().map(field).collect::<Map<_, _>>().into()
}
