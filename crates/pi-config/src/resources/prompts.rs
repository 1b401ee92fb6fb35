//! Prompt templates: Markdown files that are commands. [`super::template`] expands them.

use std::path::PathBuf;

use super::discover::Candidate;
use super::front_matter::{self, Fields};
use super::source::SourceInfo;
use crate::Diagnostic;

/// Characters of the first line that are used as description.
const DESCRIPTION_LENGTH: usize = 60;

/// A prompt template without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptTemplate {
    /// Name for `/name`: the name of the file without `.md`.
    pub name: String,
    /// Description from the front matter, else the first line with text.
    pub description: String,
    /// Description of the arguments for the user.
    pub argument_hint: Option<String>,
    /// File of the template.
    pub path: PathBuf,
    /// Origin of the file.
    pub source: SourceInfo,
}

impl PromptTemplate {
    /// Reads the front matter of a file.
    pub(super) fn load(candidate: Candidate, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let source = candidate.source;
        let mut warn = |reason: String| {
            let message = format!("this prompt template is ignored: {reason}");
            diagnostics.push(Diagnostic::warning(source.path.clone(), message));
        };
        let head = match front_matter::read_head(&source.path) {
            Ok(head) => head,
            Err(error) => {
                warn(format!("it cannot be read: {error}"));
                return None;
            }
        };
        let (yaml, body) = front_matter::split(&head);
        let fields = match Fields::parse(yaml.unwrap_or_default()) {
            Ok(fields) => fields,
            Err(error) => {
                warn(error.to_string());
                return None;
            }
        };
        let file_name = source.path.file_name().unwrap_or_default().to_string_lossy();
        let description = match fields.text("description").filter(|text| !text.is_empty()) {
            Some(text) => text.to_owned(),
            None => first_line(body),
        };
        Some(Self {
            name: file_name.strip_suffix(".md").unwrap_or(&file_name).to_owned(),
            description,
            argument_hint: fields
                .text("argument-hint")
                .filter(|hint| !hint.is_empty())
                .map(str::to_owned),
            path: source.path.clone(),
            source,
        })
    }
}

fn first_line(body: &str) -> String {
    let line = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    match line.char_indices().nth(DESCRIPTION_LENGTH) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}
