//! Comparison of two transcripts.

use serde_json::Value;

use super::format::lines;

/// Maximum number of lines of a difference.
const SHOWN: usize = 120;

/// Returns the lines that are in only one of the transcripts, or `None` if they are equal. The order
/// of fields does not matter.
pub(super) fn difference(expected: &Value, seen: &Value) -> Option<String> {
    if expected == seen {
        return None;
    }
    let (expected, seen) = (lines(&sorted(expected)), lines(&sorted(seen)));
    let mut shown = Vec::new();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for step in steps(&expected, &seen) {
        match step {
            Step::Removed(line) => removed.push(line),
            Step::Added(line) => added.push(line),
            Step::Same => change(&mut removed, &mut added, &mut shown),
        }
    }
    change(&mut removed, &mut added, &mut shown);
    if shown.len() > SHOWN {
        let more = shown.len() - SHOWN;
        shown.truncate(SHOWN);
        shown.push(format!("... and {more} more lines"));
    }
    Some(format!("\n{}\n", shown.join("\n")))
}

/// Sorts the fields of all objects by name.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            fields.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        other => other.clone(),
    }
}

enum Step<'a> {
    Same,
    Removed(&'a str),
    Added(&'a str),
}

/// Returns the shortest edit script between two lists of lines.
fn steps<'a>(old: &'a [String], new: &'a [String]) -> Vec<Step<'a>> {
    // The length of the longest common subsequence from each pair of positions on.
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    let same = |a: &str, b: &str| a.trim_end_matches(',') == b.trim_end_matches(',');
    for at in (0..old.len()).rev() {
        for to in (0..new.len()).rev() {
            common[at][to] = if same(&old[at], &new[to]) {
                common[at + 1][to + 1] + 1
            } else {
                common[at + 1][to].max(common[at][to + 1])
            };
        }
    }
    let (mut at, mut to) = (0, 0);
    let mut steps = Vec::new();
    while at < old.len() || to < new.len() {
        if at < old.len() && to < new.len() && same(&old[at], &new[to]) {
            steps.push(Step::Same);
            (at, to) = (at + 1, to + 1);
        } else if to == new.len() || (at < old.len() && common[at + 1][to] >= common[at][to + 1]) {
            steps.push(Step::Removed(old[at].trim()));
            at += 1;
        } else {
            steps.push(Step::Added(new[to].trim()));
            to += 1;
        }
    }
    steps
}

/// Shows a changed block. If the number of lines is the same, shows the differences of each record.
fn change(removed: &mut Vec<&str>, added: &mut Vec<&str>, shown: &mut Vec<String>) {
    if removed.len() == added.len() {
        for (old, new) in removed.drain(..).zip(added.drain(..)) {
            match (record(old), record(new)) {
                (Some(old), Some(new)) if old["type"] == new["type"] => {
                    shown.push(format!("@{}", name(&old)));
                    fields(&old, &new, "", shown);
                }
                _ => shown.extend([format!("-{old}"), format!("+{new}")]),
            }
        }
        return;
    }
    shown.extend(removed.drain(..).map(|line| format!("-{line}")));
    shown.extend(added.drain(..).map(|line| format!("+{line}")));
}

/// Parses a line that is an object, or a field with its value.
fn record(line: &str) -> Option<Value> {
    let line = line.trim_end_matches(',');
    let line = if line.starts_with('{') { line.to_owned() } else { format!("{{{line}}}") };
    serde_json::from_str(&line).ok()
}

fn name(record: &Value) -> String {
    let parts = ["type", "id", "command"].map(|key| record[key].as_str());
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Shows the fields that differ, with their paths.
fn fields(old: &Value, new: &Value, path: &str, shown: &mut Vec<String>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Object(before), Value::Object(after)) => {
            let more = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(more) {
                let path = format!("{path}/{key}");
                match (before.get(key), after.get(key)) {
                    (Some(old), Some(new)) => fields(old, new, &path, shown),
                    (Some(old), None) => shown.push(format!("-{path}: {old}")),
                    (None, new) => shown.push(format!("+{path}: {}", new.unwrap_or(&Value::Null))),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (old, new)) in before.iter().zip(after).enumerate() {
                fields(old, new, &format!("{path}/{at}"), shown);
            }
        }
        (old, new) => shown.extend([format!("-{path}: {old}"), format!("+{path}: {new}")]),
    }
}

#[test]
fn a_difference_is_shown_with_its_path() {
    let long = "x".repeat(100);
    let value = |word: &str| serde_json::json!({"a": [long, word], "b": long});
    assert_eq!(difference(&value("one"), &value("one")), None);
    let shown = difference(&value("one"), &value("two")).unwrap();
    assert_eq!(shown, "\n-\"one\"\n+\"two\"\n");
    let old = serde_json::json!([{"type": "t", "a": {"b": 1, "c": "d"}}, long]);
    let new = serde_json::json!([{"a": {"c": "d", "b": 2}, "type": "t"}, long]);
    assert_eq!(difference(&old, &new).unwrap(), "\n@t\n-/a/b: 1\n+/a/b: 2\n");
}
