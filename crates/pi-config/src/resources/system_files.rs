//! `SYSTEM.md` and `APPEND_SYSTEM.md`, and the flags that replace them.

use std::path::{Path, PathBuf};

use super::{ResourceOptions, text};
use crate::Diagnostic;

/// A text of the user for the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemText {
    /// The text itself.
    pub text: String,
    /// File of the text; `None` if the text was given directly.
    pub path: Option<PathBuf>,
}

/// Returns the replacement of the default prompt. An empty flag selects the default.
pub(super) fn system_prompt(
    options: &ResourceOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<SystemText> {
    match &options.flags.system_prompt {
        Some(flag) if flag.is_empty() => None,
        Some(flag) => Some(text_or_file(flag, options, diagnostics)),
        None => discover("SYSTEM.md", options, diagnostics),
    }
}

/// Returns the additions to the prompt. Flags replace the file.
pub(super) fn append_system_prompt(
    options: &ResourceOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<SystemText> {
    match &options.flags.append_system_prompt {
        Some(flags) => flags
            .iter()
            .filter(|flag| !flag.is_empty())
            .map(|flag| text_or_file(flag, options, diagnostics))
            .collect(),
        None => discover("APPEND_SYSTEM.md", options, diagnostics).into_iter().collect(),
    }
}

/// Returns the file of the project if it exists and is trusted, else that of the user.
fn discover(
    name: &str,
    options: &ResourceOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<SystemText> {
    let project = options.trusted.then(|| options.environment.project_directory());
    let directories = [project, Some(options.environment.agent_directory.clone())];
    let path =
        directories.into_iter().flatten().map(|dir| dir.join(name)).find(|path| path.is_file())?;
    read(&path, diagnostics)
}

fn text_or_file(
    flag: &str,
    options: &ResourceOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> SystemText {
    let literal = || SystemText { text: flag.to_owned(), path: None };
    let path = options.environment.cwd.join(flag);
    if path.is_dir() {
        let message = format!("`{flag}` is a directory, so the name is used as text; give a file");
        diagnostics.push(Diagnostic::warning(path, message));
        return literal();
    }
    if !path.is_file() {
        return literal();
    }
    read(&path, diagnostics).unwrap_or_else(literal)
}

fn read(path: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<SystemText> {
    match text::read(path, diagnostics) {
        Ok(text) => Some(SystemText { text, path: Some(path.to_path_buf()) }),
        Err(error) => {
            let message = format!("this part of the system prompt cannot be read: {error}");
            diagnostics.push(Diagnostic::error(path.to_path_buf(), message));
            None
        }
    }
}
