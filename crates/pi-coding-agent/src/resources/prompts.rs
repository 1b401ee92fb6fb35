//! Prompt templates: Markdown files that are commands. Found here; filled in by
//! [`super::template`].

use std::path::PathBuf;

use super::discover::Candidate;
use super::front_matter::{self, Fields};
use super::source::SourceInfo;
use crate::Diagnostic;

/// How much of a first line stands in for a description.
const DESCRIPTION_LENGTH: usize = 60;

/// A template, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTemplate {
    /// What `/name` calls it: the file's name without `.md`.
    pub name: String,
    /// From the front matter, else the first line with text.
    pub description: String,
    /// What arguments it takes, for people.
    pub argument_hint: Option<String>,
    /// The file.
    pub path: PathBuf,
    /// Where it comes from.
    pub source: SourceInfo,
}

impl PromptTemplate {
    /// Reads the head of a file.
    pub(super) fn load(candidate: Candidate, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let source = candidate.source;
        let mut refuse = |reason: String| {
            let message = format!("this prompt template is not used: {reason}");
            diagnostics.push(Diagnostic::warning(source.path.clone(), message));
        };
        let head = match front_matter::read_head(&source.path) {
            Ok(head) => head,
            Err(error) => {
                refuse(format!("it cannot be read: {error}"));
                return None;
            }
        };
        let (yaml, body) = front_matter::split(&head);
        let fields = match Fields::parse(yaml.unwrap_or_default()) {
            Ok(fields) => fields,
            Err(error) => {
                refuse(error.to_string());
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
