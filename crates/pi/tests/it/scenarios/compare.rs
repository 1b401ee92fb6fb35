//! Where two transcripts part.

use serde_json::Value;

use super::format::lines;

/// How many lines of a difference are shown.
const SHOWN: usize = 120;

/// The lines that are only in one of them; `None` if they are equal. The order of fields is no
/// difference.
pub(super) fn difference(expected: &Value, seen: &Value) -> Option<String> {
    if expected == seen {
        return None;
    }
    let (expected, seen) = (lines(&sorted(expected)), lines(&sorted(seen)));
    let mut shown = Vec::new();
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for step in steps(&expected, &seen) {
        match step {
            Step::Gone(line) => gone.push(line),
            Step::Come(line) => come.push(line),
            Step::Same => change(&mut gone, &mut come, &mut shown),
        }
    }
    change(&mut gone, &mut come, &mut shown);
    if shown.len() > SHOWN {
        let more = shown.len() - SHOWN;
        shown.truncate(SHOWN);
        shown.push(format!("... and {more} more lines"));
    }
    Some(format!("\n{}\n", shown.join("\n")))
}

/// The same with the fields of all objects in the order of their names.
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
    Gone(&'a str),
    Come(&'a str),
}

/// The way from one list of lines to the other with the fewest changes.
fn steps<'a>(old: &'a [String], new: &'a [String]) -> Vec<Step<'a>> {
    // The length of the longest common rest, from each pair of places on.
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
            steps.push(Step::Gone(old[at].trim()));
            at += 1;
        } else {
            steps.push(Step::Come(new[to].trim()));
            to += 1;
        }
    }
    steps
}

/// Shows a place where lines are others. As many as there were: what differs in each record.
fn change(gone: &mut Vec<&str>, come: &mut Vec<&str>, shown: &mut Vec<String>) {
    if gone.len() == come.len() {
        for (old, new) in gone.drain(..).zip(come.drain(..)) {
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
    shown.extend(gone.drain(..).map(|line| format!("-{line}")));
    shown.extend(come.drain(..).map(|line| format!("+{line}")));
}

/// A line that is an object, or a field with all of its value.
fn record(line: &str) -> Option<Value> {
    let line = line.trim_end_matches(',');
    let line = if line.starts_with('{') { line.to_owned() } else { format!("{{{line}}}") };
    serde_json::from_str(&line).ok()
}

fn name(record: &Value) -> String {
    let parts = ["type", "id", "command"].map(|key| record[key].as_str());
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The fields that are not equal, by their place.
fn fields(old: &Value, new: &Value, place: &str, shown: &mut Vec<String>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Object(before), Value::Object(after)) => {
            let more = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(more) {
                let place = format!("{place}/{key}");
                match (before.get(key), after.get(key)) {
                    (Some(old), Some(new)) => fields(old, new, &place, shown),
                    (Some(old), None) => shown.push(format!("-{place}: {old}")),
                    (None, new) => shown.push(format!("+{place}: {}", new.unwrap_or(&Value::Null))),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (old, new)) in before.iter().zip(after).enumerate() {
                fields(old, new, &format!("{place}/{at}"), shown);
            }
        }
        (old, new) => shown.extend([format!("-{place}: {old}"), format!("+{place}: {new}")]),
    }
}

#[test]
fn a_difference_is_shown_where_it_is() {
    let long = "x".repeat(100);
    let value = |word: &str| serde_json::json!({"a": [long, word], "b": long});
    assert_eq!(difference(&value("one"), &value("one")), None);
    let shown = difference(&value("one"), &value("two")).unwrap();
    assert_eq!(shown, "\n-\"one\"\n+\"two\"\n");
    let old = serde_json::json!([{"type": "t", "a": {"b": 1, "c": "d"}}, long]);
    let new = serde_json::json!([{"a": {"c": "d", "b": 2}, "type": "t"}, long]);
    assert_eq!(difference(&old, &new).unwrap(), "\n@t\n-/a/b: 1\n+/a/b: 2\n");
}
