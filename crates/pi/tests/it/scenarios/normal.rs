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
    places: Vec<(String, &'static str)>,
    uuids: Vec<String>,
    entries: Vec<String>,
}

impl Names {
    /// `places` are texts and what is written for them.
    pub(super) fn new(places: Vec<(String, &'static str)>) -> Self {
        Self { places, ..Self::default() }
    }

    /// A text without paths, ports, ids and times.
    pub(super) fn text(&mut self, text: &str) -> String {
        let replace = |text: String, (place, name): &(String, &str)| text.replace(place, name);
        let text = self.places.iter().fold(text.to_owned(), replace);
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
            Value::String(text) => self.words(text).into(),
            Value::Number(number)
                if matches!(key, "durationMs" | "wall_time_seconds")
                    || number.as_f64() > Some(1.5e12) =>
            {
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
        // What came of the checks of a summary, which only one of the programs makes.
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

    /// A text of a message: what a program says around a summary, or to get one, is its own.
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

/// What is between these is the session's, or the model's.
const SUMMARIES: &[(&str, &str)] = &[
    ("<conversation>", "</conversation>"),
    ("<summary>", "</summary>"),
    ("# Conversation\n", "\n# Instructions"),
];

/// A long text as its beginning, its end, and how long it is.
fn shorten(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= 1000 {
        return text.to_owned();
    }
    let (head, tail) = (&letters[..60], &letters[letters.len() - 400..]);
    let (head, tail): (String, String) = (head.iter().collect(), tail.iter().collect());
    format!("{head}<{} letters>{tail}", letters.len())
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

#[test]
fn what_differs_from_run_to_run_goes() {
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
