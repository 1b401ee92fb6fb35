//! Loading a task: the file or the goal, the options over it, parameters, and the checks that need
//! no agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pi_schema::child_pointer;
use serde_json::{Value, json};

use super::document::{Document, Problem};
use super::origin::{Origin, Origins};
use super::parameters::{self, Bases};
use super::{fields, goose, shape, template, validate};
use crate::contract::{Contract, Parameter, ReportPlan};

/// The parts of a task as a user gives them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskInput {
    /// The task file or the goal.
    pub source: TaskSource,
    /// Values of options, in their order. They come after those of the file.
    pub options: Vec<OptionValue>,
    /// Values of parameters.
    pub parameters: Vec<(String, String)>,
    /// The working directory.
    pub directory: PathBuf,
}

/// The main part of a task.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum TaskSource {
    /// A task file or a recipe.
    File {
        /// Name of the file, for messages.
        name: String,
        /// Content of the file.
        text: String,
        /// The directory that its paths are relative to.
        directory: PathBuf,
    },
    /// The goal itself.
    Goal(String),
}

/// A value that an option sets.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OptionValue {
    /// The option, such as `--max-turns`.
    pub option: String,
    /// JSON pointer of the field. A last part `-` adds to a list.
    pub pointer: String,
    /// The value.
    pub value: Value,
}

impl OptionValue {
    /// Creates a value of an option.
    pub fn new(option: impl Into<String>, pointer: impl Into<String>, value: Value) -> Self {
        Self { option: option.into(), pointer: pointer.into(), value }
    }
}

impl TaskInput {
    /// Creates the input for a task without options.
    pub fn new(source: TaskSource, directory: impl Into<PathBuf>) -> Self {
        Self { source, options: Vec::new(), parameters: Vec::new(), directory: directory.into() }
    }
}

/// A task that can be run, and the origin of its values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Task {
    /// The contract, with parameters filled in and absolute paths.
    pub contract: Contract,
    /// The origins of the values that were given.
    origins: Origins,
    /// Parts of the file that have no effect here.
    pub notes: Vec<String>,
    /// The values that were given, without defaults.
    given: Value,
}

impl Task {
    /// Loads a task. Reports all problems that can be found without starting an agent.
    pub fn load(input: &TaskInput) -> Result<Self, Vec<Problem>> {
        let mut parts = Parts::read(&input.source)?;
        for option in &input.options {
            parts.apply(option, &input.directory);
        }
        let mistakes = shape::check::<Contract>(&mut parts.value);
        if !mistakes.is_empty() {
            let problem =
                |mistake: shape::Mistake| parts.problem(&mistake.pointer, mistake.message);
            return Err(mistakes.into_iter().map(problem).collect());
        }
        // The goal of a command line is literal, unless it comes with parameters.
        if matches!(input.source, TaskSource::File { .. }) || !input.parameters.is_empty() {
            parts.fill_in(input)?;
        }
        parts.include_files()?;
        parts.include_schema()?;
        let Parts { value, origins, notes, .. } = parts;
        let contract: Contract = serde_json::from_value(value.clone())
            .map_err(|error| vec![origins.problem("", error.to_string())])?;
        let problems: Vec<Problem> = validate::mistakes(&contract)
            .into_iter()
            .map(|(pointer, message)| origins.problem(&pointer, message))
            .collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self { contract, origins, notes, given: value })
    }

    /// Returns the reports that a task asks for, also if the rest of it is invalid.
    pub fn reports(input: &TaskInput) -> ReportPlan {
        let goal = TaskSource::Goal(String::new());
        let Ok(mut parts) = Parts::read(&input.source).or_else(|_| Parts::read(&goal)) else {
            return ReportPlan::default();
        };
        let reports = input.options.iter().filter(|one| one.pointer.starts_with("/reports/"));
        reports.for_each(|option| parts.apply(option, &input.directory));
        let plan = parts.value.get("reports").cloned().unwrap_or_default();
        serde_json::from_value(plan).unwrap_or_default()
    }

    /// Returns the origin of a value of the contract.
    pub fn origin(&self, pointer: &str) -> &Origin {
        match self.given.pointer(pointer) {
            Some(_) => self.origins.of(pointer),
            None => &Origin::Default,
        }
    }
}

/// A task before it is a contract.
struct Parts {
    value: Value,
    origins: Origins,
    notes: Vec<String>,
    /// The directory that paths of the file are relative to.
    directory: PathBuf,
    /// Name of the file; empty for a goal.
    name: String,
}

impl Parts {
    fn read(source: &TaskSource) -> Result<Self, Vec<Problem>> {
        let (name, text, directory) = match source {
            TaskSource::Goal(goal) => {
                let mut origins = Origins::default();
                origins.set("/goal", Origin::Option("command line".to_owned()));
                let value = json!({ "goal": goal });
                let (directory, name) = (PathBuf::new(), String::new());
                return Ok(Self { value, origins, notes: Vec::new(), directory, name });
            }
            TaskSource::File { name, text, directory } => (name, text, directory),
        };
        let document = Document::parse(name, text).map_err(|problem| vec![problem])?;
        let (mut value, origins, notes) = if goose::is_recipe(&document.value) {
            let mapped = goose::map(&document, directory)?;
            (mapped.value, mapped.origins, mapped.notes)
        } else {
            let mut origins = Origins::default();
            origins.add_document(&document);
            (document.value, origins, Vec::new())
        };
        make_absolute(&mut value, "", directory);
        Ok(Self { value, origins, notes, directory: directory.clone(), name: name.clone() })
    }

    /// Returns a problem; one with a missing value belongs to the file.
    fn problem(&self, pointer: &str, message: impl Into<String>) -> Problem {
        let mut problem = self.origins.problem(pointer, message);
        if problem.file.is_empty() && *self.origins.of(pointer) == Origin::Default {
            problem.file.clone_from(&self.name);
        }
        problem
    }

    /// Sets a field to the value of an option. A container of the wrong type stays as it is: the
    /// comparison with the schema reports it.
    fn apply(&mut self, option: &OptionValue, directory: &Path) {
        let mut value = option.value.clone();
        make_absolute(&mut value, option.pointer.trim_end_matches("/-"), directory);
        if let Some((list, "-")) = option.pointer.rsplit_once('/') {
            make_absolute(&mut value, &child_pointer(list, "0"), directory);
        }
        let mut target = &mut self.value;
        let mut pointer = String::new();
        let mut parts = option.pointer.split('/').skip(1).peekable();
        while let Some(part) = parts.next() {
            let next = if parts.peek() == Some(&"-") { json!([]) } else { json!({}) };
            target = match target {
                Value::Object(map) => {
                    pointer = child_pointer(&pointer, part);
                    let member = map.entry(part).or_insert(Value::Null);
                    if member.is_null() {
                        *member = next;
                        self.origins.set(&pointer, Origin::Option(option.option.clone()));
                    }
                    member
                }
                Value::Array(items) => {
                    let index = match part {
                        "-" => items.len(),
                        part => part.parse().unwrap_or(usize::MAX).min(items.len()),
                    };
                    if index == items.len() {
                        items.push(if parts.peek().is_some() { json!({}) } else { Value::Null });
                    }
                    pointer = child_pointer(&pointer, &index.to_string());
                    let Some(item) = items.get_mut(index) else { return };
                    item
                }
                _ => return,
            };
        }
        *target = value;
        self.origins.set(&pointer, Origin::Option(option.option.clone()));
    }

    /// Fills in the parameters.
    fn fill_in(&mut self, input: &TaskInput) -> Result<(), Vec<Problem>> {
        let declared = self.value.pointer("/inputs/parameters").cloned();
        let mut declared: BTreeMap<String, Parameter> = declared
            .map(serde_json::from_value)
            .transpose()
            .map_err(|error| vec![self.problem("/inputs/parameters", error.to_string())])?
            .unwrap_or_default();
        if matches!(input.source, TaskSource::Goal(_)) {
            // Without a file there is no declaration.
            for (name, _) in &input.parameters {
                declared.entry(name.clone()).or_default();
            }
        }
        let bases = Bases { file: &self.directory, working: &input.directory };
        let texts = parameters::resolve(&mut declared, &input.parameters, &bases, &self.origins)?;
        if !declared.is_empty()
            && let Value::Object(task) = &mut self.value
            && let Value::Object(inputs) = task.entry("inputs").or_insert_with(|| json!({}))
        {
            let values = serde_json::to_value(&declared).unwrap_or_default();
            inputs.insert("parameters".to_owned(), values);
        }
        let mut problems = Vec::new();
        let origins = &self.origins;
        fields::visit_texts(&mut self.value, "", &mut |pointer, text| {
            let Some(language) = fields::language(pointer) else { return };
            match template::expand(text, language, &texts) {
                Ok(expanded) => *text = expanded,
                Err(message) => problems.push(origins.problem(pointer, message)),
            }
        });
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Adds the content of the input files, so that the contract needs no other file.
    fn include_files(&mut self) -> Result<(), Vec<Problem>> {
        let Some(Value::Object(inputs)) = self.value.get_mut("inputs") else { return Ok(()) };
        let files = inputs.get("files").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut problems = Vec::new();
        for (index, path) in files.iter().filter_map(Value::as_str).enumerate() {
            let texts = inputs.entry("texts").or_insert_with(|| json!({}));
            match std::fs::read_to_string(path) {
                Ok(text) => texts[path] = text.into(),
                Err(error) => problems.push(self.origins.problem(
                    &format!("/inputs/files/{index}"),
                    format!("cannot read {path}: {error}"),
                )),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Replaces the path of a schema by the schema, so that the contract needs no other file.
    fn include_schema(&mut self) -> Result<(), Vec<Problem>> {
        let Some(Value::String(path)) = self.value.pointer("/output/schema").cloned() else {
            return Ok(());
        };
        let text = std::fs::read_to_string(&path).map_err(|error| {
            vec![self.origins.problem("/output/schema", format!("cannot read {path}: {error}"))]
        })?;
        let document = Document::parse(&path, &text).map_err(|problem| vec![problem])?;
        if let Some(schema) = self.value.pointer_mut("/output/schema") {
            *schema = document.value;
        }
        Ok(())
    }
}

fn make_absolute(value: &mut Value, pointer: &str, directory: &Path) {
    fields::visit_texts(value, pointer, &mut |pointer, text| {
        if fields::is_path(pointer, text) {
            *text = directory.join(&*text).to_string_lossy().into_owned();
        }
    });
}
