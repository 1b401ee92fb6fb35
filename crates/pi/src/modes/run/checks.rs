//! The checks that the options of `pi run` describe.

use pi_converge::OptionValue;
use serde_json::{Map, Value, json};

use super::task::{json_or_text, number_or_text};

/// The checks of a command line.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// Checks with the options that they come from.
    items: Vec<(&'static str, Value)>,
    files: Map<String, Value>,
    files_option: Option<&'static str>,
    assertions: Vec<Value>,
    must: Vec<Value>,
    reviewer: Option<String>,
}

impl Checks {
    /// Adds an option.
    pub(super) fn add(&mut self, option: &'static str, text: &str) -> Result<(), String> {
        match option {
            "check" => self.items.push(("--check", json!({ "command": text }))),
            "expect-exit" => self.expect(option, "exit", number_or_text(text))?,
            "expect-output" => self.expect(option, "output_matches", text.into())?,
            "reject-output" => self.expect(option, "output_lacks", text.into())?,
            "check-timeout" => self.command(option)?["timeout"] = text.into(),
            "protect" => self.glob("--protect", "protected", text),
            "forbid" => self.glob("--forbid", "forbidden", text),
            "require" => self.glob("--require", "required", text),
            "allow" => self.glob("--allow", "allowed", text),
            "exist" => self.glob("--exist", "exist", text),
            "max-diff-lines" => self.maximum("--max-diff-lines", "max_diff_lines", text),
            "max-files" => self.maximum("--max-files", "max_files", text),
            "assert" => {
                let (pointer, value) = text
                    .split_once('=')
                    .ok_or_else(|| format!("--assert: \"{text}\" has no equals sign"))?;
                self.assertions.push(json!({ "pointer": pointer, "equals": json_or_text(value) }));
            }
            "review" => self.items.push(("--review", json!({ "review": { "rubric": text } }))),
            "must" => self.must.push(text.into()),
            "reviewer" => self.reviewer = Some(text.to_owned()),
            other => return Err(format!("--{other} is not an option of a task")),
        }
        Ok(())
    }

    /// Returns the last command.
    fn command(&mut self, option: &str) -> Result<&mut Value, String> {
        match self.items.last_mut() {
            Some(("--check", check)) => Ok(check),
            _ => Err(format!("--{option} changes the --check before it; there is none")),
        }
    }

    fn expect(&mut self, option: &str, name: &str, value: Value) -> Result<(), String> {
        self.command(option)?["expect"][name] = value;
        Ok(())
    }

    fn glob(&mut self, option: &'static str, list: &str, glob: &str) {
        self.files_option = Some(option);
        if let Value::Array(globs) = self.files.entry(list).or_insert_with(|| json!([])) {
            globs.push(glob.into());
        }
    }

    fn maximum(&mut self, option: &'static str, name: &str, text: &str) {
        self.files_option = Some(option);
        self.files.insert(name.to_owned(), number_or_text(text));
    }

    /// Returns the checks as values of options.
    pub(super) fn into_options(self) -> Result<Vec<OptionValue>, String> {
        let Self { mut items, files, files_option, assertions, must, reviewer } = self;
        if let Some(option) = files_option {
            items.push((option, json!({ "files": files })));
        }
        if !assertions.is_empty() {
            items.push(("--assert", json!({ "json": assertions })));
        }
        if !must.is_empty() {
            items.push(("--must", json!({ "review": { "must": must } })));
        }
        if reviewer.is_some() && !items.iter().any(|(_, check)| check.get("review").is_some()) {
            return Err("--reviewer needs --review or --must; for a review of the task file use \
                        --set verify[N].review.model=MODEL"
                .to_owned());
        }
        let mut options = Vec::new();
        for (option, mut check) in items {
            if let (Some(model), Some(review)) = (&reviewer, check.get_mut("review")) {
                review["model"] = model.as_str().into();
            }
            options.push(OptionValue::new(option, "/verify/-", check));
        }
        Ok(options)
    }
}
