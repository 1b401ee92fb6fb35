//! Tool calls as clients show them: kind, title, places, differences, output.
//!
//! All of it follows from the declared effects and the shape of the arguments; no tool is known by
//! name.

use std::path::PathBuf;

use pi_base::text;
use pi_protocol::{Effects, Extent, UserBlock};
use serde_json::{Map, Value, json};

use crate::patch;
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
        // The conversion stops at the largest number that the protocol has.
        line: line.map(|line| line as u32),
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

/// Returns the file whose present content is a part of the differences of a call: one that is
/// replaced as a whole, and with `edits` also one that is edited.
pub(crate) fn changed_file<'a>(
    arguments: &Map<String, Value>,
    effects: &'a Effects,
    edits: bool,
) -> Option<&'a str> {
    let [write] = effects.writes.as_slice() else { return None };
    let is_replaced = arguments.get("content").is_some_and(Value::is_string);
    let is_edited = edits && arguments.get("edits").is_some_and(Value::is_array);
    (is_replaced || is_edited).then_some(&*write.path)
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
    let diff = |old: Option<String>, new: &str, hunks: Option<String>| {
        let (path, new) = (path.clone(), new.to_owned());
        ToolContent::Diff { path, old, new, hunks }
    };
    if let Some(new) = arguments.get("content").and_then(Value::as_str) {
        return match before {
            Before::Missing => vec![diff(None, new, None)],
            Before::Text(old) => {
                let hunks = patch::hunks(&old, new);
                vec![diff(Some(old), new, hunks)]
            }
            Before::Unknown => vec![diff(Some(String::new()), new, None)],
        };
    }
    let edits = arguments.get("edits").and_then(Value::as_array);
    let text = |edit: &Value, name: &str| edit.get(name)?.as_str().map(str::to_owned);
    let edits = edits.into_iter().flatten();
    let edits: Vec<(String, String)> =
        edits.filter_map(|edit| Some((text(edit, "oldText")?, text(edit, "newText")?))).collect();
    let edited = match &before {
        Before::Text(old) => edited(old, &edits).and_then(|new| patch::hunks(old, &new)),
        Before::Missing | Before::Unknown => None,
    };
    let shown = edits.into_iter().take(DIFFS);
    let shown = shown.map(|(old, new)| diff(Some(old), &new, None)).collect();
    with_hunks(shown, edited)
}

/// Returns a text after edits, each of which replaces a part that occurs once; `None` if that is
/// not so. The tool decides about edits; this one only shows what is likely.
fn edited(text: &str, edits: &[(String, String)]) -> Option<String> {
    let mut places: Vec<(usize, &str, &str)> = Vec::new();
    for (old, new) in edits {
        let mut found = text.match_indices(old.as_str()).map(|(at, _)| at);
        let (Some(at), None) = (found.next(), found.next()) else { return None };
        places.push((at, old, new));
    }
    places.sort_unstable();
    let mut result = String::new();
    let mut end = 0;
    for (at, old, new) in places {
        result.push_str(text.get(end..at)?);
        result.push_str(new);
        end = at + old.len();
    }
    result.push_str(text.get(end..)?);
    Some(result)
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
        let line = Some(u32::try_from(line).unwrap_or(u32::MAX));
        Some(vec![Location { path: path.clone(), line }])
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
    let text = text::clean(text);
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
    let mut short: String = text::one_line(line).chars().take(TITLE).collect();
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
                Effects::none().run("l").summary("l\u{202e}s\u{e0041}\t-l", true),
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
    fn lines_stop_at_the_largest_number_of_the_protocol() {
        let effects = Effects::none().read("a", "path", Extent::File);
        for (offset, line) in [(json!(7), 7), (json!(1e12), u32::MAX)] {
            let arguments = Map::from_iter([("offset".to_owned(), offset)]);
            let call = describe("1", "t", &arguments, &effects, &resolve);
            let places = call.locations.unwrap_or_default();
            assert_eq!(places.first().and_then(|place| place.line), Some(line));
        }
    }

    #[test]
    fn hunks_follow_from_the_old_content() {
        let effects = Effects::none().write("a", "path");
        let edits = json!([
            { "oldText": "three", "newText": "3" },
            { "oldText": "one", "newText": "1" },
        ]);
        let twice = json!([{ "oldText": "e", "newText": "E" }]);
        let hunks = "@@ -1,3 +1,3 @@\n-one\n+1\n two\n-three\n+3\n";
        let cases = [
            ("edits", edits, Some(hunks)),
            ("edits", twice, None),
            ("content", json!("1\ntwo\n3\n"), Some(hunks)),
        ];
        for (name, value, expected) in cases {
            let arguments = Map::from_iter([(name.to_owned(), value)]);
            let before = Before::Text("one\ntwo\nthree\n".to_owned());
            let shown = differences(&arguments, &effects, &resolve, before);
            let Some(ToolContent::Diff { hunks, .. }) = shown.first() else { panic!("no diff") };
            assert_eq!(hunks.as_deref(), expected, "{name}");
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
