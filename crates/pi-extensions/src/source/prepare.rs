//! A file as the text of a function, ready to be compiled.

use std::path::Path;

use pi_base::text::without_mark;

use super::map::PositionMap;
use super::rewrite::{PARAMETERS, rewrite};
use super::transpile::transpile;

/// The form of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Imports and exports.
    Module,
    /// `require` and `module.exports`.
    CommonJs,
}

/// A file as the text of a function.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) format: Format,
    /// The text; its value is a function.
    pub(crate) code: String,
    /// Module specifiers, in the order in which the function takes them.
    pub(crate) imports: Vec<String>,
    /// The function returns a promise.
    pub(crate) is_async: bool,
    pub(crate) map: PositionMap,
}

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxProblem {
    pub(crate) message: String,
    /// Line and column, counted from 1; columns in UTF-16.
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl SyntaxProblem {
    pub(crate) fn new(text: &str, error: &oxc_diagnostics::OxcDiagnostic) -> Self {
        let is_twice = error.message.contains("already been declared");
        let labels = &error.labels;
        // Of two declarations, the second one is the wrong one.
        let label = if is_twice { labels.iter().last() } else { labels.iter().next() };
        let offset = label.map_or(0, |label| label.offset() as usize);
        if offset >= text.trim_end().len() && !error.message.starts_with("Unterminated") {
            let (line, column) = (text.matches('\n').count() + 1, 1);
            return Self { message: "Unexpected token".to_owned(), line, column };
        }
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").encode_utf16().count() + 1;
        Self { message: as_pi_says(&error.message), line, column }
    }
}

/// Returns a message in the words of pi's parser, where the difference is common.
fn as_pi_says(message: &str) -> String {
    if let Some(name) = message.strip_prefix("Identifier `").and_then(|rest| rest.split('`').next())
        && message.contains("already been declared")
    {
        return format!("Identifier '{name}' has already been declared.");
    }
    if let Some(rest) = message.strip_prefix("Expected `")
        && let Some((expected, _)) = rest.split_once("` but found")
    {
        return if expected == ";" {
            "Missing semicolon.".to_owned()
        } else {
            format!("Unexpected token, expected \"{expected}\"")
        };
    }
    match message {
        "Unterminated string" => "Unterminated string constant.".to_owned(),
        _ if message.starts_with("Expected a semicolon") => "Missing semicolon.".to_owned(),
        _ => message.to_owned(),
    }
}

/// Prepares the text of a file.
pub(crate) fn prepare(path: &Path, text: &str) -> Result<Prepared, SyntaxProblem> {
    let text = without_mark(text);
    // The first line of a script becomes a comment of the same length.
    let script = text.strip_prefix("#!").map(|rest| format!("//{rest}"));
    let text = script.as_deref().unwrap_or(text);
    if is_plain_common_js(path, text) {
        return Ok(common_js(text));
    }
    let plain = transpile(path, text)?;
    let rewritten = rewrite(&plain.code, plain.is_module);
    let mut map = plain.map;
    map.shift(&rewritten.shifts);
    let format = if plain.is_module { Format::Module } else { Format::CommonJs };
    let (code, imports, is_async) = (rewritten.code, rewritten.imports, rewritten.is_async);
    Ok(Prepared { format, code, imports, is_async, map })
}

/// Returns true for JavaScript that certainly has no module syntax, which most packages are: such
/// text needs no parser.
fn is_plain_common_js(path: &Path, text: &str) -> bool {
    let is_script =
        path.extension().is_some_and(|extension| extension == "js" || extension == "cjs");
    is_script && !text.contains("import") && !text.contains("export ") && !text.contains("export{")
}

fn common_js(text: &str) -> Prepared {
    let start = format!("(function({PARAMETERS}){{");
    Prepared {
        format: Format::CommonJs,
        code: format!("{start}{text}\n}})"),
        imports: Vec::new(),
        is_async: false,
        map: PositionMap::behind(start.len()),
    }
}
