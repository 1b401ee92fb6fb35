//! The format of scenario files: the setup, the input, the replies of the model and the transcript.
//!
//! `tests/scenarios/README.md` documents the format. The recorder writes the files, so their layout
//! is defined here: short values are on one line, long values are split, and a record of a
//! transcript is never split, so that each difference is one line in `git diff`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A file of `tests/scenarios`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// Name of the file, without its extension.
    #[serde(skip)]
    pub(super) name: String,
    /// Description in one sentence.
    pub(super) about: String,
    /// Files to create, by path: `work/…`, `agent/…` or `home/…`. Binary content has the prefix
    /// `base64:`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) files: BTreeMap<String, String>,
    /// Settings in addition to those of every scenario.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) settings: Map<String, Value>,
    /// Content of models.json instead of the default; `null` for no file.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub(super) models: Option<Value>,
    /// Programs to run one after the other in the same directory.
    pub(super) runs: Vec<Run>,
    /// Replies of the model to the requests of all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) server: Vec<Reply>,
    /// Files whose final content is part of the transcript.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) look: Vec<String>,
    /// Comparison of our program with `expected`.
    pub(super) ours: Ours,
    /// Reason of the difference; only with `differs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// Transcript of pi 1.5.0.
    #[serde(default)]
    pub(super) expected: Value,
    /// Transcript of our program; only with `differs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expected_ours: Option<Value>,
}

/// State of our program with respect to a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ours {
    /// Not implemented yet, and not tested.
    Pending,
    /// Produces the same transcript.
    Same,
    /// Produces a different transcript, for a reason.
    Differs,
}

/// A run of the program from start to exit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub(super) args: Vec<String>,
    /// Standard input. Without it and without steps, stdin is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stdin: Option<String>,
    /// Steps to take while the program runs; then stdin is closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<Step>,
    /// Additional environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) env: BTreeMap<String, String>,
}

/// An action of the client. `$ROOT`, `$URL` and captured names are replaced by their values.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Writes a record and a line feed.
    Send(Value),
    /// Writes a text as it is.
    Write(String),
    /// Waits for a record with at least these fields that no earlier step has matched.
    Wait(Value),
    /// Waits for a record and stores a part of it.
    Capture(Capture),
    /// Opens a gate of the server.
    Release(String),
    /// Waits until the server has received this many requests in total.
    Requests(usize),
    /// Creates an empty file.
    Touch(String),
}

/// A named part of a record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capture {
    pub(super) from: Value,
    /// JSON pointer to the part.
    pub(super) at: String,
    pub(super) name: String,
}

/// A reply of the model: a text, or parts in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of a reply. A stream without an ending part is completed normally.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    Text(String),
    Thinking(String),
    Call(Call),
    /// Waits until the gate of this name is open.
    Gate(String),
    /// `[reason, input tokens, output tokens]`; without the numbers, no usage is sent.
    Finish(Vec<Value>),
    /// Sends a chunk as it is.
    Data(Value),
    /// Closes the connection in the middle of the stream.
    Drop,
    /// Ends the stream as if it were complete.
    End,
    /// Sends nothing more until the client disconnects; if alone, not even the response head.
    Hang,
    /// Sends this response instead of a stream.
    Status(Status),
    /// Sends this text instead of an HTTP response and closes the connection.
    Raw(String),
}

/// A tool call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Arguments; a string is sent as it is.
    pub(crate) args: Value,
    /// Number of chunks for the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pieces: Option<usize>,
}

/// A response that is not a stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    pub(crate) code: u16,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// Distinguishes `null` from a missing field.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Loads all scenarios, sorted by name. The error names the invalid file.
pub(super) fn load() -> Result<Vec<Scenario>, String> {
    let mut scenarios = Vec::new();
    for file in fs::read_dir(directory()).map_err(|error| error.to_string())? {
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

/// Writes a scenario to its file.
pub(super) fn save(scenario: &Scenario) -> std::io::Result<()> {
    let path = directory().join(format!("{}.json", scenario.name));
    fs::write(path, text(scenario))
}

/// Returns the text of a scenario file.
pub(super) fn text(scenario: &Scenario) -> String {
    let mut text = lines(&serde_json::to_value(scenario).unwrap()).join("\n");
    text.push('\n');
    text
}

/// Formats a value as lines. Short and deeply nested values are on one line.
pub(super) fn lines(value: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    lay_out(value, 0, "", "", &mut lines);
    lines
}

/// Maximum depth of split values; the records of a transcript are just below.
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
