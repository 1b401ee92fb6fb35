//! A field of a form that takes several of some values: a list in which the user marks values.

use pi_coding_agent::extension::{ExtensionUi, NotifyKind};
use serde_json::Value;

use super::{Answer, check};

/// The most times that the user marks a value.
const MOST_STEPS: usize = 200;

const DONE: &str = "Done";

/// Shows the values until the user is done and their number is right.
pub(super) async fn choose(
    title: &str,
    field: &Value,
    choices: &[(Value, String)],
    required: bool,
    ui: &ExtensionUi,
) -> Answer {
    let default = field.get("default").and_then(Value::as_array);
    let is_default = |value: &Value| default.is_some_and(|default| default.contains(value));
    let mut marked: Vec<bool> = choices.iter().map(|(value, _)| is_default(value)).collect();
    for _ in 0..MOST_STEPS {
        let row = |((_, label), is_marked): (&(Value, String), &bool)| {
            format!("[{}] {label}", if *is_marked { 'x' } else { ' ' })
        };
        let mut rows: Vec<String> = choices.iter().zip(&marked).map(row).collect();
        rows.push(DONE.to_owned());
        let Some(chosen) = ui.select(title, rows.clone()).await else { return Answer::Closed };
        if let Some(at) = rows.iter().position(|row| *row == chosen)
            && let Some(is_marked) = marked.get_mut(at)
        {
            *is_marked = !*is_marked;
            continue;
        }
        let values: Vec<Value> = choices
            .iter()
            .zip(&marked)
            .filter(|(_, is_marked)| **is_marked)
            .map(|((value, _), _)| value.clone())
            .collect();
        if values.is_empty() && !required {
            return Answer::Left;
        }
        let values = Value::Array(values);
        match check(field, &values) {
            Ok(()) => return Answer::Value(values),
            Err(problem) => ui.notify(format!("{title}: {problem}"), NotifyKind::Warning),
        }
    }
    Answer::Closed
}
