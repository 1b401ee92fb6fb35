//! One file of a spec, read and checked, before inheritance.

use std::path::{Path, PathBuf};

use pi_base::text::without_mark;
use serde_json::Value;

use super::file::{AgentFile, ToolNames, WrappedFile};
use crate::task::{Document, Problem};

/// Fields of Claude-style agents that have no meaning here; leaving them out changes how an agent
/// is shown or started, but permits nothing.
const CLAUDE_FIELDS: &[&str] = &[
    "color",
    "permissionMode",
    "skills",
    "mcpServers",
    "memory",
    "background",
    "isolation",
    "effort",
];

/// A file of a spec.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) path: PathBuf,
    pub(super) file: AgentFile,
    /// The prompt below the front matter of a Markdown file, with its first line.
    pub(super) body: Option<(String, usize)>,
    pub(super) warnings: Vec<Problem>,
    document: Document,
    /// Pointer of the spec in the document.
    prefix: &'static str,
}

impl Draft {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Vec<Problem>> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            vec![file_problem(&name, format!("the agent spec cannot be read: {error}"))]
        })?;
        Self::parse(path, &text)
    }

    /// Parses the text of a file.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, Vec<Problem>> {
        let name = path.display().to_string();
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        if is_markdown {
            return Self::parse_markdown(path, &name, text);
        }
        let document = Document::parse(&name, text).map_err(|problem| vec![problem])?;
        let is_wrapped = document.value.get("agent").is_some_and(Value::is_object);
        let (file, prefix) = if is_wrapped {
            let wrapped: WrappedFile = document.decode()?;
            let version = wrapped.version.or(wrapped.agent.version);
            (AgentFile { version, ..wrapped.agent }, "/agent")
        } else {
            (document.decode()?, "")
        };
        Self { path: path.to_owned(), file, body: None, warnings: Vec::new(), document, prefix }
            .checked()
    }

    fn parse_markdown(path: &Path, name: &str, text: &str) -> Result<Self, Vec<Problem>> {
        let Some((front, body, first_line)) = split_front_matter(text) else {
            let message = "an agent in Markdown begins with front matter between `---` lines";
            return Err(vec![file_problem(name, message)]);
        };
        // The line of the first `---`, so that lines are those of the file.
        let mut document =
            Document::parse(name, &format!("\n{front}")).map_err(|problem| vec![problem])?;
        let mut warnings = Vec::new();
        if let Value::Object(fields) = &mut document.value {
            if let Some(excluded) = fields.shift_remove("disallowedTools") {
                fields.entry("exclude_tools").or_insert(excluded);
            }
            let ignored: Vec<&str> =
                CLAUDE_FIELDS.iter().copied().filter(|field| fields.contains_key(*field)).collect();
            ignored.iter().for_each(|field| drop(fields.shift_remove(*field)));
            for field in ignored {
                let pointer = format!("/{field}");
                warnings.push(document.problem(&pointer, "this field has no effect here"));
            }
        }
        let file = document.decode()?;
        let skipped = body.len() - body.trim_start().len();
        let first_line = first_line + body.get(..skipped).unwrap_or_default().matches('\n').count();
        let text = body.trim().to_owned();
        let body = if text.is_empty() { None } else { Some((text, first_line)) };
        Self { path: path.to_owned(), file, body, warnings, document, prefix: "" }.checked()
    }

    fn checked(self) -> Result<Self, Vec<Problem>> {
        let file = &self.file;
        let mut problems = Vec::new();
        if file.version.is_some_and(|version| version != 1) {
            problems.push(self.problem("/version", "unsupported version; expected 1"));
        }
        if file.extends.is_some() && file.extend.is_some() {
            problems.push(self.problem("/extend", "use either `extends` or `extend`"));
        }
        let prompts =
            [file.system_prompt.is_some(), file.system_prompt_path.is_some(), self.body.is_some()];
        if prompts.into_iter().filter(|given| *given).count() > 1 {
            let message = "the system prompt is given twice; keep one of `system_prompt`, \
                           `system_prompt_path` and the text below the front matter";
            let pointer = match file.system_prompt_path {
                Some(_) => "/system_prompt_path",
                None => "/system_prompt",
            };
            problems.push(self.problem(pointer, message));
        }
        if problems.is_empty() { Ok(self) } else { Err(problems) }
    }

    /// Returns a problem with a field, by the pointer of the field in the spec.
    pub(super) fn problem(&self, pointer: &str, message: impl Into<String>) -> Problem {
        self.document.problem(&format!("{}{pointer}", self.prefix), message)
    }

    /// Returns a problem with a tool of a list.
    pub(super) fn tool_problem(&self, field: &str, at: Option<usize>, message: &str) -> Problem {
        let index = at.map(|at| format!("/{at}")).unwrap_or_default();
        self.problem(&format!("/{field}{index}"), message)
    }

    /// Returns the name of the base spec, and the field that has it.
    pub(super) fn base(&self) -> Option<(&str, &'static str)> {
        let extends = self.file.extends.as_deref().map(|base| (base, "/extends"));
        extends.or_else(|| self.file.extend.as_deref().map(|base| (base, "/extend")))
    }

    /// Returns the directory of the file.
    pub(super) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Returns the lists of tools by the names of their fields.
    pub(super) fn tools(&self, field: &str) -> Option<&ToolNames> {
        match field {
            "tools" => self.file.tools.as_ref(),
            "allowed_tools" => self.file.allowed_tools.as_ref(),
            _ => self.file.exclude_tools.as_ref(),
        }
    }
}

/// Returns a problem with a whole file.
pub(super) fn file_problem(file: &str, message: impl Into<String>) -> Problem {
    let (file, message) = (file.to_owned(), message.into());
    Problem { file, place: None, field: String::new(), message }
}

/// Splits a text into its front matter and the rest, with the number of the first line of the rest.
fn split_front_matter(text: &str) -> Option<(&str, &str, usize)> {
    let text = without_mark(text);
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n')?;
    let mut at = 0;
    for (number, line) in rest.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" {
            return Some((rest.get(..at)?, rest.get(at + line.len()..)?, number + 3));
        }
        at += line.len();
    }
    None
}
