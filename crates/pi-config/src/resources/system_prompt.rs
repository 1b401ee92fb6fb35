//! The system prompt, as named sections.
//!
//! A section can be replaced later in a session, which keeps everything before it in the
//! provider's cache. Each section but the first is wrapped in a tag with its name, so that the
//! model knows what an update replaces. The names and their order are part of the session format
//! and shared with other programs; the text is not.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{ContextFile, Skill, SystemPromptOptions};

/// The prompt text of an active tool, in addition to its declaration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPrompt {
    /// Name of the tool.
    pub name: String,
    /// Description in one line. A tool without one is not listed.
    pub snippet: Option<String>,
    /// Rules for the use of the tool.
    pub guidelines: Vec<String>,
}

/// An additional section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    name: String,
    text: String,
}

/// An invalid name of a section.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "invalid name of a prompt section: `{0}`; use a-z, then a-z, 0-9, `-` or `_`, \
     and not `preamble`"
)]
pub struct SectionNameError(String);

impl Section {
    /// Creates a section.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be used as a tag.
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

const PREAMBLE: &str = "You are pi, a coding agent. You work on the user's machine with tools: \
    you read code, run commands, edit files and verify the result.";

const RULES: [&str; 5] = [
    "Read code before you change it. Follow its conventions, and change only what the task requires.",
    "Verify your work with the project's tests or build where possible. Say what you did not verify.",
    "Do not guess the content of a file or the result of a command: look. If you are unsure or \
     something failed, say so.",
    "Do not delete or overwrite work that is not yours unless the user asks for it.",
    "Be concise. Refer to files by their paths.",
];

/// Builds the sections, in order.
pub(super) fn build(input: &SystemPromptOptions) -> Map<String, Value> {
    let mut prompt = Map::new();
    let custom = input.custom_prompt.as_deref().filter(|text| !text.trim().is_empty());
    prompt.insert("preamble".to_owned(), custom.unwrap_or(PREAMBLE).trim_end().into());
    let mut add = |name: &str, text: String| {
        let text = text.trim_end();
        if !text.is_empty() {
            prompt.insert(name.to_owned(), format!("<{name}>\n{text}\n</{name}>").into());
        }
    };
    if custom.is_none() {
        add("tools", tools(&input.tools));
        add("rules", rules(input));
        if let Some(shell) = shell(&input.tools) {
            add("docs", docs(shell));
        }
    }
    add("addendum", input.append.join("\n\n"));
    add("project_context", project_context(&input.context_files));
    if let Some(reader) = reader(&input.tools) {
        add("skills", skills(&input.skills, reader));
    }
    add("cwd", input.cwd.display().to_string().replace(std::path::MAIN_SEPARATOR, "/"));
    for section in &input.sections {
        add(&section.name, section.text.clone());
    }
    prompt
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
    text.push_str("\nOther tools may be available; their declarations describe them.");
    text
}

fn rules(input: &SystemPromptOptions) -> String {
    let has = |name: &str| input.tools.iter().any(|tool| tool.name == name);
    let searching = ["grep", "find", "ls"].into_iter().any(has);
    let by_shell = match shell(&input.tools) {
        Some(shell) if !searching => Some(format!(
            "List and search files with {shell}. Search with `rg` if it is installed."
        )),
        _ => None,
    };
    let of_tools = input.tools.iter().flat_map(|tool| &tool.guidelines);
    let mut seen = Vec::new();
    let mut text = String::new();
    for rule in by_shell
        .iter()
        .chain(of_tools)
        .chain(&input.guidelines)
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
        "When the user asks about pi itself, run `pi help` with {shell}. It lists commands, options \
         and topics; `pi help TOPIC` shows the documentation. Do not answer from memory."
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
        let intro = "Instructions from the user and the project, from general to specific. Follow \
                     them. If two of them conflict, the later one takes precedence.";
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
        "Skills are instructions for specific kinds of tasks. When a task matches a description, \
         read the file at its location with {reader} before you start, and follow it.\n\
         Paths in a skill are relative to the directory of its file. Use absolute paths in tool \
         calls.\n\n<available_skills>\n{list}</available_skills>"
    )
}

/// Returns the active tool that runs commands.
fn shell(tools: &[ToolPrompt]) -> Option<&str> {
    named(tools, &["bash", "powershell"])
}

/// Returns the active tool that can read the file of a skill.
fn reader(tools: &[ToolPrompt]) -> Option<&str> {
    named(tools, &["read", "bash", "powershell"])
}

/// Returns the first of `names` that is active.
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
