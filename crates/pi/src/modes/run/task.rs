//! From the command line of `pi run` to a task.

use std::path::{Path, PathBuf};

use pi_converge::{OptionValue, Problem, PublishPlan, ReportPlan, Task, TaskInput, TaskSource};
use serde_json::{Value, json};

use super::checks::Checks;
use crate::flags::parse::CommandArgs;
use crate::flags::run::{AGENT, FIELDS, Field, Kind};
use crate::modes::input::piped_text;

/// The beginning of the pointers of the options that set the pull request.
const PUBLISH: &str = "/publish/";

/// The options that say nothing about the task.
const OTHERS: &[&str] =
    &["explain", "dry-run", "format", "output-format", "mode", "verbose", "no-stdin"];

/// A task that cannot be loaded.
pub(super) struct Invalid {
    /// Messages for the user.
    pub(super) errors: Vec<String>,
    /// The reports that it asks for all the same, as far as they are known.
    pub(super) reports: Box<ReportPlan>,
}

/// Loads the task that a command line describes. `reads_input` adds the piped input to the task.
pub(super) fn load(
    args: &CommandArgs,
    directory: &Path,
    reads_input: bool,
) -> Result<Task, Invalid> {
    let (source, mut errors) = match args.word(0).map(|word| source(word, directory)) {
        Some(Ok(source)) => (source, Vec::new()),
        Some(Err(error)) => (TaskSource::Goal(String::new()), vec![error]),
        None => {
            let error = "the task is missing: give a task file or a goal".to_owned();
            (TaskSource::Goal(String::new()), vec![error])
        }
    };
    let mut input = TaskInput::new(source, directory);
    let has_source = errors.is_empty();
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
            name if OTHERS.contains(&name) => Ok(()),
            name if AGENT.iter().any(|flag| flag.long == name) => Ok(()),
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
    let is_task_on_stdin = args.word(0) == Some("-");
    if reads_input && !is_task_on_stdin && !args.has("no-stdin") && errors.is_empty() {
        match piped_text() {
            Ok(Some(text)) => {
                let pointer = "/inputs/texts/stdin";
                input.options.push(OptionValue::new("standard input", pointer, text.into()));
            }
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
    }
    let loaded = match errors.is_empty() {
        true => {
            Task::load(&input).map_err(|problems| problems.iter().map(Problem::to_string).collect())
        }
        // Without a source, the mistakes in the options would follow from it.
        false if !has_source => Err(errors.into_iter().take(1).collect()),
        false => Err(errors),
    };
    loaded.map_err(|errors| Invalid { errors, reports: Box::new(Task::reports(&input)) })
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
        let text = piped_text()?.ok_or("the task is missing: stdin is empty")?;
        if !is_task_file(&text) {
            return Ok(TaskSource::Goal(text));
        }
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

/// Returns true if a text begins as a task file does: with a brace, or with a word and a colon.
fn is_task_file(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let is_content = |line: &&str| {
        !line.is_empty() && !line.starts_with('#') && !line.starts_with('%') && *line != "---"
    };
    let Some(first) = lines.find(is_content) else { return false };
    if first.starts_with('{') {
        return true;
    }
    let Some((key, value)) = first.split_once(':') else { return false };
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !key.is_empty() && key.chars().all(is_word) && (value.is_empty() || value.starts_with(' '))
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
