//! The system prompt, as named sections.
//!
//! Each section can be replaced on its own later in a conversation, which keeps everything before
//! it in the provider's cache; so each but the first is wrapped in a tag of its name, by which the
//! model knows what an update replaces. The names and their order are shared with other programs
//! that read our sessions; the words are ours.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use super::{ContextFile, Skill};

/// What the model should know about an active tool beyond its declaration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPrompt {
    /// The tool.
    pub name: String,
    /// What it does in one line. Without one it is not listed.
    pub snippet: Option<String>,
    /// Rules for its use.
    pub guidelines: Vec<String>,
}

/// A section that is not one of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    name: String,
    text: String,
}

/// A name that cannot be a section's.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{0}` cannot be the name of a prompt section; use a-z, then a-z, 0-9, `-` or `_`, \
     and not `preamble`"
)]
pub struct SectionNameError(String);

impl Section {
    /// A section with a name that works as a tag.
    ///
    /// # Errors
    ///
    /// When the name does not.
    pub fn new(name: &str, text: &str) -> Result<Self, SectionNameError> {
        let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
        let inner =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        if !starts || !name.chars().all(inner) || name == "preamble" {
            return Err(SectionNameError(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), text: text.to_owned() })
    }

    /// Returns the name of the section.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text of the section.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// What the prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct PromptInput<'a> {
    /// Replaces who the model is and how it should work. An empty one does not count.
    pub custom_prompt: Option<&'a str>,
    /// The tools that are active and declared, in order.
    pub tools: &'a [ToolPrompt],
    /// More rules.
    pub guidelines: &'a [String],
    /// The user's additions.
    pub append: &'a [String],
    /// Instructions of the user and the project.
    pub context_files: &'a [ContextFile],
    /// Skills; those that are hidden from the model are left out here.
    pub skills: &'a [Skill],
    /// The working directory.
    pub cwd: &'a Path,
    /// More sections; one with the name of ours replaces it.
    pub sections: &'a [Section],
}

const PREAMBLE: &str = "You are pi, a coding agent. You work on the user's machine through tools: \
    you read code, run commands, change files and check the result.";

const RULES: [&str; 5] = [
    "Read the code before you change it, follow its conventions, and change only what the task needs.",
    "Check your work with the project's own tests or build where you can; say what you did not check.",
    "Never guess at the content of a file or the outcome of a command: look. If you are unsure or \
     something failed, say so.",
    "Do not delete or overwrite work that you did not make unless the user asks for it.",
    "Answer briefly, and name files by their paths.",
];

/// The sections, in order.
pub fn build(input: &PromptInput<'_>) -> Map<String, Value> {
    let mut prompt = Map::new();
    let custom = input.custom_prompt.filter(|text| !text.trim().is_empty());
    prompt.insert("preamble".to_owned(), custom.unwrap_or(PREAMBLE).trim_end().into());
    let mut add = |name: &str, text: String| {
        let text = text.trim_end();
        if !text.is_empty() {
            prompt.insert(name.to_owned(), format!("<{name}>\n{text}\n</{name}>").into());
        }
    };
    if custom.is_none() {
        add("tools", tools(input.tools));
        add("rules", rules(input));
        if let Some(shell) = shell(input.tools) {
            add("docs", docs(shell));
        }
    }
    add("addendum", input.append.join("\n\n"));
    add("project_context", project_context(input.context_files));
    if let Some(reader) = reader(input.tools) {
        add("skills", skills(input.skills, reader));
    }
    add("cwd", input.cwd.display().to_string().replace(std::path::MAIN_SEPARATOR, "/"));
    for section in input.sections {
        add(&section.name, section.text.clone());
    }
    prompt
}

/// What a later system message must say so that a model that has `old` has `new`: changed
/// sections, and `null` for those that are gone. `None` when nothing changed.
pub fn diff(old: &Map<String, Value>, new: &Map<String, Value>) -> Option<Map<String, Value>> {
    let changed = new.iter().filter(|(name, text)| old.get(*name) != Some(*text));
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let patch: Map<String, Value> = changed
        .map(|(name, text)| (name.clone(), text.clone()))
        .chain(gone.map(|name| (name.clone(), Value::Null)))
        .collect();
    (!patch.is_empty()).then_some(patch)
}

fn tools(tools: &[ToolPrompt]) -> String {
    let mut text = String::new();
    for tool in tools {
        if let Some(snippet) = &tool.snippet {
            let _ = writeln!(text, "- {}: {snippet}", tool.name);
        }
    }
    if text.is_empty() {
        text.push_str("(none)\n");
    }
    text.push_str("\nThere may be tools beyond this list; their declarations describe them.");
    text
}

fn rules(input: &PromptInput<'_>) -> String {
    let has = |name: &str| input.tools.iter().any(|tool| tool.name == name);
    let searching = ["grep", "find", "ls"].into_iter().any(has);
    let by_shell = shell(input.tools)
        .filter(|_| !searching)
        .map(|shell| format!("List and search files with {shell}; `rg` is the fast way."));
    let of_tools = input.tools.iter().flat_map(|tool| &tool.guidelines);
    let mut seen = Vec::new();
    let mut text = String::new();
    for rule in by_shell
        .iter()
        .chain(of_tools)
        .chain(input.guidelines)
        .map(|rule| rule.trim())
        .chain(RULES)
        .filter(|rule| !rule.is_empty())
    {
        if !seen.contains(&rule) {
            seen.push(rule);
            let _ = writeln!(text, "- {rule}");
        }
    }
    text
}

fn docs(shell: &str) -> String {
    format!(
        "When the user asks about pi itself, run `pi --help` with {shell}: it lists commands, \
         options and where settings are. Do not answer from memory."
    )
}

fn project_context(files: &[ContextFile]) -> String {
    let mut text = String::new();
    for file in files.iter().filter(|file| !file.content.trim().is_empty()) {
        let path = escape(&file.path.display().to_string());
        let content = file.content.trim_end();
        let _ = write!(
            text,
            "\n\n<project_instructions path=\"{path}\">\n{content}\n</project_instructions>"
        );
    }
    if !text.is_empty() {
        let intro = "Instructions of the user and the project, the most general first. Follow \
                     them; where they disagree, the later one counts.";
        text.insert_str(0, intro);
    }
    text
}

fn skills(skills: &[Skill], reader: &str) -> String {
    let mut list = String::new();
    for skill in skills.iter().filter(|skill| !skill.disable_model_invocation) {
        let location = skill.path.display().to_string();
        let fields =
            [("name", &skill.name), ("description", &skill.description), ("location", &location)];
        list.push_str("  <skill>\n");
        for (tag, value) in fields {
            let _ = writeln!(list, "    <{tag}>{}</{tag}>", escape(value));
        }
        list.push_str("  </skill>\n");
    }
    if list.is_empty() {
        return list;
    }
    format!(
        "Skills are instructions for particular kinds of work. When a task fits a description, \
         read the file at its location with {reader} before you start, and follow it.\n\
         Paths in a skill are relative to the directory of its file; make them absolute in tool \
         calls.\n\n<available_skills>\n{list}</available_skills>"
    )
}

/// The active tool that runs commands.
fn shell(tools: &[ToolPrompt]) -> Option<&str> {
    named(tools, &["bash", "powershell"])
}

/// The active tool that can read a skill's file.
fn reader(tools: &[ToolPrompt]) -> Option<&str> {
    named(tools, &["read", "bash", "powershell"])
}

/// The first of some tools that is active.
fn named<'n>(tools: &[ToolPrompt], names: &[&'n str]) -> Option<&'n str> {
    names.iter().copied().find(|name| tools.iter().any(|tool| tool.name == *name))
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            c => escaped.push(c),
        }
    }
    escaped
}
