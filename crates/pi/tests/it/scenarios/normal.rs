//! Normalization: replaces everything that differs between runs or between the two programs.
//!
//! Ids become numbers in the order of their first occurrence, times and durations become
//! placeholders, and the texts of prompts and tool descriptions are removed, while the names of
//! sections, tools and parameters are kept. A line of a prompt that contains `MARK` comes from the
//! scenario and is kept.

use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::{Map, Value, json};

/// Marks the lines of a prompt that come from the scenario.
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

/// The ids seen so far in a scenario, and its placeholders.
#[derive(Debug, Default)]
pub(super) struct Names {
    placeholders: Vec<(String, &'static str)>,
    uuids: Vec<String>,
    entries: Vec<String>,
}

impl Names {
    /// Creates a normalizer. `placeholders` are texts and their replacements.
    pub(super) fn new(placeholders: Vec<(String, &'static str)>) -> Self {
        Self { placeholders, ..Self::default() }
    }

    /// Replaces paths, ports, ids and times in a text.
    pub(super) fn text(&mut self, text: &str) -> String {
        let replace = |text: String, (found, name): &(String, &str)| text.replace(found, name);
        let text = self.placeholders.iter().fold(text.to_owned(), replace);
        let uuids = &mut self.uuids;
        let text = UUID.replace_all(&text, |found: &regex_lite::Captures<'_>| {
            format!("uuid-{}", number(uuids, &found[0]))
        });
        let text = TIME.replace_all(&text, "<time>");
        let text = PROJECT.replace_all(&text, "--work--");
        SPILL.replace_all(&text, "pi-$1-N.log").into_owned()
    }

    /// Normalizes a JSON value.
    pub(super) fn value(&mut self, value: &Value) -> Value {
        self.clean("", value)
    }

    fn clean(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) if ENTRY.is_match(text) && is_id(key) => {
                format!("id-{}", number(&mut self.entries, text)).into()
            }
            Value::String(text) => self.words(text).into(),
            Value::Number(number)
                if matches!(key, "durationMs" | "wall_time_seconds")
                    || number.as_f64() > Some(1.5e12) =>
            {
                "<ms>".into()
            }
            // These numbers depend on the length of the prompt.
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
        // Only our program verifies summaries.
        let added = |key: &str| key == "verification" && fields.contains_key("readFiles");
        let fields = fields.iter().filter(|(key, _)| !added(key));
        fields.map(clean).collect::<Map<_, _>>().into()
    }

    fn sections(&mut self, sections: &Map<String, Value>) -> Value {
        let own = |(name, text): (&String, &Value)| {
            let text = text.as_str().map(|text| Value::from(self.marked(text)));
            (name.clone(), text.unwrap_or(Value::Null))
        };
        sections.iter().map(own).collect::<Map<_, _>>().into()
    }

    /// Keeps only the marked lines of a text.
    fn marked(&mut self, text: &str) -> String {
        let lines = text.lines().filter(|line| line.contains(MARK));
        std::iter::once("<text>".to_owned())
            .chain(lines.map(|line| self.text(line)))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Keeps only the section names and the marked lines of a prompt.
    fn prompt(&mut self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let sections: Vec<&str> =
            SECTION.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str())).collect();
        format!("{} [{}]", self.marked(text), sections.join(" "))
    }

    /// Normalizes the text of a message, without the wording of each program around summaries.
    fn words(&mut self, text: &str) -> String {
        for (open, close) in SUMMARIES {
            if let Some((before, rest)) = text.split_once(open)
                && let Some((inside, after)) = rest.rsplit_once(close)
            {
                let (before, after) = (self.marked(before), self.marked(after));
                return format!("{before} {open}{}{close} {after}", shorten(&self.text(inside)));
            }
        }
        shorten(&self.text(text))
    }
}

/// Delimiters of text from the session or the model.
const SUMMARIES: &[(&str, &str)] = &[
    ("<conversation>", "</conversation>"),
    ("<summary>", "</summary>"),
    ("# Conversation\n", "\n# Instructions"),
];

/// Shortens a long text to its beginning, its length and its end.
fn shorten(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= 1000 {
        return text.to_owned();
    }
    let (head, tail) = (&characters[..60], &characters[characters.len() - 400..]);
    let (head, tail): (String, String) = (head.iter().collect(), tail.iter().collect());
    format!("{head}<{} letters>{tail}", characters.len())
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

/// Reduces a tool to its name and the names and types of its parameters.
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

#[test]
fn differences_between_runs_are_removed() {
    let mut names = Names::new(vec![("/x/y".to_owned(), "$ROOT")]);
    let id = "01a1dcc0-edad-719c-82b1-7c35a80d531c";
    let file = format!("/x/y/--x-y-work--/2026-11-15T09-41-34-123Z_{id}.jsonl");
    let long = "a".repeat(2000);
    let cases = [
        (
            json!({"id": "aaaaaaaa", "parentId": "bbbbbbbb"}),
            json!({"id": "id-1", "parentId": "id-2"}),
        ),
        (json!({"id": "bbbbbbbb", "text": "aaaaaaaa"}), json!({"id": "id-2", "text": "aaaaaaaa"})),
        (json!({ "path": file }), json!({"path": "$ROOT/--work--/<time>_uuid-1.jsonl"})),
        (
            json!({"timestamp": 1_794_704_993_843_u64, "tokens": 12}),
            json!({"timestamp": "<ms>", "tokens": 12}),
        ),
        (
            json!({"durationMs": 3, "tokensBefore": 9}),
            json!({"durationMs": "<ms>", "tokensBefore": "<tokens>"}),
        ),
        (
            json!("My words.\n<summary>\nkept\n</summary>"),
            json!("<text> <summary>\nkept\n</summary> <text>"),
        ),
        (json!(long), json!(format!("{}<2000 letters>{}", "a".repeat(60), "a".repeat(400)))),
        (
            json!({"role": "system", "content": "Hello.\n<tools>\n- read\nMARK me\n</tools>"}),
            json!({"role": "system", "content": "<text> MARK me [tools]"}),
        ),
        (
            json!({"sections": {"cwd": "words", "gone": null}}),
            json!({"sections": {"cwd": "<text>", "gone": null}}),
        ),
        (
            json!({"tools": [{"name": "bash", "description": "d", "parameters": {
                "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}},
                "required": ["command"]}}]}),
            json!({"tools": [["bash", {"command": "string", "timeout?": "number"}]]}),
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(names.value(&given), expected, "{given}");
    }
}
