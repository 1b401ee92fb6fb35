//! Tool calls as clients show them: kind, title, places, differences, output.
//!
//! All of it follows from the declared effects and the shape of the arguments; no tool is known by
//! name.

use std::path::PathBuf;

use pi_protocol::{Effects, Extent, UserBlock};
use serde_json::{Map, Value, json};

use crate::update::{Block, Location, PlanEntry, Status, ToolCall, ToolContent};

/// Longest title, in characters.
const TITLE: usize = 200;
/// Longest value of `rawInput` and `rawOutput`, in bytes of JSON.
const RAW: usize = 256 << 10;
/// Most differences of one call.
const DIFFS: usize = 200;

/// Returns the kind of a call, for icons.
pub(crate) fn kind(effects: &Effects) -> &'static str {
    if !effects.runs.is_empty() {
        "execute"
    } else if !effects.writes.is_empty() {
        "edit"
    } else if !effects.connects.is_empty() {
        "fetch"
    } else if effects.reads.iter().any(|read| read.extent != Extent::File) {
        "search"
    } else if !effects.reads.is_empty() {
        "read"
    } else {
        "other"
    }
}

/// Describes a call. `resolve` makes paths of the model absolute.
pub(crate) fn describe(
    id: &str,
    name: &str,
    arguments: &Map<String, Value>,
    effects: &Effects,
    resolve: &dyn Fn(&str) -> PathBuf,
) -> ToolCall {
    let kind = kind(effects);
    let summary = effects.summary.as_ref().map(|summary| one_line(&summary.text));
    let title = match summary {
        Some(summary) if !summary.is_empty() && kind == "execute" => summary,
        Some(summary) if !summary.is_empty() => format!("{name} {summary}"),
        _ => name.to_owned(),
    };
    let line = arguments.get("offset").and_then(Value::as_f64).filter(|line| *line >= 1.0);
    let places = effects.writes.iter().chain(&effects.reads);
    let places = places.filter(|place| place.extent == Extent::File).map(|place| Location {
        path: resolve(&place.path).to_string_lossy().into_owned(),
        line: line.map(|line| line as u64),
    });
    ToolCall {
        id: id.to_owned(),
        name: Some(name.to_owned()),
        title: Some(title),
        kind: Some(kind),
        locations: Some(places.collect()),
        raw_input: bounded(Value::Object(arguments.clone())),
        ..ToolCall::default()
    }
}

/// Returns the file that a call replaces as a whole, so that its present content can be shown.
pub(crate) fn replaced_file<'a>(
    arguments: &Map<String, Value>,
    effects: &'a Effects,
) -> Option<&'a str> {
    let [write] = effects.writes.as_slice() else { return None };
    arguments.get("content")?.as_str()?;
    Some(&write.path)
}

/// The content of a file before a call replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    /// The file does not exist.
    Missing,
    Text(String),
    /// The content is not known, or it is no text.
    Unknown,
}

/// Returns the differences that a call makes, from its arguments.
pub(crate) fn differences(
    arguments: &Map<String, Value>,
    effects: &Effects,
    resolve: &dyn Fn(&str) -> PathBuf,
    before: Before,
) -> Vec<ToolContent> {
    let [write] = effects.writes.as_slice() else { return Vec::new() };
    let path = resolve(&write.path).to_string_lossy().into_owned();
    let diff = |old: Option<String>, new: &str| ToolContent::Diff {
        path: path.clone(),
        old,
        new: new.to_owned(),
        hunks: None,
    };
    if let Some(new) = arguments.get("content").and_then(Value::as_str) {
        return match before {
            Before::Missing => vec![diff(None, new)],
            Before::Text(old) => vec![diff(Some(old), new)],
            Before::Unknown => vec![diff(Some(String::new()), new)],
        };
    }
    let edits = arguments.get("edits").and_then(Value::as_array);
    let text = |edit: &Value, name: &str| edit.get(name)?.as_str().map(str::to_owned);
    edits
        .into_iter()
        .flatten()
        .take(DIFFS)
        .filter_map(|edit| Some(diff(Some(text(edit, "oldText")?), &text(edit, "newText")?)))
        .collect()
}

/// The result of a call, final or so far.
pub(crate) struct Output<'a> {
    pub(crate) content: &'a [UserBlock],
    pub(crate) details: Option<&'a Value>,
    pub(crate) is_error: bool,
}

/// Returns the change that the result of a call makes. A call that shows differences keeps them,
/// unless it failed.
pub(crate) fn finished(id: &str, output: &Output<'_>, differences: &[ToolContent]) -> ToolCall {
    let status = if output.is_error { Status::Failed } else { Status::Completed };
    let patch = output.details.and_then(|details| details["patch"].as_str());
    let content = if output.is_error || differences.is_empty() {
        shown(output.content)
    } else {
        let hunks = patch.and_then(|patch| patch.find("@@ ").map(|at| patch[at..].to_owned()));
        with_hunks(differences.to_vec(), hunks)
    };
    let line = output.details.and_then(|details| details["firstChangedLine"].as_u64());
    let locations = line.and_then(|line| {
        let ToolContent::Diff { path, .. } = differences.first()? else { return None };
        Some(vec![Location { path: path.clone(), line: Some(line) }])
    });
    ToolCall {
        id: id.to_owned(),
        status: Some(status),
        content: Some(content),
        locations,
        raw_output: raw_output(output),
        ..ToolCall::default()
    }
}

/// Adds the hunks of a file to the only difference, or to all of them as one.
fn with_hunks(differences: Vec<ToolContent>, hunks: Option<String>) -> Vec<ToolContent> {
    let mut differences = differences;
    if let (Some(ToolContent::Diff { hunks: place, .. }), Some(hunks)) =
        (differences.first_mut(), hunks)
    {
        *place = Some(hunks);
    }
    differences
}

/// Returns the output of a call as content.
pub(crate) fn shown(content: &[UserBlock]) -> Vec<ToolContent> {
    let block = |block: &UserBlock| match block {
        UserBlock::Text(text) => Some(Block::Text(fenced(&text.text))),
        UserBlock::Image(image) => {
            let (data, mime_type) = (image.data.clone(), image.mime_type.clone());
            Some(Block::Image { data, mime_type })
        }
        UserBlock::Unknown(_) => None,
    };
    content.iter().filter_map(block).map(ToolContent::Block).collect()
}

/// Puts a text into a code block: clients render texts as Markdown, and output is none.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

fn raw_output(output: &Output<'_>) -> Option<Value> {
    let texts: Vec<&str> = output.content.iter().filter_map(UserBlock::as_text).collect();
    let mut raw = json!({ "output": texts.join("\n") });
    if let Some(details) = output.details.filter(|details| !details.is_null()) {
        raw["details"] = details.clone();
    }
    bounded(raw)
}

/// Returns a value unless it is too large.
fn bounded(value: Value) -> Option<Value> {
    let fits = serde_json::to_vec(&value).is_ok_and(|json| json.len() <= RAW);
    fits.then_some(value)
}

fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut short: String = line.chars().filter(|c| !c.is_control()).take(TITLE).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short
}

/// Returns the plan in the details of a result: a list `todos`, as tools for lists of tasks keep
/// it. Each has a text (`text`, `content` or `title`), and `done` or `status`.
pub(crate) fn plan(details: Option<&Value>) -> Option<Vec<PlanEntry>> {
    let entry = |item: &Value| {
        let text = |name: &str| item[name].as_str();
        let content = text("content").or_else(|| text("text")).or_else(|| text("title"))?;
        let status = match (item["done"].as_bool(), text("status")) {
            (Some(true), _) | (_, Some("completed" | "done")) => "completed",
            (_, Some("in_progress" | "in-progress" | "active")) => "in_progress",
            _ => "pending",
        };
        let priority = match text("priority") {
            Some("high") => "high",
            Some("low") => "low",
            _ => "medium",
        };
        Some(PlanEntry { content: content.to_owned(), priority, status })
    };
    let todos = details?.get("todos")?.as_array()?;
    todos.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(path: &str) -> PathBuf {
        PathBuf::from("/p").join(path)
    }

    #[test]
    fn calls_are_described_by_their_effects() {
        let cases = [
            (
                Effects::none().run("ls -l\npwd").summary("ls -l\npwd", true),
                "execute",
                "ls -l…",
                None,
            ),
            (
                Effects::none().read("a.rs", "path", Extent::File).summary("a.rs", true),
                "read",
                "t a.rs",
                Some("/p/a.rs"),
            ),
            (
                Effects::none().read(".", "path", Extent::Tree).summary("x in .", true),
                "search",
                "t x in .",
                None,
            ),
            (Effects::none().write("/b", "path").summary("/b", false), "edit", "t /b", Some("/b")),
            (Effects::none().connect("a.example"), "fetch", "t", None),
            (Effects::unknown(), "other", "t", None),
        ];
        for (effects, kind, title, place) in cases {
            let call = describe("1", "t", &Map::new(), &effects, &resolve);
            assert_eq!(call.kind, Some(kind));
            assert_eq!(call.title.as_deref(), Some(title));
            let places: Vec<String> =
                call.locations.unwrap_or_default().into_iter().map(|one| one.path).collect();
            assert_eq!(places, place.map(str::to_owned).into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn lists_of_tasks_are_plans() {
        let details = json!({ "todos": [
            { "text": "a", "done": true },
            { "content": "b", "status": "in_progress", "priority": "high" },
            { "title": "c" },
        ] });
        let entry = |content: &str, priority, status| PlanEntry {
            content: content.to_owned(),
            priority,
            status,
        };
        let expected = vec![
            entry("a", "medium", "completed"),
            entry("b", "high", "in_progress"),
            entry("c", "medium", "pending"),
        ];
        assert_eq!(plan(Some(&details)), Some(expected));
        assert_eq!(plan(Some(&json!({ "todos": [{}] }))), None);
        assert_eq!(plan(Some(&json!({ "todos": "x" }))), None);
        assert_eq!(plan(None), None);
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        assert_eq!(fenced("a"), "```\na\n```");
        assert_eq!(fenced("````x````\n"), "`````\n````x````\n`````");
    }
}
