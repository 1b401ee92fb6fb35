//! From the command line of `pi run` to a task.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use pi_converge::{OptionValue, Problem, PublishPlan, Task, TaskInput, TaskSource};
use serde_json::{Value, json};

use super::checks::Checks;
use crate::flags::parse::CommandArgs;
use crate::flags::run::{FIELDS, Field, Kind};

/// The beginning of the pointers of the options that set the pull request.
const PUBLISH: &str = "/publish/";

/// Loads the task that a command line describes. The errors are messages for the user.
pub(super) fn load(args: &CommandArgs, directory: &Path) -> Result<Task, Vec<String>> {
    let Some(word) = args.word(0) else {
        return Err(vec!["the task is missing: give a task file or a goal".to_owned()]);
    };
    let source = source(word, directory).map_err(|error| vec![error])?;
    let mut input = TaskInput::new(source, directory);
    let mut errors = Vec::new();
    let mut checks = Checks::default();
    for (name, value) in args.given() {
        let text = value.unwrap_or_default();
        let added = match name {
            "param" => pair(name, text).map(|(name, value)| {
                input.parameters.push((name.to_owned(), value.to_owned()));
            }),
            "set" => pair(name, text).map(|(field, value)| {
                let pointer = pi_converge::pointer_of(field);
                input.options.push(OptionValue::new(
                    format!("--set {field}"),
                    pointer,
                    json_or_text(value),
                ));
            }),
            "explain" | "dry-run" | "format" | "output-format" => Ok(()),
            name => match FIELDS.iter().find(|field| field.flag.long == name) {
                Some(field) => option_value(field, text).map(|value| input.options.push(value)),
                None => checks.add(name, text),
            },
        };
        errors.extend(added.err());
    }
    match checks.into_options() {
        Ok(options) => input.options.extend(options),
        Err(error) => errors.push(error),
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Task::load(&input).map_err(|problems| problems.iter().map(Problem::to_string).collect())
}

/// Reads the settings of the pull request of a run that is resumed.
pub(super) fn publication(args: &CommandArgs) -> Result<PublishPlan, String> {
    let goal = TaskSource::Goal("none".to_owned());
    let mut input = TaskInput::new(goal, "");
    for (name, value) in args.given() {
        let field = FIELDS.iter().find(|field| field.flag.long == name);
        if let Some(field) = field.filter(|field| field.pointer.starts_with(PUBLISH)) {
            input.options.push(option_value(field, value.unwrap_or_default())?);
        }
    }
    let task = Task::load(&input).map_err(|problems| {
        problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
    })?;
    Ok(task.contract.publish)
}

/// Returns the file or the goal that the argument stands for.
fn source(word: &str, directory: &Path) -> Result<TaskSource, String> {
    if word == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| format!("cannot read the task from stdin: {error}"))?;
        let (name, directory) = ("stdin".to_owned(), directory.to_owned());
        return Ok(TaskSource::File { name, text, directory });
    }
    let lower = word.to_ascii_lowercase();
    let has_extension = [".yaml", ".yml", ".json"].iter().any(|end| lower.ends_with(end));
    let is_name = has_extension && !word.contains('\n');
    let path = directory.join(word);
    let is_path = word.contains('/') && !word.contains(char::is_whitespace) && path.is_file();
    if !is_name && !is_path {
        return Ok(TaskSource::Goal(word.to_owned()));
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read the task file {word}: {error}"))?;
    let directory = path.parent().map_or_else(|| directory.to_owned(), PathBuf::from);
    Ok(TaskSource::File { name: word.to_owned(), text, directory })
}

fn pair<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), String> {
    text.split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| format!("--{option}: \"{text}\" has no equals sign; expected NAME=VALUE"))
}

pub(super) fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Returns a number, or the text if it is none: the check of the task names the mistake.
pub(super) fn number_or_text(text: &str) -> Value {
    let number = text.trim_start_matches('$');
    match serde_json::from_str(number) {
        Ok(Value::Number(number)) => Value::Number(number),
        _ => text.into(),
    }
}

fn option_value(field: &Field, text: &str) -> Result<OptionValue, String> {
    let option = format!("--{}", field.flag.long);
    let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
    if field.kind == Kind::Entry {
        let (name, number) = pair(field.flag.long, text)?;
        let pointer = format!("{}/{}", field.pointer, name.replace('~', "~0").replace('/', "~1"));
        return Ok(OptionValue::new(option, pointer, number_or_text(number)));
    }
    let value = match field.kind {
        Kind::Text | Kind::Entry => text.into(),
        Kind::Number => number_or_text(text),
        Kind::Switch => true.into(),
        Kind::List => items().collect(),
        Kind::Json => serde_json::from_str(text)
            .map_err(|error| format!("{option}: invalid JSON: {error}"))?,
        Kind::Network => match text {
            "on" => json!(["*"]),
            "off" => json!(["off"]),
            _ => items().collect(),
        },
    };
    Ok(OptionValue::new(option, field.pointer, value))
}
