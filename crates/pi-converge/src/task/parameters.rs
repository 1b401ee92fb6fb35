//! The values of parameters: given, checked against their declaration, and as text for templates.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pi_config::suggest::nearest;
use serde_json::{Number, Value};

use super::document::Problem;
use super::origin::Origins;
use super::template::is_name;
use crate::contract::{Parameter, ParameterKind};

/// The directories that relative paths of parameters refer to.
pub(super) struct Bases<'a> {
    /// That of the task file, for defaults.
    pub(super) file: &'a Path,
    /// The working directory, for given values.
    pub(super) working: &'a Path,
}

/// Sets the values of all parameters, and returns the texts that templates insert.
pub(super) fn resolve(
    parameters: &mut BTreeMap<String, Parameter>,
    given: &[(String, String)],
    bases: &Bases<'_>,
    origins: &Origins,
) -> Result<BTreeMap<String, String>, Vec<Problem>> {
    let mut problems = Vec::new();
    for (name, _) in given {
        if !parameters.contains_key(name) {
            let near = nearest(name, parameters.keys().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            problems.push(option_problem(name, &format!("the task has no such parameter{hint}")));
        }
    }
    let mut texts = BTreeMap::new();
    for (name, parameter) in parameters.iter_mut() {
        let pointer = format!("/inputs/parameters/{name}");
        let option = given.iter().rev().find(|(given, _)| given == name).map(|(_, value)| value);
        let report = |message: String| match option {
            Some(_) => option_problem(name, &message),
            None => origins.problem(&pointer, message),
        };
        if !is_name(name) {
            problems
                .push(origins.problem(&pointer, "a name consists of letters, digits and _ - ."));
            continue;
        }
        let (value, base) = match (option, &parameter.value, &parameter.default) {
            (Some(text), _, _) => (typed(parameter.kind, text), bases.working),
            (None, Some(value), _) | (None, None, Some(value)) => (Ok(value.clone()), bases.file),
            (None, None, None) => {
                problems.push(report(format!(
                    "a value is required; give it with --param {name}=VALUE"
                )));
                continue;
            }
        };
        match value.and_then(|value| check(parameter, value, base)) {
            Ok((value, text)) => {
                parameter.value = Some(value);
                texts.insert(name.clone(), text);
            }
            Err(message) => problems.push(report(message)),
        }
    }
    if problems.is_empty() { Ok(texts) } else { Err(problems) }
}

fn option_problem(name: &str, message: &str) -> Problem {
    Problem {
        file: String::new(),
        place: None,
        field: format!("--param {name}"),
        message: message.to_owned(),
    }
}

/// Returns the value that the text of an option stands for.
fn typed(kind: ParameterKind, text: &str) -> Result<Value, String> {
    match kind {
        ParameterKind::String | ParameterKind::Date | ParameterKind::File => Ok(text.into()),
        ParameterKind::Number => {
            number(text).map(Value::Number).ok_or_else(|| format!("\"{text}\" is not a number"))
        }
        ParameterKind::Boolean => match text {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err(format!("invalid value \"{text}\": expected true or false")),
        },
    }
}

fn number(text: &str) -> Option<Number> {
    text.parse::<i64>().map(Number::from).ok().or_else(|| Number::from_f64(text.parse().ok()?))
}

/// Checks a value against the declaration. Returns it with the text that templates insert.
fn check(parameter: &Parameter, value: Value, base: &Path) -> Result<(Value, String), String> {
    if !parameter.options.is_empty() && !parameter.options.contains(&value) {
        let options: Vec<String> = parameter.options.iter().map(text_of).collect();
        return Err(format!("invalid value {value}: expected one of {}", options.join(", ")));
    }
    let expected = match parameter.kind {
        ParameterKind::String if !value.is_string() => Some("a text; put it in quotes"),
        ParameterKind::Number if !value.is_number() => Some("a number"),
        ParameterKind::Boolean if !value.is_boolean() => Some("true or false"),
        ParameterKind::Date if !is_date(&value) => Some("a date such as 2026-12-31"),
        ParameterKind::File if !value.is_string() => Some("the path of a file"),
        _ => None,
    };
    if let Some(expected) = expected {
        return Err(format!("invalid value {value}: expected {expected}"));
    }
    let text = text_of(&value);
    if parameter.kind != ParameterKind::File {
        return Ok((value, text));
    }
    let path: PathBuf = base.join(&text);
    let content = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok((path.to_string_lossy().into_owned().into(), content))
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns true for a day of the calendar, as ISO 8601 writes it.
fn is_date(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}
