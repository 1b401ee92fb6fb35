//! Templates: `{{ name }}` in the texts of a task stands for a parameter.
//!
//! A value never changes the structure of the text around it: it is quoted for the shell, for
//! regular expressions and for globs. `\{{` stands for literal braces.

use std::collections::BTreeMap;

use super::shell::Quotes;

/// The language of a text, which decides how values are quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Prose, and everything else that is used as it is.
    Text,
    /// A command for the shell.
    Shell,
    /// A regular expression.
    Regex,
    /// A glob.
    Glob,
}

/// Returns the text with the parameters filled in.
pub(super) fn expand(
    text: &str,
    language: Language,
    values: &BTreeMap<String, String>,
) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut quotes = Quotes::default();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, from_braces) = rest.split_at(at);
        let after = &from_braces[2..];
        if let Some(before) = before.strip_suffix('\\') {
            quotes.read(before);
            quotes.read("{{");
            expanded.push_str(before);
            expanded.push_str("{{");
            rest = after;
            continue;
        }
        quotes.read(before);
        expanded.push_str(before);
        let Some(end) = after.find("}}") else {
            return Err("`{{` is not closed; write \\{{ for literal braces".to_owned());
        };
        let name = after[..end].trim();
        if !is_name(name) {
            return Err(format!(
                "`{{{{ {name} }}}}` is not the name of a parameter; write \\{{{{ for literal braces"
            ));
        }
        let Some(value) = values.get(name) else {
            return Err(format!(
                "`{{{{ {name} }}}}`: there is no such parameter; declare it in inputs.parameters, \
                 or write \\{{{{ for literal braces"
            ));
        };
        let value = match language {
            Language::Text => value.clone(),
            Language::Shell => quotes.insert(name, value)?,
            Language::Regex => regex_lite::escape(value),
            Language::Glob => globset::escape(value),
        };
        expanded.push_str(&value);
        rest = &after[end + 2..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns the text in a form that [`expand`] turns into it again.
pub(super) fn escape(text: &str) -> String {
    text.replace("{{", "\\{{")
}

/// Returns true if a text can be the name of a parameter.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}
