//! A scenario file: what is set up, what is typed, what the model answers, and what came of it.
//!
//! `tests/scenarios/README.md` describes the format for people. The recorder writes these files
//! back, so their layout is made here: short values on one line, long ones a line per part, and a
//! record of a transcript never broken, so that a difference is a line in `git diff`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One file of `tests/scenarios`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// The name of the file, without its ending.
    #[serde(skip)]
    pub(super) name: String,
    /// What it is about, in a sentence.
    pub(super) about: String,
    /// Files that are there before, by path: `work/…`, `agent/…` or `home/…`. A content after
    /// `base64:` is not a text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) files: BTreeMap<String, String>,
    /// Laid over the settings that every scenario has.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) settings: Map<String, Value>,
    /// Instead of the models that every scenario has; `null` is no file at all.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub(super) models: Option<Value>,
    /// Programs are started one after the other in the same place.
    pub(super) runs: Vec<Run>,
    /// What the model answers to each request, over all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) server: Vec<Reply>,
    /// Files whose content afterwards is part of the transcript.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) look: Vec<String>,
    /// How our program compares with `expected`.
    pub(super) ours: Ours,
    /// Why ours is otherwise; with `differs` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// Observed from pi 1.5.0.
    #[serde(default)]
    pub(super) expected: Value,
    /// What ours does instead; with `differs` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expected_ours: Option<Value>,
}

/// What is known about our program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ours {
    /// Not there yet: not tested.
    Pending,
    /// The same transcript.
    Same,
    /// Another transcript, for a reason.
    Differs,
}

/// A program that is started and comes to its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub(super) args: Vec<String>,
    /// All of standard input. Without it and without steps there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stdin: Option<String>,
    /// Done one after the other while it runs; then standard input is closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<Step>,
    /// Variables of the environment on top of the usual ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) env: BTreeMap<String, String>,
}

/// Something that the other side does. In all texts `$ROOT`, `$URL` and captured names stand for
/// their values.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Writes this record and a line feed.
    Send(Value),
    /// Writes these characters.
    Write(String),
    /// Waits for a record that has at least these fields and that no earlier step waited for.
    Wait(Value),
    /// The same, and remembers a part of it.
    Capture(Capture),
    /// Opens a gate of the server.
    Release(String),
    /// Waits until the server has had this many requests in all.
    Requests(usize),
    /// Creates an empty file.
    Touch(String),
}

/// A part of a record, under a name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capture {
    pub(super) from: Value,
    /// A JSON pointer.
    pub(super) at: String,
    pub(super) name: String,
}

/// An answer of the model: a text alone, or parts in their order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of an answer. A stream that no part ends is ended as it should be.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    Text(String),
    Thinking(String),
    Call(Call),
    /// Waits until the gate of this name is opened.
    Gate(String),
    /// `[reason, input tokens, output tokens]`; without the numbers there is no usage.
    Finish(Vec<Value>),
    /// A chunk as it is.
    Data(Value),
    /// The connection ends here, in the middle.
    Drop,
    /// The stream ends here, as if it were complete.
    End,
    /// Nothing more until the client goes away; alone, not even a head.
    Hang,
    /// No stream at all but this answer.
    Status(Status),
    /// Not even an answer: these characters, then the connection ends.
    Raw(String),
}

/// A call of a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// A text is sent as it is.
    pub(crate) args: Value,
    /// Into how many chunks the arguments are cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pieces: Option<usize>,
}

/// An answer that is no stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    pub(crate) code: u16,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// Tells `null` from a field that is not there.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Every scenario, by name. A file that is none is an error that names it.
pub(super) fn load() -> Result<Vec<Scenario>, String> {
    let mut scenarios = Vec::new();
    for file in fs::read_dir(folder()).map_err(|error| error.to_string())? {
        let path = file.map_err(|error| error.to_string())?.path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let mut scenario: Scenario =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        scenario.name = path.file_stem().unwrap().to_string_lossy().into_owned();
        scenarios.push(scenario);
    }
    scenarios.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scenarios)
}

/// Writes a scenario back where it came from.
pub(super) fn save(scenario: &Scenario) -> std::io::Result<()> {
    let path = folder().join(format!("{}.json", scenario.name));
    fs::write(path, text(scenario))
}

/// A scenario as it is in its file.
pub(super) fn text(scenario: &Scenario) -> String {
    let mut text = lines(&serde_json::to_value(scenario).unwrap()).join("\n");
    text.push('\n');
    text
}

/// A value as lines: what is short, or deep inside, is on one.
pub(super) fn lines(value: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    lay_out(value, 0, "", "", &mut lines);
    lines
}

/// How deep a value may be broken: the records of a transcript are just below.
const DEPTH: usize = 5;
const WIDTH: usize = 100;

fn lay_out(value: &Value, depth: usize, before: &str, after: &str, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let flat = value.to_string();
    let fits = flat.len() + before.len() + indent.len() <= WIDTH && depth > 0;
    let parts: Vec<(String, &Value)> = match value {
        Value::Array(items) if !fits && depth < DEPTH => {
            items.iter().map(|item| (String::new(), item)).collect()
        }
        Value::Object(fields) if !fits && depth < DEPTH => fields
            .iter()
            .map(|(key, item)| (format!("{}: ", Value::from(key.as_str())), item))
            .collect(),
        _ => Vec::new(),
    };
    if parts.is_empty() {
        lines.push(format!("{indent}{before}{flat}{after}"));
        return;
    }
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    lines.push(format!("{indent}{before}{open}"));
    let last = parts.len() - 1;
    for (at, (key, item)) in parts.into_iter().enumerate() {
        lay_out(item, depth + 1, &key, if at == last { "" } else { "," }, lines);
    }
    lines.push(format!("{indent}{close}{after}"));
}
