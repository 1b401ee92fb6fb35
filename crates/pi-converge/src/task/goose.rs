//! Recipes of goose, read as tasks.
//!
//! Fields without a counterpart are named in the notes, and constructs that would change the meaning
//! are problems.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::document::{Document, Problem};
use super::origin::Origins;

/// A recipe as a task.
pub(super) struct Mapped {
    pub(super) value: Value,
    pub(super) origins: Origins,
    pub(super) notes: Vec<String>,
}

/// Fields of a recipe.
const FIELDS: &[&str] = &[
    "version",
    "title",
    "description",
    "prompt",
    "instructions",
    "parameters",
    "response",
    "retry",
    "settings",
    "extensions",
    "sub_recipes",
    "activities",
    "author",
];

/// Returns true if a value has the fields of a recipe: a title, and instructions or a prompt.
pub(super) fn is_recipe(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    has("title") && (has("instructions") || has("prompt")) && !has("goal")
}

/// Returns the task that a recipe describes.
pub(super) fn map(document: &Document, directory: &Path) -> Result<Mapped, Vec<Problem>> {
    let mut recipe = Recipe {
        document,
        directory,
        task: Map::new(),
        origins: Origins::default(),
        notes: Vec::new(),
        problems: Vec::new(),
    };
    recipe.check_fields();
    recipe.map_goal();
    recipe.map_parameters();
    recipe.map_result();
    recipe.map_retry();
    recipe.map_settings();
    recipe.map_parts();
    let Recipe { task, origins, notes, problems, .. } = recipe;
    if problems.is_empty() {
        Ok(Mapped { value: Value::Object(task), origins, notes })
    } else {
        Err(problems)
    }
}

struct Recipe<'a> {
    document: &'a Document,
    directory: &'a Path,
    task: Map<String, Value>,
    origins: Origins,
    notes: Vec<String>,
    problems: Vec<Problem>,
}

impl Recipe<'_> {
    fn get(&self, pointer: &str) -> Option<&Value> {
        self.document.value.pointer(pointer).filter(|value| !value.is_null())
    }

    fn text(&mut self, pointer: &str) -> Option<String> {
        match self.get(pointer)? {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.problem(pointer, "expected a text");
                None
            }
        }
    }

    fn list(&mut self, pointer: &str) -> Vec<Value> {
        match self.get(pointer) {
            None => Vec::new(),
            Some(Value::Array(items)) => items.clone(),
            Some(_) => {
                self.problem(pointer, "expected a list");
                Vec::new()
            }
        }
    }

    fn problem(&mut self, pointer: &str, message: impl Into<String>) {
        self.problems.push(self.document.problem(pointer, message));
    }

    /// Sets a field of a group of the task, or of the task itself.
    fn set(&mut self, group: &str, name: &str, value: Value, from: &str) {
        let target = if group.is_empty() {
            &mut self.task
        } else {
            match self.task.entry(group).or_insert_with(|| json!({})) {
                Value::Object(map) => map,
                _ => return,
            }
        };
        target.insert(name.to_owned(), value);
        let pointer =
            if group.is_empty() { format!("/{name}") } else { format!("/{group}/{name}") };
        self.origins.set_place(&pointer, self.document, from);
    }

    fn check_fields(&mut self) {
        let names: Vec<String> = match &self.document.value {
            Value::Object(map) => map.keys().cloned().collect(),
            _ => Vec::new(),
        };
        for name in names.iter().filter(|name| !FIELDS.contains(&name.as_str())) {
            let near = pi_config::suggest::nearest(name, FIELDS.iter().copied());
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.problem(&format!("/{name}"), format!("unknown field of a recipe{hint}"));
        }
        let unused: Vec<&str> = ["activities", "author"]
            .into_iter()
            .filter(|name| self.get(&format!("/{name}")).is_some())
            .collect();
        if !unused.is_empty() {
            self.notes.push(format!("recipe fields without effect: {}", unused.join(", ")));
        }
    }

    fn map_goal(&mut self) {
        if let Some(title) = self.text("/title") {
            self.set("", "name", title.into(), "/title");
        }
        if let Some(description) = self.text("/description") {
            self.set("", "description", description.into(), "/description");
        }
        let instructions = self.text("/instructions");
        let prompt = self.text("/prompt");
        let from = if instructions.is_some() { "/instructions" } else { "/prompt" };
        let parts: Vec<String> = [instructions, prompt].into_iter().flatten().collect();
        let goal = parts.iter().map(|part| part.trim_end()).collect::<Vec<_>>().join("\n\n");
        for block in ["{%", "{#"] {
            if goal.contains(block) {
                let message =
                    format!("template blocks ({block} …) are not supported; only {{{{ key }}}} is");
                self.problem(from, message);
            }
        }
        // The only variable that goose defines itself.
        let directory = self.directory.to_string_lossy().into_owned();
        let goal =
            goal.replace("{{ recipe_dir }}", &directory).replace("{{recipe_dir}}", &directory);
        self.set("", "goal", goal.into(), from);
    }

    fn map_parameters(&mut self) {
        let mut parameters = Map::new();
        for (index, parameter) in self.list("/parameters").iter().enumerate() {
            let pointer = format!("/parameters/{index}");
            let text = |name: &str| parameter.get(name).and_then(Value::as_str);
            let Some(key) = text("key").map(str::to_owned) else {
                self.problem(&pointer, "the field `key` is required");
                continue;
            };
            let input = text("input_type").unwrap_or("string");
            let kind = match input {
                "string" | "number" | "boolean" | "date" | "file" => input,
                "select" => "string",
                other => {
                    let message = format!("unknown input type `{other}`");
                    self.problem(&format!("{pointer}/input_type"), message);
                    continue;
                }
            };
            let mut mapped = json!({ "type": kind });
            for name in ["description", "options"] {
                if let Some(value) = parameter.get(name).filter(|value| !value.is_null()) {
                    mapped[name] = value.clone();
                }
            }
            match (parameter.get("default"), text("requirement")) {
                (Some(default), _) if !default.is_null() => {
                    mapped["default"] = typed(kind, default);
                }
                (_, Some("optional")) => {
                    self.problem(&pointer, "an optional parameter needs a default");
                }
                _ => {}
            }
            self.origins.set_place(&format!("/inputs/parameters/{key}"), self.document, &pointer);
            parameters.insert(key, mapped);
        }
        if !parameters.is_empty() {
            self.task.insert("inputs".to_owned(), json!({ "parameters": parameters }));
        }
    }

    fn map_result(&mut self) {
        if let Some(schema) = self.get("/response/json_schema").cloned() {
            self.set("output", "schema", schema, "/response/json_schema");
        }
    }

    fn map_retry(&mut self) {
        if self.get("/retry").is_none() {
            return;
        }
        let timeout = self.get("/retry/timeout_seconds").cloned();
        let mut checks = Vec::new();
        for (index, check) in self.list("/retry/checks").iter().enumerate() {
            let pointer = format!("/retry/checks/{index}");
            let kind = check.get("type").and_then(Value::as_str);
            let Some(command) = check.get("command").filter(|_| kind == Some("shell")) else {
                self.problem(&pointer, "expected a check of the type shell, with a command");
                continue;
            };
            let mut mapped = json!({ "command": command });
            if let Some(timeout) = &timeout {
                mapped["timeout"] = timeout.clone();
            }
            let to = format!("/verify/{}", checks.len());
            self.origins.set_place(&to, self.document, &pointer);
            checks.push(mapped);
        }
        self.task.insert("verify".to_owned(), checks.into());
        let retries = self.get("/retry/max_retries").cloned();
        let restores = self.get("/retry/on_failure").is_some();
        let retries = retries.map(|retries| (retries.as_u64(), "/retry/max_retries"));
        match retries {
            Some((Some(count), from)) if restores => {
                self.set("attempts", "count", (count + 1).into(), from);
                self.set("attempts", "rounds", 0.into(), from);
            }
            Some((Some(count), from)) => self.set("attempts", "rounds", count.into(), from),
            Some((None, from)) => self.problem(from, "expected a whole number"),
            None => {}
        }
        if restores {
            self.set("", "on_failure", "rollback".into(), "/retry/on_failure");
            self.notes.push(
                "the command retry.on_failure is not run; pi restores the files itself".to_owned(),
            );
        }
    }

    fn map_settings(&mut self) {
        let provider = self.text("/settings/goose_provider");
        match (provider, self.text("/settings/goose_model")) {
            (Some(provider), Some(model)) => {
                let model = format!("{provider}/{model}");
                self.set("", "model", model.into(), "/settings/goose_model");
            }
            (None, Some(model)) => self.set("", "model", model.into(), "/settings/goose_model"),
            (Some(_), None) => self.problem("/settings/goose_provider", "goose_model is required"),
            (None, None) => {}
        }
        if let Some(turns) = self.get("/settings/max_turns").cloned() {
            self.set("limits", "turns", turns, "/settings/max_turns");
        }
        if self.get("/settings/temperature").is_some() {
            self.notes.push("settings.temperature has no effect".to_owned());
        }
    }

    fn map_parts(&mut self) {
        for extension in self.list("/extensions") {
            let text = |name: &str| extension.get(name).and_then(Value::as_str);
            let name = text("name").unwrap_or("?");
            self.notes.push(match (text("type"), name) {
                (Some("builtin"), "developer") => continue,
                _ => format!("the extension `{name}` is not loaded; pi's own tools are used"),
            });
        }
        for recipe in self.list("/sub_recipes") {
            let name = recipe.get("name").and_then(Value::as_str).unwrap_or("?");
            self.notes.push(format!("the sub-recipe `{name}` is not available to the agent"));
        }
    }
}

/// Defaults of recipes are texts, also those of numbers and switches.
fn typed(kind: &str, value: &Value) -> Value {
    let Some(text) = value.as_str() else {
        // A default such as 5 for a text.
        return if kind == "string" { value.to_string().into() } else { value.clone() };
    };
    match kind {
        "number" => serde_json::from_str::<serde_json::Number>(text)
            .map_or_else(|_| value.clone(), Value::Number),
        "boolean" => text.parse::<bool>().map_or_else(|_| value.clone(), Value::Bool),
        _ => value.clone(),
    }
}
